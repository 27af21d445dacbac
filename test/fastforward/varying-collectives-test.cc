/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: how often a collective is simulated whose packets are marked at random. What comes
 * of each time is made up here.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "astra-frontend/model/fastforward/fast-forward.h"
#include "astra-frontend/model/flow/flow-level-network.h"

#include "ns3/event-loop.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

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
using AstraSim::PartRound;
using AstraSim::RepeatingSimulation;
using AstraSim::ShapeFinder;
using AstraSim::TimedOperation;
using AstraSim::TimePs;

namespace
{

constexpr std::size_t RANKS = 4;
constexpr TimePs US = 1'000'000;
constexpr TimePs GAP = 100 * US; ///< that ranks compute between two collectives

/// How one collective goes.
struct Course
{
    TimePs time;   ///< from the last start to the last end
    TimePs spread; ///< from the first end to the last
    bool isMarked{true};
};

/// Simulates by a script: the n-th simulation has the n-th course.
class Script : public RepeatingSimulation
{
  public:
    using Courses = std::function<Course(uint32_t number)>;

    explicit Script(Courses courses)
        : m_courses(std::move(courses))
    {
    }

    PartOutcome Simulate(const PartPattern& pattern) override
    {
        return After(pattern.front().starts).outcome;
    }

    PartRound Repeat(const TimedOperation& first, const std::vector<TimePs>& gaps) override
    {
        ++m_repetition;
        m_gaps = gaps;
        return m_last = After(first.starts);
    }

    uint64_t GetRepetition() const override
    {
        return m_repetition;
    }

    PartRound GoOn() override
    {
        std::vector<TimePs> starts = m_last.outcome.ends.front();
        for (std::size_t rank = 0; rank < RANKS; ++rank)
        {
            starts[rank] += m_gaps[rank];
        }
        return m_last = After(starts);
    }

  private:
    PartRound After(const std::vector<TimePs>& starts)
    {
        const Course course = m_courses(m_number++);
        const TimePs end = *std::max_element(starts.begin(), starts.end()) + course.time;
        PartRound round;
        round.starts = starts;
        round.outcome.ends = {{end - course.spread, end, end, end}};
        round.outcome.traffic.flows = 1;
        round.outcome.traffic.cnps = course.isMarked;
        return round;
    }

    Courses m_courses;
    uint32_t m_number{0};
    uint64_t m_repetition{0};
    std::vector<TimePs> m_gaps;
    PartRound m_last;
};

/// Ranks that carry out one collective after the other.
class Job
{
  public:
    explicit Job(Script::Courses courses)
        : m_script(std::move(courses)),
          m_forward(FastForwardConfig{}, m_fabric.GetNetwork(0), m_shapes, m_script)
    {
        PartOperation message;
        message.isMessage = true;
        message.group.ranks = {0, 1};
        message.request.bytes = 1000;
        m_shape = m_shapes.Find(message, nullptr);
    }

    /// @return when the last of @p count collectives has ended
    TimePs Run(uint32_t count)
    {
        m_left = count;
        BeginNext();
        m_loop.Run();
        return m_loop.Now();
    }

    FastForwardReport GetReport() const
    {
        return m_forward.GetReport();
    }

  private:
    void BeginNext()
    {
        PartOperation what;
        what.group.ranks = {0, 1, 2, 3};
        what.request.op = AstraSim::CollectiveOp::AllToAll;
        what.request.bytes = 1 << 20;
        m_ended = 0;
        auto& operation = m_forward.Open(what, m_shape, [this](uint32_t rank) { End(rank); });
        m_operation = &operation;
        if (m_gaps.empty())
        {
            for (uint32_t rank = 0; rank < RANKS; ++rank)
            {
                m_forward.Begin(operation, rank);
            }
            return;
        }
        for (const auto& [rank, since] : m_gaps)
        {
            Schedule(rank, since + GAP - m_loop.Now());
        }
        m_gaps.clear();
    }

    void End(uint32_t rank)
    {
        m_gaps.emplace_back(rank, m_loop.Now());
        if (++m_ended == RANKS && --m_left > 0)
        {
            BeginNext();
        }
    }

    void Schedule(uint32_t rank, TimePs delay)
    {
        m_begins[rank] = {this, rank};
        m_loop.Schedule(
            delay,
            [](void* arg) {
                const auto* begin = static_cast<std::pair<Job*, uint32_t>*>(arg);
                begin->first->m_forward.Begin(*begin->first->m_operation, begin->second);
            },
            &m_begins[rank]);
    }

    EventLoop m_loop;
    ns3::ClusterTopology m_topology{
        ns3::ReadTopology("3 1 0 1 2 A100\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")};
    FlowLevelFabric m_fabric{m_loop, m_topology, FlowLevelConfig{}};
    ShapeFinder m_shapes{m_topology, 0, true};
    Script m_script;
    FastForward m_forward;
    OperationShape m_shape;
    FastForward::Operation* m_operation{nullptr};
    std::vector<std::pair<uint32_t, TimePs>> m_gaps; ///< ranks that have ended, and when
    std::pair<Job*, uint32_t> m_begins[RANKS];
    uint32_t m_ended{0};
    uint32_t m_left{0};
};

} // namespace

TEST(VaryingCollectives, OneThatIsNotMarkedIsSimulatedOnce)
{
    Job job([](uint32_t) { return Course{1000 * US, US, false}; });
    job.Run(50);
    // Once with all in step from the first, and once as the first one leaves them.
    EXPECT_LE(job.GetReport().simulations, 2U);
    EXPECT_EQ(job.GetReport().carried.cnps, 0U);
}

TEST(VaryingCollectives, OneThatIsMarkedIsSimulatedFourTimes)
{
    Job job([](uint32_t) { return Course{1000 * US, US}; });
    job.Run(50);
    EXPECT_EQ(job.GetReport().simulations, 4U);
    EXPECT_EQ(job.GetReport().draws, 0U);
    EXPECT_EQ(job.GetReport().carried.cnps, 50U) << "of those that are reused, too";
}

// 2% to either side by turns: the mean of every batch is known, so 16 batches of four are enough.
TEST(VaryingCollectives, OneThatVariesIsSimulatedUntilItsMeanIsKnown)
{
    Job job([](uint32_t number) { return Course{(number % 2 ? 980 : 1020) * US, US}; });
    const TimePs end = job.Run(500);
    EXPECT_EQ(job.GetReport().simulations, 4U + 64U);
    EXPECT_EQ(job.GetReport().draws, 500U - 68U);
    EXPECT_NEAR(static_cast<double>(end), 500.0 * 1000 * US + 499.0 * GAP, 41.0 * US);
}

TEST(VaryingCollectives, RanksThatMayComeOutOfStepAreSimulatedForLonger)
{
    Job job([](uint32_t) { return Course{1000 * US, GAP / 2}; });
    job.Run(700);
    EXPECT_GE(job.GetReport().simulations, 512U);
    EXPECT_LE(job.GetReport().simulations, 512U + 4U);
}

// In step at first; from the 101st time on they are not, and take a fifth longer.
TEST(VaryingCollectives, TheTimesOfTheSteadyStateAreDrawn)
{
    Job job([](uint32_t number) {
        return number < 100 ? Course{1000 * US, GAP / 2} : Course{1200 * US, 3 * GAP};
    });
    const TimePs end = job.Run(2000);
    EXPECT_LT(job.GetReport().simulations, 512U);
    const double gaps = 1999.0 * GAP;
    EXPECT_NEAR(static_cast<double>(end) - gaps, (100 * 1000.0 + 1900 * 1200.0) * US, 1200.0 * US);
}
