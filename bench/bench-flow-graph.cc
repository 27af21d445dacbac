/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Time to generate one flow of a collective over up to 16384 ranks, and memory of the executors of
 * a ring AllReduce over 16 channels.
 */
#include "../test/support/silent-network.h"
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/graph/collnet-direct-graph.h"
#include "collectives/model/graph/nvls-graph.h"
#include "collectives/model/graph/pxn-graph.h"
#include "collectives/model/graph/ring-graph.h"
#include "collectives/model/graph/tree-graph.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/nccl/nccl-algorithm.h"

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

namespace
{

using namespace AstraSim;

CommGroup
GroupOf(int64_t ranks)
{
    CommGroup group;
    group.ranks.resize(static_cast<std::size_t>(ranks));
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    return group;
}

/// Asks for bytes and dependencies of every message of one rank's lanes in turn.
void
Generate(benchmark::State& state, const FlowGraph& graph)
{
    std::vector<uint32_t> lanes;
    std::vector<uint64_t> messages;
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        const Lane out = graph.GetOutbound(1, lane);
        if (out.messages > 0)
        {
            lanes.push_back(lane);
            messages.push_back(out.messages);
        }
    }
    std::size_t at = 0;
    uint64_t message = 0;
    for (auto _ : state)
    {
        benchmark::DoNotOptimize(graph.GetBytes(1, lanes[at], message));
        for (const uint32_t source : graph.GetSources(1, lanes[at]))
        {
            benchmark::DoNotOptimize(graph.GetNeeds(1, lanes[at], message, source));
        }
        if (++message == messages[at])
        {
            message = 0;
            at = at + 1 == lanes.size() ? 0 : at + 1;
        }
    }
    state.SetItemsProcessed(state.iterations());
}

template <typename Graph, typename Layout>
void
Flows(benchmark::State& state)
{
    const GroupShape shape(GroupOf(state.range(0)), MachineModel{});
    CollectiveRequest request;
    request.op = std::is_same_v<Graph, PxnGraph> ? CollectiveOp::AllToAll : CollectiveOp::AllReduce;
    request.bytes = 16ULL << 30;
    if constexpr (std::is_same_v<Graph, PxnGraph>)
    {
        Generate(state, Graph(request, shape));
    }
    else
    {
        Layout layout;
        layout.channels = 16;
        Generate(state, Graph(request, shape, layout));
    }
}

/// Plans a ring and makes every rank's executor; counts bytes per rank and channel.
void
RingExecutors(benchmark::State& state)
{
    constexpr uint32_t CHANNELS = 16;
    NcclOptions options;
    options.algorithms = {&NcclAlgorithm::Ring};
    options.protocols = {NcclProtocol::Simple};
    options.minChannels = options.maxChannels = CHANNELS;
    const CommGroup group = GroupOf(state.range(0));
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 16ULL << 30;
    SilentNetwork network;
    double used = 0;
    for (auto _ : state)
    {
        const auto before = mallinfo2();
        MockNcclGroup nccl(MachineModel{}, options);
        const auto plan = nccl.Plan(group, request);
        std::vector<std::unique_ptr<RankCollective>> executors;
        for (uint32_t rank = 0; rank < group.ranks.size(); ++rank)
        {
            executors.push_back(plan->CreateRank(rank, network, 0, {}, [] {}));
        }
        const auto after = mallinfo2();
        used = static_cast<double>(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd);
    }
    state.counters["bytes/rank/channel"] =
        used / static_cast<double>(group.ranks.size()) / CHANNELS;
}

BENCHMARK(Flows<RingGraph, RingLayout>)->Arg(128)->Arg(16384);
BENCHMARK(Flows<TreeGraph, TreeLayout>)->Arg(16384);
BENCHMARK(Flows<NvlsGraph, NvlsLayout>)->Arg(16384);
BENCHMARK(Flows<CollNetDirectGraph, ChannelLayout>)->Arg(16384);
BENCHMARK(Flows<PxnGraph, void>)->Arg(1024);
BENCHMARK(RingExecutors)->Arg(16384)->Unit(benchmark::kMillisecond);

} // namespace
