/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Time to generate one flow of a ring AllReduce over 16384 ranks and 16 channels.
 */
#include "ns3/machine-model.h"
#include "ns3/ring-graph.h"

#include <benchmark/benchmark.h>
#include <numeric>

namespace
{

using namespace AstraSim;

void
RingFlows(benchmark::State& state)
{
    CommGroup group;
    group.ranks.resize(static_cast<std::size_t>(state.range(0)));
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    const GroupShape shape(group, MachineModel{});
    NcclPlan plan;
    plan.channels = 16;
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 16ULL << 30;
    const RingGraph graph(request, shape, plan, true, -1);
    uint64_t message = 0;
    const uint64_t messages = graph.GetOutbound(0, 0).messages;
    for (auto _ : state)
    {
        const auto rank = static_cast<uint32_t>(message % group.ranks.size());
        benchmark::DoNotOptimize(graph.GetBytes(rank, 3, message));
        benchmark::DoNotOptimize(graph.GetNeeds(rank, 3, message, 3));
        message = message + 1 == messages ? 0 : message + 1;
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(RingFlows)->Arg(128)->Arg(16384);

} // namespace
