/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/fastforward/patterns/part-store.h"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

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

TEST(PartStore, ForgetsTheLeastRecentlyUsedBeyondItsBound)
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

TEST(PartStore, MarksAndLossesAreDraws)
{
    PartStore store(1'000'000);
    store.Put(KeyOf(0), {}, OutcomeOf(2));
    EXPECT_FALSE(store.HasDraws(KeyOf(0)));
    PartOutcome marked;
    marked.traffic.cnps = 1;
    store.Put(KeyOf(0), {}, std::move(marked));
    EXPECT_TRUE(store.HasDraws(KeyOf(0)));
    PartOutcome lost;
    lost.traffic.drops = 1;
    store.Put(KeyOf(1), {}, std::move(lost));
    EXPECT_TRUE(store.HasDraws(KeyOf(1)));
}
