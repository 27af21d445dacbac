/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/timing/single-flow.h"
#include "symbolic-graph.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

namespace AstraSim
{

namespace
{

std::vector<SingleFlow>
FlowsOf(CollectiveOp op, uint64_t bytes, uint32_t ranks, const NcclOptions& options)
{
    const MockNcclGroup nccl(MachineModel{}, options);
    CollectiveRequest request;
    request.op = op;
    request.bytes = bytes;
    return nccl.GetSingleFlows(FirstRanks(ranks), request, 1000000);
}

NcclOptions
Only(const NcclAlgorithm& algorithm)
{
    NcclOptions options;
    options.algorithms = {&algorithm};
    options.protocols = {NcclProtocol::Simple};
    options.maxChannels = 1;
    options.collNetEnable = true;
    return options;
}

uint64_t
BytesOf(const std::vector<SingleFlow>& flows)
{
    return std::accumulate(flows.begin(), flows.end(), uint64_t{0}, [](uint64_t sum, auto& flow) {
        return sum + flow.bytes;
    });
}

} // namespace

TEST(SingleFlow, RingOfOneChannelAndOneSliceIsTwoRoundsOfDependentSteps)
{
    // 4 ranks, 4 chunks too small to be cut: 2 (n - 1) steps of n flows.
    const auto flows = FlowsOf(CollectiveOp::AllReduce, 4096, 4, Only(NcclAlgorithm::Ring));
    ASSERT_EQ(flows.size() % (2 * 3 * 4), 0U);
    EXPECT_EQ(BytesOf(flows), 2 * 3 * 4096U);
    const auto first = std::count_if(flows.begin(), flows.end(), [](const SingleFlow& flow) {
        return flow.parallelDeps.empty();
    });
    EXPECT_GE(first, 4) << "every rank begins by itself";
    for (const SingleFlow& flow : flows)
    {
        for (const uint64_t parent : flow.parallelDeps)
        {
            EXPECT_EQ(flows[parent].dst, flow.src) << "waits for what arrives where it starts";
        }
    }
}

TEST(SingleFlow, ParentsAndChildrenMirrorEachOtherAndFormNoCycle)
{
    for (const NcclAlgorithm* algorithm : {&NcclAlgorithm::Ring,
                                           &NcclAlgorithm::Tree,
                                           &NcclAlgorithm::Nvls,
                                           &NcclAlgorithm::NvlsTree,
                                           &NcclAlgorithm::CollNetDirect,
                                           &NcclAlgorithm::CollNetChain})
    {
        const uint32_t ranks = algorithm == &NcclAlgorithm::Nvls ? 8 : 24;
        const auto flows = FlowsOf(CollectiveOp::AllReduce, 8 << 20, ranks, Only(*algorithm));
        ASSERT_FALSE(flows.empty());
        for (const SingleFlow& flow : flows)
        {
            for (const uint64_t child : flow.childFlowIds)
            {
                const auto& parents = flows[child].parallelDeps;
                EXPECT_EQ(std::count(parents.begin(), parents.end(), flow.id), 1);
            }
        }
        EXPECT_GT(CountSteps(flows), 2U) << ToString(algorithm);
    }
}

TEST(SingleFlow, NvlsMovesEachGpusDataOncePlusItsShareEachWay)
{
    const uint64_t bytes = 8 << 20;
    const auto flows = FlowsOf(CollectiveOp::AllReduce, bytes, 8, Only(NcclAlgorithm::Nvls));
    uint64_t up = 0;
    uint64_t down = 0;
    for (const SingleFlow& flow : flows)
    {
        EXPECT_EQ(flow.type, ConnType::Nvls);
        up += flow.src == 3 ? flow.bytes : 0;
        down += flow.dst == 3 ? flow.bytes : 0;
    }
    EXPECT_EQ(up, bytes + bytes / 8);
    EXPECT_EQ(down, bytes + bytes / 8);
}

TEST(SingleFlow, ACycleIsFound)
{
    std::vector<SingleFlow> flows(2);
    flows[0].id = 0;
    flows[1].id = 1;
    flows[0].parallelDeps = {1};
    flows[1].parallelDeps = {0};
    flows[0].childFlowIds = {1};
    flows[1].childFlowIds = {0};
    EXPECT_THROW(CountSteps(flows), ns3::InputError);
}

TEST(SingleFlow, TableListsDependenciesInsideOneCell)
{
    std::vector<SingleFlow> flows(1);
    flows[0].dst = 1;
    flows[0].bytes = 16;
    flows[0].prev = {4, 5};
    flows[0].parallelDeps = {8, 9};
    flows[0].chunkCount = 1;
    std::ostringstream text;
    WriteSingleFlowsCsv(text, flows);
    EXPECT_EQ(text.str(),
              "flow_id,src,dest,flow_size,prev,parallel_deps,child_flow_id,channel_id,chunk_id,"
              "chunk_count,conn_type\n0,0,1,16,4 5,8 9,,0,0,1,RING\n");
}

} // namespace AstraSim
