/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/graph/pair-bytes.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/nccl/nccl-options.h"
#include "symbolic-graph.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <gtest/gtest.h>
#include <memory>

namespace AstraSim
{

namespace
{

constexpr NcclRelease RELEASES[] = {NcclRelease::V2_18,
                                    NcclRelease::V2_20,
                                    NcclRelease::V2_23,
                                    NcclRelease::V2_28,
                                    NcclRelease::V2_29_2,
                                    NcclRelease::V2_29,
                                    NcclRelease::V2_30};
constexpr NcclProtocol PROTOCOLS[] = {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple};

std::shared_ptr<const FlowGraph>
GraphOf(const NcclOptions& options,
        const CollectiveRequest& request,
        const GroupShape& shape,
        const NcclPlan& plan)
{
    return plan.algorithm->GetMethod().graph(options, request, shape, plan).graph;
}

/// @return data that a rank receives, or sends
uint64_t
BytesOf(const FlowGraph& graph, uint32_t rank, bool sends)
{
    uint64_t sum = 0;
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        const uint64_t messages =
            (sends ? graph.GetOutbound(rank, lane) : graph.GetInbound(rank, lane)).messages;
        for (uint64_t message = 0; message < messages; ++message)
        {
            sum += sends ? graph.GetBytes(rank, lane, message)
                         : graph.GetInboundBytes(rank, lane, message);
        }
    }
    return sum;
}

/// In AllGather a rank receives all blocks but its own; in ReduceScatter it sends all but its own.
void
ExpectEqualBlocks(const FlowGraph& graph, const CollectiveRequest& request)
{
    const uint64_t least = request.bytes / graph.GetRanks();
    const uint64_t left = request.bytes % graph.GetRanks();
    uint64_t all = 0;
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        const uint64_t moved = BytesOf(graph, rank, request.op == CollectiveOp::ReduceScatter);
        const uint64_t own = request.bytes - moved;
        EXPECT_GE(own, least) << "rank " << rank;
        EXPECT_LE(own, least + (left ? 1 : 0)) << "rank " << rank;
        all += own;
    }
    EXPECT_EQ(all, request.bytes) << "the blocks are the whole";
}

} // namespace

TEST(RankBlocks, AreEqualToAByteInEveryReleaseProtocolAndSize)
{
    for (const uint32_t ranks : {2U, 3U, 5U, 8U, 12U, 16U, 33U})
    {
        MachineModel machine;
        machine.gpusPerServer = 8;
        const GroupShape shape(FirstRanks(ranks), machine);
        for (const NcclRelease release : RELEASES)
        {
            NcclOptions options;
            options.release = release;
            const NcclCostModel model(machine, options);
            for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::ReduceScatter})
            {
                for (const uint64_t bytes :
                     {1ULL, 1000ULL, 4096ULL, 32'768ULL, 1'048'576ULL, 9'999'999ULL, 16'777'216ULL})
                {
                    for (const NcclProtocol protocol : PROTOCOLS)
                    {
                        SCOPED_TRACE(std::string(ToString(op)) + " of " + std::to_string(bytes) +
                                     " bytes on " + std::to_string(ranks) + " ranks by " +
                                     ToString(protocol) + ", release " +
                                     std::to_string(static_cast<int>(release)));
                        CollectiveRequest request;
                        request.op = op;
                        request.bytes = bytes;
                        const NcclPlan plan =
                            model.Evaluate(NcclAlgorithm::Ring, protocol, op, shape, bytes);
                        ExpectEqualBlocks(*GraphOf(options, request, shape, plan), request);
                    }
                }
            }
        }
    }
}

TEST(RankBlocks, AreEqualToAByteWithPat)
{
    MachineModel machine;
    machine.gpusPerServer = 1;
    const NcclOptions options;
    const NcclCostModel model(machine, options);
    for (uint32_t ranks = 2; ranks <= 17; ++ranks)
    {
        const GroupShape shape(FirstRanks(ranks), machine);
        for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::ReduceScatter})
        {
            for (const uint64_t bytes : {1ULL, 1000ULL, 65'537ULL, 9'999'999ULL})
            {
                SCOPED_TRACE(std::string(ToString(op)) + " of " + std::to_string(bytes) +
                             " bytes on " + std::to_string(ranks) + " ranks");
                CollectiveRequest request;
                request.op = op;
                request.bytes = bytes;
                const NcclPlan plan =
                    model.Evaluate(NcclAlgorithm::Pat, NcclProtocol::Simple, op, shape, bytes);
                ExpectEqualBlocks(*GraphOf(options, request, shape, plan), request);
            }
        }
    }
}

TEST(RankBlocks, ArePairsOfEqualSizeInAllToAllGatherAndScatter)
{
    CollectiveRequest request;
    request.bytes = 1000; // 62 for each of 16, and 8 left
    for (const CollectiveOp op :
         {CollectiveOp::AllToAll, CollectiveOp::Gather, CollectiveOp::Scatter})
    {
        request.op = op;
        uint64_t all = 0;
        for (uint32_t other = 0; other < 16; ++other)
        {
            const bool gathers = op == CollectiveOp::Gather;
            const uint64_t bytes = PairBytes(request, 16, gathers ? other : 0, gathers ? 0 : other);
            EXPECT_TRUE(bytes == 62 || bytes == 63) << ToString(op) << ", rank " << other;
            all += bytes;
        }
        EXPECT_EQ(all, 1000U) << ToString(op);
        EXPECT_EQ(MostPairBytes(request, 16), 63U);
    }
}

} // namespace AstraSim
