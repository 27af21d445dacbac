/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/part-store.h"

#include <gtest/gtest.h>
#include <utility>

using AstraSim::Digest;
using AstraSim::PartOutcome;
using AstraSim::PartStore;
using AstraSim::TimePs;

namespace
{

Digest
KeyOf(uint64_t number)
{
    Digest key;
    key.Add(number);
    return key;
}

/// @return an outcome of one operation of that many ranks
PartOutcome
OutcomeOf(std::size_t ranks)
{
    PartOutcome outcome;
    outcome.ends.emplace_back(ranks, 7);
    return outcome;
}

} // namespace

TEST(Digest, TellsSequencesApart)
{
    Digest ab;
    ab.Add(uint64_t{1});
    ab.Add(uint64_t{2});
    Digest ba;
    ba.Add(uint64_t{2});
    ba.Add(uint64_t{1});
    Digest abZero = ab;
    abZero.Add(uint64_t{0});
    EXPECT_NE(ab, ba);
    EXPECT_NE(ab, abZero);
    Digest same;
    same.Add(uint64_t{1});
    same.Add(uint64_t{2});
    EXPECT_EQ(ab, same);
}

TEST(PartStore, KeepsWhatFitsAndForgetsWhatWasNotAskedForLongest)
{
    // Each outcome takes a little more than the 80 kB of its 10,000 ends: three of them fit.
    PartStore store(250'000);
    for (uint64_t number = 0; number < 3; ++number)
    {
        store.Put(KeyOf(number), {}, OutcomeOf(10'000));
    }
    ASSERT_NE(store.Find(KeyOf(0), {}, 0), nullptr);
    store.Put(KeyOf(3), {}, OutcomeOf(10'000));
    EXPECT_EQ(store.Find(KeyOf(1), {}, 0), nullptr);
    EXPECT_NE(store.Find(KeyOf(0), {}, 0), nullptr);
    EXPECT_NE(store.Find(KeyOf(2), {}, 0), nullptr);
    EXPECT_NE(store.Find(KeyOf(3), {}, 0), nullptr);
    EXPECT_EQ(store.GetForgotten(), 1U);
    EXPECT_EQ(store.GetSize(), 3U);
    EXPECT_LE(store.GetBytes(), 250'000U);
}

TEST(PartStore, KeepsTheNewestHoweverLargeItIs)
{
    PartStore store(1000);
    store.Put(KeyOf(0), {}, OutcomeOf(10));
    const PartStore::Entry* large = store.Put(KeyOf(1), {}, OutcomeOf(1'000'000));
    EXPECT_EQ(large->outcome.ends.front().size(), 1'000'000U);
    EXPECT_EQ(store.GetSize(), 1U);
}

TEST(PartStore, FindsTheNearestTimesWithinTheTolerance)
{
    PartStore store(1'000'000);
    store.Put(KeyOf(0), {0, 100}, OutcomeOf(1));
    store.Put(KeyOf(0), {0, 130}, OutcomeOf(2));
    store.Put(KeyOf(1), {0, 112}, OutcomeOf(3));
    const auto ranksOf = [&store](TimePs second, TimePs tolerance) -> std::size_t {
        const PartStore::Entry* entry = store.Find(KeyOf(0), {0, second}, tolerance);
        return entry ? entry->outcome.ends.front().size() : 0;
    };
    EXPECT_EQ(ranksOf(100, 0), 1U);
    EXPECT_EQ(ranksOf(130, 0), 2U);
    EXPECT_EQ(ranksOf(112, 0), 0U) << "that is a time of another key";
    EXPECT_EQ(ranksOf(110, 20), 1U);
    EXPECT_EQ(ranksOf(120, 20), 2U);
    EXPECT_EQ(ranksOf(120, 9), 0U);
    EXPECT_EQ(store.Find(KeyOf(0), {50, 100}, 20), nullptr) << "all times count";
}

// Half of the outcomes take 950, half 1050. Their standard deviation is 50 * sqrt(n / (n - 1)), so
// two standard errors of their mean are 100 / sqrt(n - 1): 1% of it from 101 outcomes on.
TEST(PartStore, DrawsOnceTheMeanIsKnownAndDrawsAllEquallyOften)
{
    constexpr uint64_t ENOUGH = 102;
    PartStore store(1'000'000);
    const auto lengthOf = [](uint64_t number) { return number % 2 ? 1050 : 950; };
    for (uint64_t number = 0; number < ENOUGH; ++number)
    {
        EXPECT_EQ(store.Draw(KeyOf(0), {0, 500}, 0.01), nullptr) << number;
        PartOutcome outcome;
        outcome.ends = {{900, lengthOf(number)}};
        store.Put(KeyOf(0), {0, static_cast<TimePs>(10 * number)}, std::move(outcome));
    }
    EXPECT_EQ(store.Draw(KeyOf(1), {0, 500}, 0.01), nullptr);
    const PartStore::Entry* first = store.Draw(KeyOf(0), {0, 500}, 0.01);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->times[1], 500) << "the nearest comes first";
    TimePs sum = first->outcome.ends[0][1];
    for (uint64_t number = 1; number < ENOUGH; ++number)
    {
        sum += store.Draw(KeyOf(0), {0, 500}, 0.01)->outcome.ends[0][1];
    }
    EXPECT_EQ(sum, static_cast<TimePs>(1000 * ENOUGH));
}

TEST(PartStore, DrawsNothingFromFewOutcomesHoweverAlike)
{
    PartStore store(1'000'000);
    for (uint64_t number = 0; number < 16; ++number)
    {
        EXPECT_EQ(store.Draw(KeyOf(0), {}, 0.01), nullptr) << number;
        store.Put(KeyOf(0), {}, OutcomeOf(1));
    }
    EXPECT_NE(store.Draw(KeyOf(0), {}, 0.01), nullptr);
}
