/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/fastforward/patterns/part-store.h"

#include <cmath>
#include <gtest/gtest.h>
#include <optional>
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

/// Put an outcome under key 0 that is over after @p length.
void
PutLength(PartStore& store, TimePs length)
{
    PartOutcome outcome;
    outcome.ends = {{length / 2, length}};
    store.Put(KeyOf(0), {}, std::move(outcome));
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

TEST(PartStore, OutcomesVaryOnceFourAreThereThatDiffer)
{
    PartStore store(1'000'000);
    for (const TimePs length : {1000, 1005, 995})
    {
        PutLength(store, length);
        EXPECT_FALSE(store.Varies(KeyOf(0), 0));
    }
    PutLength(store, 1000);
    EXPECT_TRUE(store.Varies(KeyOf(0), 0.009)) << "995 to 1005";
    EXPECT_FALSE(store.Varies(KeyOf(0), 0.01));
    EXPECT_FALSE(store.Varies(KeyOf(1), 0));
}

// Sixteen batches of four. Their means are 950 and 1050 by turns, so their standard deviation is
// 50 * sqrt(16 / 15), and the standard error of the mean of all a quarter of it: 50 / sqrt(15).
TEST(PartStore, KnowsTheStandardErrorOfTheMean)
{
    PartStore store(1'000'000);
    for (int number = 0; number < 64; ++number)
    {
        EXPECT_FALSE(store.FindSteady(KeyOf(0), 4)) << number;
        PutLength(store, number / 4 % 2 ? 1050 : 950);
    }
    ASSERT_TRUE(store.FindSteady(KeyOf(0), 4));
    EXPECT_NEAR(store.FindSteady(KeyOf(0), 4)->error, 50 / std::sqrt(15) / 1000, 1e-12);
    EXPECT_EQ(store.FindSteady(KeyOf(0), 4)->first, 0U);
    EXPECT_FALSE(store.FindSteady(KeyOf(0), 5)) << "80 outcomes";
}

// Ranks in step until the 18th time: of 16 batches of four the fifth is of both kinds, and from the
// sixth on all are alike.
TEST(PartStore, WhatLedToTheSteadyStateIsNotDrawn)
{
    PartStore store(1'000'000);
    for (int number = 0; number < 64; ++number)
    {
        PutLength(store, number < 18 ? 500 : number % 2 ? 995 : 1005);
    }
    const auto steady = store.FindSteady(KeyOf(0), 4);
    ASSERT_TRUE(steady);
    EXPECT_EQ(steady->first, 20U);
    EXPECT_EQ(steady->error, 0);
    for (int number = 20; number < 2 * 64 - 20; ++number)
    {
        PartStore::Entry* entry = store.Draw(KeyOf(0), steady->first);
        ++entry->uses;
        EXPECT_GT(entry->length, 500);
    }
}

TEST(PartStore, KnowsHowFarApartRanksHaveEnded)
{
    PartStore store(1'000'000);
    EXPECT_EQ(store.GetSpreads(KeyOf(0)).largest, 0);
    for (const TimePs last : {70, 30, 50})
    {
        PartOutcome outcome;
        outcome.ends = {{20, last, 25}};
        store.Put(KeyOf(0), {}, std::move(outcome));
    }
    EXPECT_EQ(store.GetSpreads(KeyOf(0)).median, 30);
    EXPECT_EQ(store.GetSpreads(KeyOf(0)).largest, 50);
    EXPECT_EQ(store.GetSpreads(KeyOf(1)).median, 0);
}

TEST(PartStore, MarksAndLossesAreDraws)
{
    PartStore store(1'000'000);
    PutLength(store, 5);
    EXPECT_FALSE(store.HasDraws(KeyOf(0)));
    PartOutcome marked;
    marked.traffic.cnps = 1;
    store.Put(KeyOf(0), {}, std::move(marked));
    EXPECT_TRUE(store.HasDraws(KeyOf(0)));
    PartOutcome lost;
    lost.traffic.drops = 1;
    store.Put(KeyOf(1), {}, std::move(lost));
    EXPECT_TRUE(store.HasDraws(KeyOf(1)));
    EXPECT_TRUE(store.AreFew(KeyOf(0)));
    PutLength(store, 5);
    PutLength(store, 5);
    EXPECT_FALSE(store.AreFew(KeyOf(0)));
}

// As in a network where a collective that took long leaves less for the next one.
TEST(PartStore, WhatCancelsInNeighboursIsNoErrorOfTheMean)
{
    PartStore store(1'000'000);
    for (int number = 0; number < 64; ++number)
    {
        PutLength(store, number % 2 ? 1500 : 500);
    }
    ASSERT_TRUE(store.FindSteady(KeyOf(0), 4));
    EXPECT_EQ(store.FindSteady(KeyOf(0), 4)->error, 0);
}

TEST(PartStore, DrawsAllEquallyOftenInTheOrderInWhichTheyCame)
{
    PartStore store(1'000'000);
    EXPECT_EQ(store.Draw(KeyOf(0), 0), nullptr);
    for (const TimePs length : {3, 1, 2})
    {
        PutLength(store, length);
    }
    std::vector<TimePs> drawn;
    for (int number = 0; number < 6; ++number)
    {
        PartStore::Entry* entry = store.Draw(KeyOf(0), 0);
        ++entry->uses;
        drawn.push_back(entry->length);
    }
    EXPECT_EQ(drawn, (std::vector<TimePs>{3, 1, 2, 3, 1, 2}));
}
