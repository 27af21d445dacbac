/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/timing/chain-times.h"
#include "collectives/model/timing/ring-times.h"
#include "nccl-cost-model.h"
#include "nccl-graphs.h"

#include <algorithm>
#include <memory>

namespace AstraSim
{

namespace
{

/// @return whether the library has the protocol
bool
RingHasProtocol(const NcclCostModel& model, const NcclCase& which)
{
    return which.protocol != NcclProtocol::Ll128 || model.HasLl128(which.shape);
}

NcclPlan
PlanRing(const NcclCostModel& model, const NcclCase& which, uint64_t bytes)
{
    const auto& [protocol, op, shape] = which;
    const auto p = static_cast<std::size_t>(protocol);
    const uint32_t ranks = shape.GetRanks();
    const uint32_t nodes = shape.GetNodes();
    const bool allReduce = op == CollectiveOp::AllReduce;
    const bool chain = IsChain(op);
    const uint32_t rounds = allReduce ? 2 : 1;
    const double steps = StepsOfRing(op, ranks);
    const uint32_t extra = allReduce && model.GetTuning().extraInterStep ? 1 : 0;
    const double interSteps = nodes > 1 ? rounds * (nodes - 1.0 + extra) : 0;

    NcclPlan plan = model.StartPlan(NcclAlgorithm::Ring, protocol);
    const uint32_t all = model.GetSearch().GetChannels(NcclAlgorithm::Ring, shape);
    plan.channels = model.GetSearch().ChannelsForSize(all, protocol, ranks, bytes);

    const double busGBps = model.RingBusGBps(model.GetTuning(),
                                             protocol,
                                             op,
                                             nodes,
                                             model.GetSearch().SearchChannels(shape, true));
    plan.speeds.channelGBps =
        model.CopyGBps(protocol, op, shape, model.GetSearch().PassingOf(shape, true)) *
        plan.GetWireInflation();
    plan.speeds.blockGBps = NcclBlockGBps(model.GetMachine().gpu.generation);
    // On Ampere alone, published tables show whole passes, and LL128 that waits for each.
    const bool ampere = model.GetMachine().gpu.generation == GpuGeneration::Ampere;
    plan.speeds.passes.areWhole = ampere && protocol != NcclProtocol::Ll;
    plan.speeds.passes.waitsEach = ampere && protocol == NcclProtocol::Ll128;
    const NcclBlock block = NcclBlockOf(protocol);
    plan.speeds.passes.bytes = block.passBytes;
    if (model.GetTuning().roundsChunks)
    {
        // Rounding a chunk of LL128 to half a pass is how NCCL of that time did it.
        plan.Of<RingPlan>().chunkGrain = protocol == NcclProtocol::Ll ? block.passBytes
                                         : protocol == NcclProtocol::Ll128
                                             ? block.passBytes / 2
                                             : block.threads * sizeof(uint64_t);
    }

    const double net = model.NetOverheadUs() * (protocol == NcclProtocol::Simple ? 3 : 1);
    const NcclTuning::Latencies latencies =
        model.LatenciesIn(NcclAlgorithm::Ring, model.GetTuning().release);
    const double intra = nodes > 1 ? std::max(latencies.nvlink[p], net) : latencies.nvlink[p];
    // With one rank per node the network's latency is fully exposed.
    const double inter = shape.GetRanksPerNode() == 1
                             ? NcclAlgorithm::Tree.LatenciesIn(model.GetTuning().release).net[p]
                             : latencies.net[p];
    if (protocol == NcclProtocol::Ll)
    {
        plan.speeds.intraLatency = FromMicroseconds(model.LlStepUs());
        plan.speeds.passes.hiddenBytes =
            static_cast<uint32_t>(model.GetOptions().figures.llHiddenBytes);
    }
    else if (nodes > 1)
    {
        plan.speeds.intraLatency = std::max(plan.speeds.intraLatency, FromMicroseconds(net));
    }
    // NCCL's latency for rings is the part that steps within nodes do not hide; the simulated
    // network needs the whole, which NCCL has for trees.
    plan.speeds.net.latency =
        model.InterLatency(NcclAlgorithm::Tree.LatenciesIn(model.GetHardware().release).net[p]);
    double latency = latencies.base[p] + (steps - interSteps) * intra +
                     interSteps * model.EstimatedInterUs(protocol, inter);
    if (protocol == NcclProtocol::Simple && allReduce && nodes > 1 &&
        bytes / (uint64_t{all} * ranks) >= 64)
    {
        latency *= 1.4; // plateau of the ring
    }
    if (chain)
    {
        // Where all channels have one order, as through an NVSwitch, NCCL counts one step.
        const bool exposed = protocol == NcclProtocol::Simple && nodes > 1;
        latency =
            latencies.base[p] +
            (nodes == 1
                 ? latencies.nvlink[p]
                 : steps * (exposed
                                ? NcclAlgorithm::Tree.LatenciesIn(model.GetTuning().release).net[p]
                                : latencies.net[p]));
    }
    Predict(plan, latency, busGBps * (steps > 0 ? ranks / steps : 1.0), bytes);
    model.OverrideEstimate(plan, op, shape, bytes);
    return plan;
}

TimedGraph
MakeRing(const NcclOptions& options,
         const CollectiveRequest& request,
         const GroupShape& shape,
         const NcclPlan& plan)
{
    auto layout = LayoutOf<RingLayout>(options, plan);
    layout.crossNic = options.crossNic;
    layout.chunkGrain = plan.Of<RingPlan>().chunkGrain;
    layout.stepsPerMessage = options.ringSteps;
    layout.copiesAcross = plan.speeds.blockGBps > 0;
    auto graph = std::make_shared<const RingGraph>(request, shape, layout);
    return {graph, std::make_shared<const RingTimes>(graph, plan.speeds, options.sendLatency)};
}

TimedGraph
MakeChain(const NcclOptions& options,
          const CollectiveRequest& request,
          const GroupShape& shape,
          const NcclPlan& plan)
{
    auto layout = LayoutOf<ChainLayout>(options, plan);
    layout.crossNic = options.crossNic;
    layout.passBytes = plan.speeds.passes.bytes;
    auto graph = std::make_shared<const ChainGraph>(request, shape, layout);
    return {graph, std::make_shared<const ChainTimes>(graph, plan.speeds, options.sendLatency)};
}

const NcclAlgorithm RING(
    "Ring",
    {.order = 1,
     .tunerName = "ring",
     .latencies = {{NcclRelease::V2_20,
                    NcclRelease::V2_20,
                    {{6.6, 14, 8.4}, {0.6, 1.9, 3.4}, {2.7, 5.5, 14}, {1, 2.5, 5.7}}},
                   {FIRST_NCCL_RELEASE,
                    LAST_NCCL_RELEASE,
                    {{6.6, 14, 8.4}, {0.6, 1.9, 3.4}, {2.7, 4, 14}, {1, 2.5, 5.7}}}},
     .can = RingHasProtocol,
     .cost = PlanRing,
     .graph = [](const NcclOptions& options,
                 const CollectiveRequest& request,
                 const GroupShape& shape,
                 const NcclPlan& plan) {
         return IsChain(request.op) ? MakeChain(options, request, shape, plan)
                                    : MakeRing(options, request, shape, plan);
     }});

} // namespace

const NcclAlgorithm& NcclAlgorithm::Ring = RING;

} // namespace AstraSim
