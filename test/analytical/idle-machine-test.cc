/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/estimate/idle-machine.h"
#include "astra-frontend/model/network/topology-of-machine.h"
#include "collectives/model/graph/all-pairs-graph.h"
#include "collectives/model/nccl/nccl-algorithm.h"

#include "ns3/collective-algorithm.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{
namespace
{

constexpr uint64_t NO_LIMIT = std::numeric_limits<uint64_t>::max();

/// Servers of 8 H100 with 360 GB/s of NVLink and a NIC of 50 GB/s each.
MachineModel
Hopper()
{
    MachineModel machine;
    machine.gpu = FindGpuProfile("H100");
    machine.networkDelay = 2'000'000;
    return machine;
}

CommGroup
Every(int step, int count, int first = 0)
{
    CommGroup group{1, GroupKind::Dp, "G", {}};
    for (int i = 0; i < count; ++i)
    {
        group.ranks.push_back(first + i * step);
    }
    return group;
}

TimePs
TimeOn(const MockNcclGroup& nccl,
       const CommGroup& group,
       const CollectiveRequest& request,
       uint64_t mostFlows = IdleMachine::MOST_FLOWS)
{
    return IdleMachine(nccl, {}, mostFlows).GetTime(group, request, nccl.Choose(group, request));
}

// Smaller forms of a collective, on fewer servers and with fewer bytes, give the time of the whole.
TEST(IdleMachine, ALineThroughSmallerFormsMeetsTheWholeCollective)
{
    const NcclOptions options;
    MachineModel alone = Hopper();
    alone.gpusPerServer = 1;
    alone.nvswitchesPerServer = 0;
    for (const MachineModel& machine : {Hopper(), alone})
    {
        const MockNcclGroup nccl(machine, options);
        for (const CollectiveOp op : {CollectiveOp::AllReduce,
                                      CollectiveOp::AllGather,
                                      CollectiveOp::ReduceScatter,
                                      CollectiveOp::AllToAll,
                                      CollectiveOp::Broadcast,
                                      CollectiveOp::Gather})
        {
            for (const int ranks : {8, 48})
            {
                for (const uint64_t bytes : {1UL << 20, 1UL << 26})
                {
                    SCOPED_TRACE(std::string(ToString(op)) + " of " + std::to_string(bytes) +
                                 " bytes on " + std::to_string(ranks) + " GPUs, " +
                                 std::to_string(machine.gpusPerServer) + " a server");
                    const CommGroup group = Every(1, ranks);
                    const auto whole =
                        static_cast<double>(TimeOn(nccl, group, {op, bytes}, NO_LIMIT));
                    const auto usual = static_cast<double>(TimeOn(nccl, group, {op, bytes}));
                    EXPECT_NEAR(usual, whole, 0.05 * whole);
                }
            }
        }
    }
}

// Fewer bytes stand for all bytes of a pair: messages stay as long as those of the whole, where a
// pair of so few bytes would have shorter ones.
TEST(IdleMachine, SmallerFormsOfPairsKeepTheMessagesOfTheWhole)
{
    const NcclOptions options;
    const MockNcclGroup nccl(Hopper(), options);
    const CommGroup group = Every(1, 16);
    const CollectiveRequest request{CollectiveOp::AllToAll, 1 << 26};
    const auto whole = static_cast<double>(TimeOn(nccl, group, request, NO_LIMIT));
    for (const uint64_t mostFlows : {4000, 2000})
    {
        const auto smaller = static_cast<double>(TimeOn(nccl, group, request, mostFlows));
        EXPECT_NEAR(smaller, whole, 0.01 * whole) << mostFlows;
    }
}

TEST(IdleMachine, GroupsOfOneShapeTakeTheSameTimeWhereverTheyAre)
{
    const NcclOptions options;
    const MockNcclGroup nccl(Hopper(), options);
    for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::AllToAll})
    {
        const CollectiveRequest request{op, 1 << 24};
        EXPECT_EQ(TimeOn(nccl, Every(1, 8), request), TimeOn(nccl, Every(1, 8, 4096), request));
        // One GPU of each of 16 servers, the first ones or others.
        EXPECT_EQ(TimeOn(nccl, Every(8, 16), request), TimeOn(nccl, Every(8, 16, 803), request));
        EXPECT_EQ(TimeOn(nccl, Every(8, 16), request), TimeOn(nccl, Every(64, 16), request));
    }
}

// n servers of one GPU hand each of n blocks on 2 (n - 1) times; a NIC of 1 GB/s is the limit.
TEST(IdleMachine, ARingTakesItsBytesOverTheNics)
{
    NcclOptions options;
    options.algorithms = {&NcclAlgorithm::Ring};
    MachineModel machine = Hopper();
    machine.gpusPerServer = 1;
    machine.nvswitchesPerServer = 0;
    machine.nicGBps = 1;
    const MockNcclGroup nccl(machine, options);
    for (const int ranks : {2, 4, 16, 200})
    {
        const uint64_t bytes = uint64_t{1} << 30;
        const double wire = 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) * 1e3;
        const auto time =
            static_cast<double>(TimeOn(nccl, Every(1, ranks), {CollectiveOp::AllReduce, bytes}));
        EXPECT_GE(time, wire) << ranks;
        EXPECT_LE(time, 1.06 * wire) << ranks;
    }
}

// A plug-in says how its messages grow; a line through smaller groups is drawn where they allow
// one.
TEST(IdleMachine, GroupsAreCutAsTheirAlgorithmsGrow)
{
    using Growth = CollectiveAlgorithm::Growth;
    constexpr uint32_t RANKS = 16;
    constexpr uint64_t BYTES = 1 << 20;
    constexpr TimePs COST = 12'345;
    MachineModel machine = Hopper();
    machine.gpusPerServer = 1;
    machine.nvswitchesPerServer = 0;
    std::map<uint64_t, uint64_t> mostBytes; // by ranks
    CollectiveAlgorithm::Rules rules;
    rules.can = [](const CollectiveTask&) { return true; };
    rules.cost = [](const CollectiveTask&) { return COST; };
    rules.graph = [&](const CollectiveTask& task) -> std::shared_ptr<const FlowGraph> {
        uint64_t& most = mostBytes[task.servers.size()];
        most = std::max(most, task.request.bytes);
        return std::make_shared<AllPairsGraph>(task.request.bytes,
                                               static_cast<uint32_t>(task.servers.size()));
    };
    const std::map<uint64_t, uint64_t> whole{{RANKS, BYTES}};
    const std::map<Growth, std::map<uint64_t, uint64_t>> expected{
        {Growth::Own, whole},
        {Growth::Depths, whole},
        {Growth::Steps, {{4, BYTES / 4}, {8, BYTES / 2}, {RANKS, BYTES}}},
        {Growth::Levels, {{4, BYTES}, {8, BYTES}, {RANKS, BYTES}}},
        {Growth::Predicted, {}},
    };
    for (const auto& [growth, cases] : expected)
    {
        SCOPED_TRACE(static_cast<int>(growth));
        rules.growth = growth;
        const CollectiveAlgorithm plugIn("Growing", rules);
        const MockNcclGroup nccl(machine, NcclOptions());
        mostBytes.clear();
        const TimePs time = TimeOn(nccl, Every(1, RANKS), {CollectiveOp::AllReduce, BYTES}, 1);
        EXPECT_EQ(mostBytes, cases);
        EXPECT_EQ(time == COST, growth == Growth::Predicted);
    }
}

TEST(IdleMachine, MessagesPassTheLinksOfTheTopology)
{
    MachineModel machine = Hopper();
    machine.gpusPerServer = 1;
    machine.nvswitchesPerServer = 0;
    NcclOptions options;
    options.algorithms = {&NcclAlgorithm::Ring};
    const MockNcclGroup nccl(machine, options);
    ns3::ClusterTopology topology = TopologyOfMachine(machine, 3);
    IdleNetwork network;
    network.topology = &topology;
    const auto timeOf = [&](std::vector<int> ranks) {
        const CommGroup group{1, GroupKind::Dp, "G", std::move(ranks)};
        const CollectiveRequest request{CollectiveOp::AllReduce, uint64_t{1} << 28};
        return static_cast<double>(
            IdleMachine(nccl, network).GetTime(group, request, nccl.Choose(group, request)));
    };
    const double usual = timeOf({0, 1});
    EXPECT_NEAR(usual,
                static_cast<double>(
                    TimeOn(nccl, Every(1, 2), {CollectiveOp::AllReduce, uint64_t{1} << 28})),
                1);
    topology.links[2].rateBps /= 2; // the third server's NIC
    EXPECT_NEAR(timeOf({0, 1}), usual, 1);
    EXPECT_NEAR(timeOf({0, 2}), 2 * usual, 0.1 * usual);
}

TEST(IdleMachine, AGroupWithoutAPathIsAMistakeOfTheTopology)
{
    MachineModel machine = Hopper();
    machine.gpusPerServer = 1;
    machine.nvswitchesPerServer = 0;
    const NcclOptions options;
    const MockNcclGroup nccl(machine, options);
    ns3::ClusterTopology topology = TopologyOfMachine(machine, 2);
    topology.source = "islands";
    topology.links.pop_back();
    topology.Index();
    IdleNetwork network;
    network.topology = &topology;
    const CommGroup group = Every(1, 2);
    const CollectiveRequest request{CollectiveOp::AllReduce, 1 << 20};
    try
    {
        IdleMachine(nccl, network).GetTime(group, request, nccl.Choose(group, request));
        FAIL() << "a group without a path has a time";
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_THAT(error.what(), testing::StartsWith("islands: a collective cannot end: rank "));
    }
}

} // namespace
} // namespace AstraSim
