/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Laws for the graph of every algorithm of NCCL's, and for its times.
 */
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/rccl/rccl-cost-model.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <tuple>

namespace AstraSim
{

namespace
{

/// Servers whose NVSwitches and network add, so that every algorithm can be carried out.
MachineModel
Machine(const char* gpu, uint32_t gpusPerServer)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile(gpu);
    machine.gpuType = gpu;
    machine.gpusPerServer = gpusPerServer;
    machine.SetServersOf(machine.gpu);
    return machine;
}

/// Both ends of a lane agree, and a message that counts takes some time or has a slot.
void
ExpectEndsToAgree(const TimedGraph& timed)
{
    const FlowGraph& graph = *timed.graph;
    const TimedLanes times(timed);
    uint64_t lanes = 0;
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t index = 0; index < graph.GetLaneCount(); ++index)
        {
            const Lane in = graph.GetInbound(rank, index);
            if (in.messages == 0)
            {
                continue;
            }
            ++lanes;
            const Lane out = graph.GetOutbound(in.peer, graph.GetPeerLane(rank, index));
            EXPECT_EQ(out.messages, in.messages);
            EXPECT_EQ(out.tag, in.tag);
            EXPECT_EQ(out.kind, in.kind);
            EXPECT_EQ(out.members, in.members);
            EXPECT_TRUE(in.kind != LaneKind::Message || out.peer == rank);
            EXPECT_GE(times.In(rank, index).latency, 0);
            EXPECT_GE(times.Out(rank, index).aloneSpeed, 1);
        }
    }
    EXPECT_TRUE(lanes > 0 || graph.GetRanks() == 1);
}

} // namespace

TEST(TimedGraph, BothEndsOfEveryLaneAgreeWhateverTheAlgorithm)
{
    uint32_t graphs = 0;
    for (const auto& [gpu, ranks, perServer] : {std::tuple("H100", 8U, 8U),
                                                {"B200", 16U, 8U},
                                                {"A100", 5U, 1U},
                                                {"H100", 12U, 4U},
                                                {"MI300X", 8U, 8U}})
    {
        NcclOptions options;
        options.collNetEnable = true;
        const MachineModel machine = Machine(gpu, perServer);
        std::unique_ptr<const NcclCostModel> model =
            std::make_unique<NcclCostModel>(machine, options);
        if (IsAmd(machine.gpu.generation))
        {
            model = std::make_unique<RcclCostModel>(machine, options);
        }
        const GroupShape shape(FirstRanks(ranks), machine);
        for (const NcclAlgorithm* algorithm : NcclAlgorithm::GetAll())
        {
            const NcclAlgorithm::Method& method = algorithm->GetMethod();
            for (const NcclProtocol protocol :
                 {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
            {
                for (const CollectiveOp op : {CollectiveOp::AllReduce,
                                              CollectiveOp::AllGather,
                                              CollectiveOp::ReduceScatter,
                                              CollectiveOp::Broadcast,
                                              CollectiveOp::Reduce})
                {
                    if (!method.can(*model, {protocol, op, shape}))
                    {
                        continue;
                    }
                    const CollectiveRequest request = Request(op, 1 << 22);
                    const NcclPlan plan = method.cost(*model, {protocol, op, shape}, request.bytes);
                    for (const auto latency :
                         {std::optional<TimePs>(), std::optional<TimePs>(5000)})
                    {
                        options.sendLatency = latency;
                        SCOPED_TRACE(algorithm->GetName() + " of " + ToString(op) + ", " +
                                     ToString(protocol) + ", " + gpu);
                        ExpectEndsToAgree(method.graph(options, request, shape, plan));
                        ++graphs;
                    }
                    options.sendLatency.reset();
                }
            }
        }
    }
    EXPECT_GT(graphs, 100U);
}

} // namespace AstraSim
