/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Patterns that are simulated on networks of formulas or flows made for them: messages between
 * hosts on a switch, whose ends follow from the frames they have.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "astra-frontend/model/fastforward/fresh-simulation.h"
#include "astra-frontend/model/flow/flow-level-network.h"
#include "astra-frontend/model/formula/ana-sim.h"
#include "astra-frontend/model/formula/topology-paths.h"
#include "astra-frontend/model/network/machine-of-topology.h"
#include "collectives/model/group/mock-nccl-group.h"

#include "ns3/event-loop.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

using AstraSim::AnaSim;
using AstraSim::CollectiveOp;
using AstraSim::EventLoop;
using AstraSim::FlowLevelFabric;
using AstraSim::FreshSimulation;
using AstraSim::MachineOfTopology;
using AstraSim::MockNcclGroup;
using AstraSim::NcclOptions;
using AstraSim::NO_TIME;
using AstraSim::PartOperation;
using AstraSim::PartOutcome;
using AstraSim::TimePs;
using AstraSim::TopologyPaths;

namespace
{

// A byte lasts 80 ps at 100 Gb/s; frames have 1000 bytes and 82 of headers, acknowledgements 84.
constexpr TimePs FULL_FRAME = 1082 * 80;
constexpr TimePs ACKNOWLEDGED = 2 * 84 * 80 + 2'000'000;

/// When a message of that many full frames has arrived that is alone: its frames leave one after
/// the other, and the last one crosses another link; each has 1 us of delay.
constexpr TimePs
Arrival(TimePs frames)
{
    return (frames + 1) * FULL_FRAME + 2'000'000;
}

/// Three hosts, networks of them, and how many there were.
class ThreeHosts
{
  public:
    explicit ThreeHosts(bool hasFlows = false)
        : m_hasFlows(hasFlows)
    {
    }

    PartOutcome Simulate(const std::vector<std::vector<TimePs>>& starts)
    {
        std::vector<PartOperation> operations;
        for (std::size_t i = 0; i < starts.size(); ++i)
        {
            PartOperation& message = operations.emplace_back();
            message.isMessage = true;
            message.group.ranks = {static_cast<int>(i), 2};
            message.request.op = CollectiveOp::SendRecv;
            message.request.bytes = 100'000;
        }
        AstraSim::PartPattern pattern;
        for (std::size_t i = 0; i < starts.size(); ++i)
        {
            pattern.push_back({&operations[i], starts[i]});
        }
        return m_fresh.Simulate(pattern);
    }

    int CountNetworks() const
    {
        return m_networks;
    }

    AstraSim::UnusedNetwork MakeUnused()
    {
        ++m_networks;
        AstraSim::UnusedNetwork made =
            m_hasFlows ? m_flows.MakeUnused(EventLoop::NO_LIMIT) : m_formulas.MakeUnused();
        if (m_isInterrupted)
        {
            made.interrupt();
        }
        return made;
    }

    /// From now on somebody interrupts each network before it runs.
    void Interrupt()
    {
        m_isInterrupted = true;
    }

  private:
    bool m_hasFlows;
    bool m_isInterrupted{false};
    int m_networks{0};
    ns3::ClusterTopology m_topology{ns3::ReadTopology(
        "4 1 0 1 3 A100\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n")};
    AnaSim m_formulas{std::make_shared<TopologyPaths>(m_topology, TopologyPaths::Sizes{})};
    EventLoop m_loop;
    FlowLevelFabric m_flows{m_loop, m_topology, {}};
    MockNcclGroup m_nccl{MachineOfTopology(m_topology), NcclOptions{}};
    AstraSim::OperationNumbers m_numbers;
    FreshSimulation m_fresh{[this] { return MakeUnused(); }, m_nccl, m_numbers};
};

} // namespace

/// Whether networks have flows.
class FreshSimulationOf : public testing::TestWithParam<bool>
{
};

INSTANTIATE_TEST_SUITE_P(Networks, FreshSimulationOf, testing::Bool(), [](const auto& info) {
    return info.param ? "Flows" : "Formulas";
});

TEST_P(FreshSimulationOf, AMessageTakesWhatItsFramesTake)
{
    ThreeHosts hosts(GetParam());
    const PartOutcome outcome = hosts.Simulate({{0, 0}});
    ASSERT_EQ(outcome.ends.size(), 1U);
    EXPECT_EQ(outcome.ends[0], std::vector({Arrival(100) + ACKNOWLEDGED, Arrival(100)}));
    EXPECT_EQ(outcome.traffic.flows, 1U);
}

TEST(FreshSimulation, MessagesOfAPatternShareItsNetwork)
{
    ThreeHosts hosts;
    const TimePs later = 10 * FULL_FRAME;
    const PartOutcome outcome = hosts.Simulate({{0, 0}, {later, later}});
    // The port of host 2 serves the second when it has served the first.
    EXPECT_EQ(outcome.ends[0][1], Arrival(100));
    EXPECT_EQ(outcome.ends[1][1], Arrival(200));
    EXPECT_EQ(outcome.traffic.flows, 2U);
}

TEST(FreshSimulation, FlowsOfAPatternShareItsNetwork)
{
    ThreeHosts hosts(true);
    const TimePs later = 10 * FULL_FRAME;
    const PartOutcome outcome = hosts.Simulate({{0, 0}, {later, later}});
    // From then on each has half of the link to host 2, until the first has sent its other 90
    // frames.
    EXPECT_NEAR(outcome.ends[0][1], Arrival(190), 1);
    EXPECT_NEAR(outcome.ends[1][1], Arrival(200), 1);
    EXPECT_EQ(outcome.traffic.flows, 2U);
}

TEST_P(FreshSimulationOf, NothingIsLeftOfEarlierPatterns)
{
    ThreeHosts hosts(GetParam());
    const PartOutcome first = hosts.Simulate({{0, 0}});
    hosts.Simulate({{0, 0}, {5, 5}});
    const PartOutcome again = hosts.Simulate({{0, 0}});
    EXPECT_EQ(again.ends, first.ends);
    EXPECT_EQ(hosts.CountNetworks(), 3);
}

TEST_P(FreshSimulationOf, WhatHasNotBegunDoesNotEnd)
{
    ThreeHosts hosts(GetParam());
    const PartOutcome outcome = hosts.Simulate({{0, NO_TIME}, {0, 0}});
    EXPECT_EQ(outcome.ends[0][1], NO_TIME) << "nobody receives it";
    EXPECT_NE(outcome.ends[1][1], NO_TIME);
}

TEST_P(FreshSimulationOf, AnInterruptedPatternSaysSo)
{
    ThreeHosts hosts(GetParam());
    EXPECT_FALSE(hosts.Simulate({{0, 0}}).isInterrupted);
    hosts.Interrupt();
    const PartOutcome outcome = hosts.Simulate({{0, 0}});
    EXPECT_TRUE(outcome.isInterrupted);
    EXPECT_EQ(outcome.ends[0], std::vector({NO_TIME, NO_TIME}));
}
