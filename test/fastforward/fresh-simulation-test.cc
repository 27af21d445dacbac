/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Patterns that are simulated on networks made for them: messages between hosts on a switch, whose
 * ends follow from the frames they have.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "astra-frontend/model/fastforward/fresh-simulation.h"
#include "astra-frontend/model/formula/ana-sim.h"
#include "astra-frontend/model/formula/topology-paths.h"
#include "astra-frontend/model/network/machine-of-topology.h"
#include "collectives/model/group/mock-nccl-group.h"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

using AstraSim::AnaSim;
using AstraSim::CollectiveOp;
using AstraSim::FreshSimulation;
using AstraSim::MachineOfTopology;
using AstraSim::MockNcclGroup;
using AstraSim::NcclOptions;
using AstraSim::NO_TIME;
using AstraSim::PartOperation;
using AstraSim::PartOutcome;
using AstraSim::RankNetwork;
using AstraSim::TimePs;
using AstraSim::TopologyPaths;
using ns3::CarriedTraffic;

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

  private:
    FreshSimulation::Network Make()
    {
        ++m_networks;
        const auto network = std::make_shared<AnaSim>(m_paths);
        return {[network](int rank) -> RankNetwork& { return network->GetNetwork(rank); },
                [network] { network->GetLoop().Run(); },
                [network] {
                    CarriedTraffic carried;
                    carried.flows = network->GetDelivered();
                    return carried;
                }};
    }

    int m_networks{0};
    ns3::ClusterTopology m_topology{ns3::ReadTopology(
        "4 1 0 1 3 A100\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n")};
    std::shared_ptr<TopologyPaths> m_paths{
        std::make_shared<TopologyPaths>(m_topology, TopologyPaths::Sizes{})};
    MockNcclGroup m_nccl{MachineOfTopology(m_topology), NcclOptions{}};
    FreshSimulation m_fresh{[this] { return Make(); }, m_nccl};
};

} // namespace

TEST(FreshSimulation, AMessageTakesWhatItsFramesTake)
{
    ThreeHosts hosts;
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

TEST(FreshSimulation, NothingIsLeftOfEarlierPatterns)
{
    ThreeHosts hosts;
    const PartOutcome first = hosts.Simulate({{0, 0}});
    hosts.Simulate({{0, 0}, {5, 5}});
    const PartOutcome again = hosts.Simulate({{0, 0}});
    EXPECT_EQ(again.ends, first.ends);
    EXPECT_EQ(hosts.CountNetworks(), 3);
}

TEST(FreshSimulation, WhatHasNotBegunDoesNotEnd)
{
    ThreeHosts hosts;
    const PartOutcome outcome = hosts.Simulate({{0, NO_TIME}, {0, 0}});
    EXPECT_EQ(outcome.ends[0][1], NO_TIME) << "nobody receives it";
    EXPECT_NE(outcome.ends[1][1], NO_TIME);
}
