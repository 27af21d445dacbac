/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/fastforward/reuse-payoff.h"

#include <gtest/gtest.h>

using AstraSim::Digest;
using AstraSim::ReusePatience;
using AstraSim::ReusePayoff;

namespace
{

// A run may lose 100 units of work and a tenth of what it is expected to have.
constexpr ReusePatience PATIENCE{.work = 100, .share = 0.1, .perPattern = 5, .perConnection = 2};
constexpr uint64_t WORK = 1000;
constexpr uint64_t OVERHEAD = 25; // of 10 connections: 5 + 2 x 10

Digest
KindOf(uint64_t number)
{
    Digest kind;
    kind.Add(number);
    return kind;
}

/// @return one of a run with one collective of 10 bytes
ReusePayoff
MakePayoff()
{
    ReusePayoff payoff(PATIENCE);
    payoff.Begin(1, 10);
    return payoff;
}

/// @return @p payoff of which a part of this kind has been simulated
ReusePayoff&
Simulate(ReusePayoff& payoff, uint64_t kind, double again = 0)
{
    ReusePayoff::Account part;
    payoff.Simulated(part, KindOf(kind), {WORK, WORK + OVERHEAD}, again);
    return payoff;
}

bool
IsVain(const ReusePayoff& payoff, uint64_t kind, const ReusePayoff::Account& part = {})
{
    return payoff.WouldBeInVain(part, KindOf(kind), WORK, OVERHEAD);
}

TEST(ReusePayoff, NewKindsCostOnlyTheirOverhead)
{
    ReusePayoff payoff = MakePayoff();
    EXPECT_EQ(payoff.GetOverhead(10), OVERHEAD);
    // The n-th has n x 25 in vain, and n x 1,000 of use: 25 n never exceeds 100 + 0.1 x 1,000 n.
    for (uint64_t kind = 0; kind < 20; ++kind)
    {
        EXPECT_FALSE(IsVain(payoff, kind)) << kind;
        Simulate(payoff, kind);
    }
}

TEST(ReusePayoff, AKnownKindAtOtherTimesIsInVain)
{
    ReusePayoff payoff = MakePayoff();
    Simulate(payoff, 0);
    // Of 2 x 1,025 units, 1,000 are of use: 1,050 in vain, and 200 may be.
    EXPECT_TRUE(IsVain(payoff, 0));
    EXPECT_FALSE(IsVain(payoff, 1));
}

TEST(ReusePayoff, SavedWorkMakesUpForIt)
{
    ReusePayoff payoff = MakePayoff();
    Simulate(payoff, 0);
    payoff.Saved(700); // 2,050 - 1,700 is more than 100 + 170
    EXPECT_TRUE(IsVain(payoff, 0));
    ReusePayoff::Account part;
    payoff.Reused(part, 100, false); // 2,050 - 1,800 is not more than 100 + 180
    EXPECT_FALSE(IsVain(payoff, 0));
    payoff.Drop(part); // its outcome was of no use after all
    EXPECT_TRUE(IsVain(payoff, 0));
}

TEST(ReusePayoff, AnOutcomeThatSomethingChangesWasInVain)
{
    ReusePayoff payoff = MakePayoff();
    ReusePayoff::Account part;
    payoff.Simulated(part, KindOf(0), {WORK, WORK + OVERHEAD}, 0);
    EXPECT_EQ(part.learned, WORK);
    // With something more in it, the part is of another kind, and its 1,000 units are done again:
    // 2,050 - 1,000 are in vain, though both kinds are new.
    EXPECT_TRUE(IsVain(payoff, 1, part));
}

TEST(ReusePayoff, MoreMayBeInVainWhereMostOfTheRunIsToCome)
{
    ReusePayoff payoff = MakePayoff();
    payoff.SetCollectiveCount(1000);
    Simulate(payoff, 0);
    EXPECT_FALSE(IsVain(payoff, 0)); // a tenth of 1,000 x 1,000
    payoff.SetCollectiveBytes(20);   // by bytes, half of the run has begun
    EXPECT_TRUE(IsVain(payoff, 0));
}

TEST(ReusePayoff, WithoutPatienceReuseNeverEnds)
{
    ReusePayoff payoff(ReusePatience{});
    EXPECT_FALSE(IsVain(Simulate(Simulate(payoff, 0), 0), 0));
}

TEST(ReusePayoff, APartGoesLiveBetweenTwiceAnd16TimesItsWork)
{
    const auto isBetter = [](double again, uint64_t most) {
        ReusePayoff payoff(PATIENCE);
        ReusePayoff::Account part;
        payoff.Simulated(part, KindOf(0), {WORK, WORK}, again);
        return payoff.IsBetterLive(part, WORK, most);
    };
    EXPECT_TRUE(isBetter(2000, 1));
    EXPECT_FALSE(isBetter(1999, 1));
    EXPECT_TRUE(isBetter(5000, 5000));
    EXPECT_FALSE(isBetter(4999, 5000));
    EXPECT_TRUE(isBetter(16000, 1'000'000));
    EXPECT_FALSE(isBetter(15999, 1'000'000));
    EXPECT_TRUE(isBetter(100, 0)); // but not before the run has lost its patience
    EXPECT_FALSE(isBetter(99, 0));
}

} // namespace
