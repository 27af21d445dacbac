/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ends of collectives whose ranks begin at ever new times: timed event graphs, of which all ends
 * are known in closed form.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "astra-frontend/model/fastforward/fast-forward.h"
#include "astra-frontend/model/fastforward/patterns/end-bounds.h"
#include "astra-frontend/model/flow/flow-level-network.h"

#include "ns3/event-loop.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <utility>
#include <vector>

using AstraSim::EndBounds;
using AstraSim::EventLoop;
using AstraSim::FastForward;
using AstraSim::FastForwardConfig;
using AstraSim::FastForwardReport;
using AstraSim::FlowLevelConfig;
using AstraSim::FlowLevelFabric;
using AstraSim::OperationShape;
using AstraSim::PartOperation;
using AstraSim::PartOutcome;
using AstraSim::PartPattern;
using AstraSim::PatternSimulation;
using AstraSim::ShapeFinder;
using AstraSim::StartsAndEnds;
using AstraSim::TimePs;

namespace
{

using Times = std::vector<TimePs>;

constexpr TimePs MICROSECOND = 1'000'000;
constexpr std::size_t MEMBERS = 4;

/// By rank that begins and rank that ends: what passes between the two at least. In this ring it
/// takes 100 us, and 7 us more for each step between them.
constexpr TimePs
Passes(std::size_t from, std::size_t to)
{
    return (100 + 7 * static_cast<TimePs>((to + MEMBERS - from) % MEMBERS)) * MICROSECOND;
}

Times
EndsOf(const Times& starts)
{
    Times ends(MEMBERS, 0);
    for (std::size_t from = 0; from < MEMBERS; ++from)
    {
        for (std::size_t to = 0; to < MEMBERS; ++to)
        {
            ends[to] = std::max(ends[to], starts[from] + Passes(from, to));
        }
    }
    return ends;
}

/// @return a start of each rank, up to 200 us before the last, which is at 0
Times
RandomStarts(std::mt19937& random)
{
    Times starts(MEMBERS);
    for (TimePs& start : starts)
    {
        start = -static_cast<TimePs>(random() % 200'000) * 1000;
    }
    starts[random() % MEMBERS] = 0;
    return starts;
}

/// Outcomes that were simulated.
struct Known
{
    std::vector<Times> starts;
    std::vector<Times> ends;

    void Add(const Times& begun)
    {
        starts.push_back(begun);
        ends.push_back(EndsOf(begun));
    }

    EndBounds Bound(const Times& begun) const
    {
        std::vector<StartsAndEnds> all;
        for (std::size_t i = 0; i < starts.size(); ++i)
        {
            all.push_back({starts[i], ends[i]});
        }
        return {all, begun};
    }
};

} // namespace

TEST(EndBounds, AllFollowsFromOneLateRankAtATime)
{
    // Ranks that are early by more than all that passes do not matter: each T[i, j] is seen.
    Known known;
    for (std::size_t late = 0; late < MEMBERS; ++late)
    {
        Times starts(MEMBERS, -200 * MICROSECOND);
        starts[late] = 0;
        known.Add(starts);
    }
    // Rank 0 waits longest for rank 1 (-5 + 121), rank 1 for rank 2 (121), ranks 2 and 3 for rank
    // 0.
    const Times starts{0, -5 * MICROSECOND, 0, -9 * MICROSECOND};
    const Times expected{116 * MICROSECOND,
                         121 * MICROSECOND,
                         114 * MICROSECOND,
                         121 * MICROSECOND};
    EXPECT_EQ(known.Bound(starts).Within(0), expected);
    EXPECT_EQ(EndsOf(starts), expected);
}

TEST(EndBounds, WhatComesIsBetweenThemWhateverIsKnown)
{
    std::mt19937 random(7);
    Known known;
    for (int i = 0; i < 300; ++i)
    {
        const Times starts = RandomStarts(random);
        if (!known.starts.empty())
        {
            EXPECT_FALSE(known.Bound(starts).Contradict(EndsOf(starts), 0)) << "outcome " << i;
        }
        known.Add(starts);
    }
}

TEST(EndBounds, NothingFollowsFromWhatIsTooFar)
{
    // Rank 1 begins 30 us later than it did: what it sends arrives up to 30 us later, or as before.
    Known known;
    known.Add({0, -40 * MICROSECOND, 0, 0});
    const EndBounds bounds = known.Bound({0, -10 * MICROSECOND, 0, 0});
    EXPECT_FALSE(bounds.Within(14 * MICROSECOND));
    ASSERT_TRUE(bounds.Within(15 * MICROSECOND));
    EXPECT_EQ(bounds.Within(15 * MICROSECOND)->front(),
              EndsOf({0, -40 * MICROSECOND, 0, 0}).front() + 15 * MICROSECOND)
        << "the middle";
}

TEST(EndBounds, WhatIsOutsideContradicts)
{
    Known known;
    known.Add(Times(MEMBERS, 0));
    const EndBounds bounds = known.Bound(Times(MEMBERS, 0));
    Times ends = EndsOf(Times(MEMBERS, 0));
    EXPECT_FALSE(bounds.Contradict(ends, 0));
    ends[2] += 10;
    EXPECT_FALSE(bounds.Contradict(ends, 10));
    EXPECT_TRUE(bounds.Contradict(ends, 9));
    ends[2] -= 20;
    EXPECT_FALSE(bounds.Contradict(ends, 10));
    EXPECT_TRUE(bounds.Contradict(ends, 9));
}

namespace
{

/// A network on which collectives end as @p ends says.
class ScriptedEnds : public PatternSimulation
{
  public:
    using Ends = std::function<Times(const Times& starts)>;

    explicit ScriptedEnds(Ends ends)
        : m_ends(std::move(ends))
    {
    }

    PartOutcome Simulate(const PartPattern& pattern) override
    {
        PartOutcome outcome;
        outcome.ends = {m_ends(pattern.front().starts)};
        outcome.traffic.flows = 1;
        return outcome;
    }

  private:
    Ends m_ends;
};

/// Collectives of four ranks, a millisecond apart, whose ranks begin at random times.
class Stragglers
{
  public:
    Stragglers(ScriptedEnds::Ends ends, FastForwardConfig config)
        : m_script(std::move(ends)),
          m_forward(config, m_fabric.GetNetwork(0), m_shapes, m_script)
    {
        PartOperation message;
        message.isMessage = true;
        message.group.ranks = {0, 1};
        message.request.bytes = 1000;
        m_shape = m_shapes.Find(message, {});
    }

    /// Carry out @p count collectives. @return the largest difference from EndsOf()
    TimePs Run(uint32_t count)
    {
        std::mt19937 random(11);
        for (uint32_t number = 1; number <= count; ++number)
        {
            const TimePs last = TimePs{number} * 1000 * MICROSECOND;
            Times starts = RandomStarts(random);
            for (TimePs& start : starts)
            {
                start += last;
            }
            Open(starts);
        }
        m_loop.Run();
        return m_largest;
    }

    FastForwardReport GetReport() const
    {
        return m_forward.GetReport();
    }

  private:
    struct Begun
    {
        Stragglers* owner;
        FastForward::Operation* operation;
        uint32_t rank;
    };

    void Open(const Times& starts)
    {
        PartOperation what;
        what.group.ranks = {0, 1, 2, 3};
        what.request.op = AstraSim::CollectiveOp::AllGather;
        what.request.bytes = 1 << 20;
        auto& operation =
            m_forward.Open(what, m_shape, [this, ends = EndsOf(starts)](uint32_t rank) {
                m_largest = std::max(m_largest, std::abs(m_loop.Now() - ends[rank]));
            });
        for (uint32_t rank = 0; rank < MEMBERS; ++rank)
        {
            m_begins.push_back({this, &operation, rank});
            m_loop.Schedule(
                starts[rank],
                [](void* arg) {
                    const auto& begun = *static_cast<Begun*>(arg);
                    begun.owner->m_forward.Begin(*begun.operation, begun.rank);
                },
                &m_begins.back());
        }
    }

    EventLoop m_loop;
    ns3::ClusterTopology m_topology{
        ns3::ReadTopology("3 1 0 1 2 A100\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")};
    FlowLevelFabric m_fabric{m_loop, m_topology, FlowLevelConfig{}};
    ShapeFinder m_shapes{m_topology, 0, true};
    ScriptedEnds m_script;
    FastForward m_forward;
    OperationShape m_shape;
    std::deque<Begun> m_begins;
    TimePs m_largest{0};
};

} // namespace

TEST(Stragglers, AreSimulatedUntilTheirEndsFollow)
{
    // The shortest collective takes 121 us from its last start: 0.5% of that are 605 ns.
    Stragglers job(EndsOf, {});
    EXPECT_LE(job.Run(2000), 605'000);
    const FastForwardReport report = job.GetReport();
    EXPECT_EQ(report.simulations + report.reuses, 2000U);
    EXPECT_GT(report.inferred, 1500U) << "the others were near a known one";
    EXPECT_LT(report.simulations, 100U);
}

TEST(Stragglers, AreVerifiedAsEveryReuse)
{
    Stragglers job(EndsOf, {.verifies = true});
    job.Run(500);
    const FastForwardReport report = job.GetReport();
    EXPECT_GE(report.verified, 4 * MEMBERS) << "the 1st, 2nd, 4th ... inferred";
    EXPECT_LT(report.largestError, 0.005);
}

TEST(Stragglers, OfAnotherKindAreSimulated)
{
    // The earlier the first begins, the later all end: no event graph has that.
    const auto ends = [](const Times& starts) {
        const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
        return Times(MEMBERS, *last + 100 * MICROSECOND + (*last - *first) / 2);
    };
    Stragglers job(ends, {});
    job.Run(500);
    EXPECT_LT(job.GetReport().inferred, 10U);
}

TEST(Stragglers, AreAllSimulatedWhereTimesAreExact)
{
    Stragglers job(EndsOf, {.tail = 0, .tolerance = 0});
    EXPECT_EQ(job.Run(200), 0);
    EXPECT_EQ(job.GetReport().inferred, 0U);
}
