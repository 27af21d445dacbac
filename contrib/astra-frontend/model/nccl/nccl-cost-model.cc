/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-cost-model.h"

#include "astra-frontend/model/collective/divide-up.h"
#include "astra-frontend/model/graph/chain-graph.h"
#include "astra-frontend/model/graph/nvls-graph.h"
#include "nccl-algorithm.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <tuple>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_BYTE_AT_1_GBPS = 1000;
constexpr double NET_OVERHEAD = 1.0;     // microseconds, of Simple three times that
constexpr double NET_OVERHEAD_AMD = 2.0; // on AMD hosts

constexpr uint32_t MAX_PAT_CHANNELS = 8; ///< lanes of all distances share an instance's tags

} // namespace

NcclTuning::Latencies
NcclCostModel::KernelLatencies(NcclAlgorithm algorithm) const
{
    // Releases differ in their estimates of rings and trees only: the kernels are the same.
    const bool isTree = algorithm == NcclAlgorithm::Tree;
    const bool isCommon = isTree || algorithm == NcclAlgorithm::Ring;
    NcclTuning::Latencies latencies = (isCommon ? m_hardware : m_tuning).LatenciesOf(algorithm);
    if (m_rccl && (isCommon || algorithm == NcclAlgorithm::AllPairs))
    {
        const auto& own = isTree ? m_rccl->tree : m_rccl->ring;
        latencies.base = own.latencies.base;
        latencies.nvlink = own.latencies.nvlink;
    }
    return latencies;
}

NcclPlan
NcclCostModel::StartPlan(NcclAlgorithm algorithm, NcclProtocol protocol) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const NcclTuning::Latencies latencies = KernelLatencies(algorithm);
    NcclPlan plan;
    plan.algorithm = algorithm;
    plan.protocol = protocol;
    plan.wireInflation = WireInflation(protocol);
    plan.speeds.baseLatency = FromMicroseconds(latencies.base[p]);
    plan.speeds.intraLatency = FromMicroseconds(latencies.nvlink[p]);
    plan.speeds.net.latency = InterLatency(latencies.net[p]);
    plan.speeds.net.slotTrips = m_options.networkKind.slotTrips;
    plan.speeds.net.slowStarts = GetSlowStarts();
    return plan;
}

SlowStarts
NcclCostModel::GetSlowStarts() const
{
    static_assert(std::tuple_size_v<SlowStarts> >= GpuProfile::MOST_MESSAGE_COSTS);
    static_assert(std::tuple_size_v<SlowStarts> >= NetworkKind::MOST_SLOW_STARTS);
    SlowStarts starts{};
    if (!m_machine.gpu.messageCosts.empty())
    {
        // The work of a host's own CPU is no part of the latencies that a user's may replace.
        std::ranges::transform(m_machine.gpu.messageCosts, starts.begin(), [](const auto& cost) {
            return SlowStart{cost.above,
                             FromMicroseconds(cost.us),
                             true,
                             cost.GBps > 0 ? PS_PER_BYTE_AT_1_GBPS / cost.GBps : 0,
                             -1};
        });
    }
    else if (!m_options.sendLatency)
    {
        std::ranges::transform(
            m_options.networkKind.slowStarts,
            starts.begin(),
            [](const auto& slow) {
                return SlowStart{slow.above, FromMicroseconds(slow.us), slow.occupies, 0, -1};
            });
    }
    return starts;
}

void
NcclCostModel::Predict(NcclPlan& plan, double latencyUs, double algGBps, uint64_t bytes)
{
    plan.latency = FromMicroseconds(latencyUs);
    plan.predicted = FromMicroseconds(latencyUs + static_cast<double>(bytes) / (algGBps * 1e3));
}

double
NcclCostModel::RingBusGBps(const NcclTuning& tuning,
                           NcclProtocol protocol,
                           CollectiveOp op,
                           uint32_t nodes,
                           const Search& search) const
{
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const double busGBps = search.Bandwidth(nodes);
    if (protocol == NcclProtocol::Ll)
    {
        const bool allReduce = op == CollectiveOp::AllReduce;
        const double part = nodes > 1 || allReduce ? tuning.ringLl : tuning.ringLlOneNode;
        return std::min(LlMaxGBps(tuning, nodes), busGBps * part);
    }
    if (protocol == NcclProtocol::Ll128)
    {
        return std::min(0.92 * busGBps,
                        search.channels * tuning.ringLl128Max[generation][RowByNodes(nodes)]);
    }
    return busGBps;
}

double
NcclCostModel::BlockGBps(NcclProtocol protocol, const GroupShape& shape) const
{
    switch (protocol)
    {
    case NcclProtocol::Ll:
        return CopyGBps(protocol, CollectiveOp::AllReduce, shape);
    case NcclProtocol::Ll128:
        // Each channel that the search finds becomes two.
        return m_hardware.ringLl128Max[static_cast<std::size_t>(m_machine.gpu.generation)][0] / 2;
    default:
        return NcclBlockGBps(m_machine.gpu.generation);
    }
}

double
NcclCostModel::CopyGBps(NcclProtocol protocol,
                        CollectiveOp op,
                        const GroupShape& shape,
                        double passing) const
{
    const Search search = SearchWithinNode(shape);
    const double all = RingBusGBps(m_hardware, protocol, op, 1, search);
    const uint32_t within = std::min(2 * search.channels, MostChannels());
    // LL's limit is of all channels together, whatever their number: it says nothing of a block.
    if (protocol == NcclProtocol::Ll && m_rccl)
    {
        constexpr double CHANNELS = 28; // of MI300X: later GPUs have more, with blocks as fast
        return m_hardware.llMax[static_cast<std::size_t>(GpuGeneration::Cdna3)][0] / CHANNELS;
    }
    if (protocol == NcclProtocol::Ll || shape.GetNodes() == 1)
    {
        return all / within;
    }
    const uint32_t channels = GetChannels(NcclAlgorithm::Ring, shape);
    return std::min(passing * all / channels, BlockGBps(protocol, shape));
}

uint64_t
NcclCostModel::PairNetChunk(const GroupShape& shape) const
{
    constexpr uint64_t NCCLS = 131072;
    return m_rccl ? std::max(NCCLS, m_rccl->PairNetChunk(shape.GetRanks())) : NCCLS;
}

NcclPlan
NcclCostModel::EvaluatePairs(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    // NCCL src/enqueue.cc, addP2pToPlan: LL up to 16 KiB (NCCL_P2P_LL_THRESHOLD) for each channel
    // that a pair may have, which is all of them over NVLink; from 2.29 on for each that it has
    // with Simple, of which one is for up to 64 KiB.
    constexpr uint64_t LL_THRESHOLD = 16384;
    const uint32_t channels = GetPairChannels(shape);
    const MeasuredFigures& figures = m_options.figures;
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    NcclPlan plan = EvaluateRing(NcclProtocol::Simple, op, shape, bytes);
    PairPlan pairs{{.channels = channels, .perPair = GetChannelsPerPair(shape)}, {}};
    // NCCL src/init.cc, computeBuffSizes: no more than a step of other collectives.
    pairs.layout.chunk =
        std::min(m_options.GetSimpleStep(),
                 shape.GetNodes() > 1 ? m_options.pairNetChunk.value_or(PairNetChunk(shape))
                                      : m_options.pairNvlinkChunk);
    pairs.speeds.rankGBps = figures.pairEfficiency[generation] * NvlinkGBps(shape);
    pairs.layout.step = pairs.layout.chunk;
    pairs.speeds.blockGBps =
        figures.pairBlockEfficiency[generation] * NcclBlockGBps(m_machine.gpu.generation);
    plan.speeds.net.latency = InterLatency(figures.pairNetUs - figures.pairCpuUs);
    // A network, a host or a user may have figures of their own.
    if (m_machine.gpu.messageCosts.empty() && !m_options.sendLatency &&
        !plan.speeds.net.slowStarts.front().Applies())
    {
        plan.speeds.net.slowStarts.front() = {0,
                                              FromMicroseconds(figures.pairCpuUs),
                                              true,
                                              0,
                                              FromMicroseconds(figures.pairAgainUs)};
    }
    const bool mayUseLl = m_options.protocols.Allow(op, NcclProtocol::Ll);
    const bool isNew = m_tuning.countsPairsByRate;
    if (shape.GetNodes() == 1 && mayUseLl && bytes <= (isNew ? 1 : channels) * LL_THRESHOLD)
    {
        // One kernel has the sends and receives of both protocols, so it starts like Simple's. Half
        // of a block's threads send and half receive (src/device/sendrecv.h).
        const TimePs start = plan.speeds.baseLatency;
        const double block = CopyGBps(NcclProtocol::Ll, op, shape) / 2;
        plan = EvaluateRing(NcclProtocol::Ll, op, shape, bytes);
        plan.speeds.baseLatency = start;
        pairs = {{.channels = channels,
                  .perPair = channels,
                  .step = isNew ? pairs.layout.step : PAIR_LL_STEP},
                 {block * channels * plan.wireInflation, block * plan.wireInflation}};
    }
    plan.own = pairs;
    return plan;
}

double
NcclCostModel::LlMaxGBps(const NcclTuning& tuning, uint32_t nodes) const
{
    const std::size_t row = RowByNodes(nodes);
    if (nodes == 1)
    {
        return tuning.llMax[static_cast<std::size_t>(m_machine.gpu.generation)][row];
    }
    // NCCL keeps the figures of AMD hosts in the row of Ampere, which came with them.
    return m_options.hostsAreAmd
               ? tuning.llMax[static_cast<std::size_t>(GpuGeneration::Ampere)][row]
               : tuning.llMaxCpu[row];
}

double
NcclCostModel::LlStepUs() const
{
    return m_machine.gpu.meshed && !m_rccl
               ? m_options.figures.llStepDirectUs
               : m_options.figures.llStepUs[static_cast<std::size_t>(m_machine.gpu.generation)];
}

double
NcclCostModel::NetOverheadUs() const
{
    return m_options.hostsAreAmd ? NET_OVERHEAD_AMD : NET_OVERHEAD;
}

double
NcclCostModel::EstimatedInterUs(NcclProtocol protocol, double ncclUs) const
{
    // With Simple the receiver's flush is another round trip.
    return ncclUs + m_options.networkKind.toldUs * (protocol == NcclProtocol::Simple ? 2 : 1);
}

TimePs
NcclCostModel::InterLatency(double ncclUs) const
{
    const TimePs step = FromMicroseconds(ncclUs + m_options.networkKind.stepUs);
    return std::max<TimePs>(0, step - m_machine.networkDelay);
}

NcclPlan
NcclCostModel::EvaluateRing(NcclProtocol protocol,
                            CollectiveOp op,
                            const GroupShape& shape,
                            uint64_t bytes) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const uint32_t ranks = shape.GetRanks();
    const uint32_t nodes = shape.GetNodes();
    const bool allReduce = op == CollectiveOp::AllReduce;
    const bool chain = IsChain(op);
    const uint32_t rounds = allReduce ? 2 : 1;
    const double steps = StepsOfRing(op, ranks);
    const uint32_t extra = allReduce && m_tuning.extraInterStep ? 1 : 0;
    const double interSteps = nodes > 1 ? rounds * (nodes - 1.0 + extra) : 0;

    NcclPlan plan = StartPlan(NcclAlgorithm::Ring, protocol);
    const uint32_t all = GetChannels(NcclAlgorithm::Ring, shape);
    plan.channels = ChannelsForSize(all, protocol, ranks, bytes);

    const double busGBps = RingBusGBps(m_tuning, protocol, op, nodes, SearchChannels(shape, true));
    plan.speeds.channelGBps =
        CopyGBps(protocol, op, shape, PassingOf(shape, true)) * plan.wireInflation;
    plan.speeds.blockGBps = NcclBlockGBps(m_machine.gpu.generation);
    // On Ampere alone, published tables show whole passes, and LL128 that waits for each.
    const bool ampere = m_machine.gpu.generation == GpuGeneration::Ampere;
    plan.speeds.passes.areWhole = ampere && protocol != NcclProtocol::Ll;
    plan.speeds.passes.waitsEach = ampere && protocol == NcclProtocol::Ll128;
    const NcclBlock block = NcclBlockOf(protocol);
    plan.speeds.passes.bytes = block.passBytes;
    if (m_tuning.roundsChunks)
    {
        // Rounding a chunk of LL128 to half a pass is how NCCL of that time did it.
        plan.Of<RingPlan>().chunkGrain = protocol == NcclProtocol::Ll ? block.passBytes
                                         : protocol == NcclProtocol::Ll128
                                             ? block.passBytes / 2
                                             : block.threads * sizeof(uint64_t);
    }

    const double net = NetOverheadUs() * (protocol == NcclProtocol::Simple ? 3 : 1);
    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(NcclAlgorithm::Ring);
    const double intra = nodes > 1 ? std::max(latencies.nvlink[p], net) : latencies.nvlink[p];
    // With one rank per node the network's latency is fully exposed.
    const double inter = shape.GetRanksPerNode() == 1
                             ? m_tuning.LatenciesOf(NcclAlgorithm::Tree).net[p]
                             : latencies.net[p];
    if (protocol == NcclProtocol::Ll)
    {
        plan.speeds.intraLatency = FromMicroseconds(LlStepUs());
        plan.speeds.passes.hiddenBytes = static_cast<uint32_t>(m_options.figures.llHiddenBytes);
    }
    else if (nodes > 1)
    {
        plan.speeds.intraLatency = std::max(plan.speeds.intraLatency, FromMicroseconds(net));
    }
    // NCCL counts for a ring the part that steps within nodes do not hide; for a tree, the whole.
    plan.speeds.net.latency = InterLatency(m_hardware.LatenciesOf(NcclAlgorithm::Tree).net[p]);
    double latency = latencies.base[p] + (steps - interSteps) * intra +
                     interSteps * EstimatedInterUs(protocol, inter);
    if (protocol == NcclProtocol::Simple && allReduce && nodes > 1 &&
        bytes / (uint64_t{all} * ranks) >= 64)
    {
        latency *= 1.4; // plateau of the ring
    }
    if (chain)
    {
        // Where all channels have one order, as through an NVSwitch, NCCL counts one step.
        const bool exposed = protocol == NcclProtocol::Simple && nodes > 1;
        latency = latencies.base[p] +
                  (nodes == 1 ? latencies.nvlink[p]
                              : steps * (exposed ? m_tuning.LatenciesOf(NcclAlgorithm::Tree).net[p]
                                                 : latencies.net[p]));
    }
    Predict(plan, latency, busGBps * (steps > 0 ? ranks / steps : 1.0), bytes);
    if (m_rccl)
    {
        PredictAsRccl(plan, op, shape, bytes);
    }
    return plan;
}

double
NcclCostModel::TreeBusGBps(const NcclTuning& tuning,
                           NcclProtocol protocol,
                           const GroupShape& shape) const
{
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const uint32_t nodes = shape.GetNodes();
    const std::size_t row = RowByNodes(nodes);
    const Search search = SearchChannels(shape, false);
    double busGBps =
        std::min(0.92 * search.Bandwidth(nodes), search.channels * tuning.treeMax[generation][row]);
    if (protocol == NcclProtocol::Ll)
    {
        busGBps = std::min(busGBps / 3.8, LlMaxGBps(tuning, nodes));
    }
    else if (protocol == NcclProtocol::Ll128)
    {
        busGBps = std::min(busGBps * (nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                           search.channels * tuning.treeLl128Max[generation][row]);
    }
    if (nodes > 1 && shape.GetRanksPerNode() > 1 &&
        m_machine.gpu.generation != GpuGeneration::Ampere)
    {
        // From Hopper on a node's GPU with the NIC has both children (pattern TREE).
        constexpr double ONE_ENTRY = 0.85;
        busGBps *= ONE_ENTRY;
    }
    return busGBps;
}

NcclPlan
NcclCostModel::EvaluateTree(NcclProtocol protocol, const GroupShape& shape, uint64_t bytes) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const uint32_t nodes = shape.GetNodes();
    NcclPlan plan = StartPlan(NcclAlgorithm::Tree, protocol);
    const uint32_t all = GetChannels(NcclAlgorithm::Tree, shape);
    plan.channels = ChannelsForSize(all, protocol, 1, bytes);

    // Everything goes up and down, over the same links.
    const double algGBps = TreeBusGBps(m_tuning, protocol, shape) / 2;
    // Half of a block's time, or of its threads, goes up and half goes down.
    // LL and LL128 are limited by their blocks, not by the links.
    const double passing = protocol == NcclProtocol::Simple ? PassingOf(shape, false) : 1;
    plan.speeds.channelGBps =
        CopyGBps(protocol, CollectiveOp::AllReduce, shape, passing) / 2 * plan.wireInflation;
    if (protocol == NcclProtocol::Ll)
    {
        plan.speeds.intraLatency = FromMicroseconds(LlStepUs());
        plan.speeds.passes.hiddenBytes = static_cast<uint32_t>(m_options.figures.llHiddenBytes);
    }
    if (protocol == NcclProtocol::Simple || m_machine.gpu.generation != GpuGeneration::Ampere)
    {
        const NcclTreeThreads threads = NcclTreeThreadsOf(protocol);
        const double thread =
            BlockGBps(protocol, shape) * plan.wireInflation / NcclBlockOf(protocol).threads;
        plan.Of<TreePlan>().threads.upGBps = thread * threads.up;
        plan.Of<TreePlan>().threads.downGBps = thread * threads.down;
    }
    plan.speeds.passes.bytes = NcclBlockOf(protocol).passBytes;
    plan.Of<TreePlan>().cutsChunks = m_tuning.treeCutsChunks || m_rccl; // RCCL still does

    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(NcclAlgorithm::Tree);
    const double latency =
        latencies.base[p] + 2 * ((shape.GetRanksPerNode() - 1.0) * latencies.nvlink[p] +
                                 FloorLog2(nodes) * EstimatedInterUs(protocol, latencies.net[p]));
    Predict(plan, latency, algGBps * NcclTreeCorrection(protocol, bytes), bytes);
    if (m_rccl)
    {
        PredictAsRccl(plan, CollectiveOp::AllReduce, shape, bytes);
    }
    return plan;
}

void
NcclCostModel::PredictAsRccl(NcclPlan& plan,
                             CollectiveOp op,
                             const GroupShape& shape,
                             uint64_t bytes) const
{
    const bool isRing = plan.algorithm == NcclAlgorithm::Ring;
    const uint32_t ranks = shape.GetRanks();
    const uint32_t nodes = shape.GetNodes();
    const auto& rccl = RcclTuning::Of(m_machine.gpu.generation, m_options.release, nodes);
    const RcclTuning::Estimate estimate =
        isRing ? rccl.OfRing(plan.protocol, op, ranks, nodes, bytes, NetOverheadUs())
               : rccl.OfTree(plan.protocol, ranks, nodes, bytes);
    // RCCL src/graph/rome_models.cc, parseGraph: the links within a node, whatever its NICs have.
    Predict(plan, estimate.latencyUs, estimate.part * NvlinkGBps(shape), bytes);
}

NcclPlan
NcclCostModel::EvaluatePat(const GroupShape& shape, uint64_t bytes) const
{
    constexpr double LEVELS_AT_ONCE = 3.5;
    constexpr double PER_RANK = 2.8;
    constexpr double EFFICIENCY = 0.75;
    const uint32_t ranks = shape.GetRanks();
    NcclPlan plan = StartPlan(NcclAlgorithm::Pat, NcclProtocol::Simple);
    plan.channels = std::min(GetChannels(NcclAlgorithm::Pat, shape), MAX_PAT_CHANNELS);
    const double algGBps = EFFICIENCY * SearchChannels(shape, true).Bandwidth(shape.GetNodes());
    plan.speeds.channelGBps = algGBps / plan.channels;
    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(NcclAlgorithm::Pat);
    const double level =
        m_tuning.LatenciesOf(NcclAlgorithm::Tree).net[static_cast<std::size_t>(plan.protocol)] /
        LEVELS_AT_ONCE;
    plan.speeds.net.latency = InterLatency(level);
    const double latency = latencies.base[static_cast<std::size_t>(plan.protocol)] +
                           FloorLog2(shape.GetNodes()) * level + PER_RANK * ranks;
    Predict(plan, latency, algGBps, bytes);
    return plan;
}

std::array<CollectiveTask::Block, NCCL_PROTOCOLS>
NcclCostModel::BlocksOf(const GroupShape& shape) const
{
    std::array<CollectiveTask::Block, NCCL_PROTOCOLS> blocks;
    for (const NcclProtocol protocol :
         {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
    {
        const NcclPlan plan = EvaluateRing(protocol, CollectiveOp::AllReduce, shape, 1);
        const double rate =
            m_rccl ? m_options.figures.mscclBlockGBps : NcclBlockGBps(m_machine.gpu.generation);
        blocks[static_cast<std::size_t>(protocol)] = {plan.speeds.baseLatency,
                                                      plan.speeds.intraLatency,
                                                      plan.speeds.net.latency,
                                                      rate};
    }
    return blocks;
}

NcclPlan
NcclCostModel::EvaluateAllPairs(NcclProtocol protocol,
                                const GroupShape& shape,
                                uint64_t bytes) const
{
    NcclPlan plan = StartPlan(NcclAlgorithm::AllPairs, protocol);
    plan.channels = 8;
    plan.speeds.channelGBps = plan.channels * m_options.figures.mscclBlockGBps;
    const double gbps = plan.speeds.channelGBps * shape.GetRanks() / (2 * plan.wireInflation);
    const auto p = static_cast<std::size_t>(protocol);
    const NcclTuning::Latencies& latencies = m_rccl->ring.latencies;
    Predict(plan, latencies.base[p] + 2 * latencies.nvlink[p], gbps, bytes);
    return plan;
}

NcclPlan
NcclCostModel::Evaluate(NcclAlgorithm algorithm,
                        NcclProtocol protocol,
                        CollectiveOp op,
                        const GroupShape& shape,
                        uint64_t bytes) const
{
    return NcclTableRow::Of(algorithm).cost(*this, {protocol, op, shape}, bytes);
}

bool
NcclCostModel::IsPossible(NcclAlgorithm algorithm,
                          NcclProtocol protocol,
                          CollectiveOp op,
                          const GroupShape& shape) const
{
    return NcclTableRow::Of(algorithm).can(*this, {protocol, op, shape});
}

NcclPlan
NcclCostModel::ChooseByRules(CollectiveOp op,
                             const GroupShape& shape,
                             GroupKind kind,
                             uint64_t bytes) const
{
    // SimAI: Hopper's TP groups of 8 and more use NVLS, or NVLS-Tree between nodes, if they are on,
    // for AllReduce, and what NVLS-Tree is within a node for AllGather; everything else is a ring.
    const auto possible = [&](NcclAlgorithm algorithm) {
        return kind == GroupKind::Tp && shape.GetRanks() >= 8 &&
               IsPossible(algorithm, NcclProtocol::Simple, op, shape);
    };
    const bool mayUseNvls = op == CollectiveOp::AllReduce ||
                            (op == CollectiveOp::AllGather && m_options.nvlsTreeEnable);
    const NcclAlgorithm algorithm = possible(NcclAlgorithm::NvlsTree) ? NcclAlgorithm::NvlsTree
                                    : mayUseNvls && possible(NcclAlgorithm::Nvls)
                                        ? NcclAlgorithm::Nvls
                                        : NcclAlgorithm::Ring;
    return Evaluate(algorithm, NcclProtocol::Simple, op, shape, bytes);
}

NcclPlan
NcclCostModel::Choose(CollectiveOp op,
                      const GroupShape& shape,
                      GroupKind kind,
                      uint64_t bytes) const
{
    if (m_options.selectByRules)
    {
        return ChooseByRules(op, shape, kind, bytes);
    }
    auto best = ChooseAllowed(op, shape, bytes);
    if (best && m_rccl && !best->tuner && !m_options.protocols.AreGiven(op) && !IsPlugIn(*best))
    {
        const auto protocol = m_rccl->ProtocolOf(op, shape.GetRanks(), shape.GetNodes(), bytes);
        if (protocol && IsPossible(best->algorithm, *protocol, op, shape))
        {
            return Evaluate(best->algorithm, *protocol, op, shape, bytes);
        }
    }
    if (!best && op != CollectiveOp::AllReduce && !m_options.algorithms.AreOwn(op))
    {
        // NCCL never takes rings away from other collectives than AllReduce, so that programs can
        // run with NCCL_ALGO=Tree (src/graph/tuning.cc).
        best = ChooseAmong(op, shape, bytes, [](NcclAlgorithm algorithm) {
            return algorithm == NcclAlgorithm::Ring;
        });
    }
    if (!best)
    {
        throw ns3::InputError("environment",
                              0,
                              std::string("NCCL_ALGO and NCCL_PROTO leave no way to carry out ") +
                                  ToString(op) + " on " + std::to_string(shape.GetRanks()) +
                                  " ranks",
                              "an algorithm that supports it, such as Ring");
    }
    return *best;
}

std::optional<NcclPlan>
NcclCostModel::ChooseAllowed(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    if (auto tuned = ChooseByTuner(op, shape, bytes))
    {
        return tuned;
    }
    return ChooseAmong(op, shape, bytes, [&](NcclAlgorithm algorithm) {
        return m_options.algorithms.Allow(op, algorithm);
    });
}

std::optional<NcclPlan>
NcclCostModel::ChooseByTuner(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    const TunerTable* tuner = m_options.GetTuner();
    const auto available = [&](NcclAlgorithm algorithm, NcclProtocol protocol) {
        return m_options.algorithms.Allow(op, algorithm) &&
               m_options.protocols.Allow(op, protocol) &&
               (shape.GetNodes() == 1 || MayCross(protocol, op)) &&
               IsPossible(algorithm, protocol, op, shape);
    };
    const TunerRow* row =
        tuner && shape.GetRanks() > 1
            ? tuner->Find({op, bytes, shape.GetNodes(), shape.GetRanks()}, available)
            : nullptr;
    if (!row)
    {
        return std::nullopt;
    }
    NcclPlan plan = Evaluate(row->algorithm, row->protocol, op, shape, bytes);
    plan.tuner = row;
    if (row->channels)
    {
        // NCCL src/enqueue.cc, ncclGetAlgoInfo and scheduleCollTasksToPlan.
        plan.channels = std::min(row->channels, GetChannels(row->algorithm, shape));
    }
    return plan;
}

std::optional<NcclPlan>
NcclCostModel::ChooseAmong(CollectiveOp op,
                           const GroupShape& shape,
                           uint64_t bytes,
                           const std::function<bool(NcclAlgorithm)>& allows) const
{
    std::optional<NcclPlan> best;
    // NCCL's order: the first of equals wins.
    for (std::size_t number = 0; number < NCCL_ALGORITHMS; ++number)
    {
        const auto algorithm = static_cast<NcclAlgorithm>(number);
        for (const NcclProtocol protocol :
             {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
        {
            if (!allows(algorithm) || !m_options.protocols.Allow(op, protocol) ||
                (shape.GetNodes() > 1 && !SuitsNetwork(protocol, op, shape, bytes)) ||
                !IsPossible(algorithm, protocol, op, shape))
            {
                continue;
            }
            const NcclPlan plan = Evaluate(algorithm, protocol, op, shape, bytes);
            if (!best || plan.predicted < best->predicted)
            {
                best = plan;
            }
        }
    }
    return best;
}

// --- How many channels NCCL opens, how fast each is, and which algorithms a group may use.

namespace
{

constexpr double ARM_LINK_GBPS = 6; ///< of a link between Arm CPUs (topo.h, ARM_BW)

bool
IsSwitched(NcclAlgorithm algorithm)
{
    return algorithm == NcclAlgorithm::Nvls || algorithm == NcclAlgorithm::NvlsTree;
}

/// @return the highest speed a channel can have, if @p fits tells which it could
template <typename Fits>
double
HighestSpeed(std::span<const double> speeds, Fits fits, double otherwise)
{
    const auto it = std::find_if(speeds.begin(), speeds.end(), fits);
    return it != speeds.end() ? *it : otherwise;
}

} // namespace

double
NcclCostModel::NvlinkGBps(const GroupShape& shape) const
{
    const double all = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    return m_machine.isMesh
               ? all * (std::max(2U, shape.GetRanksPerNode()) - 1) / (m_machine.gpusPerServer - 1)
               : all;
}

NcclCostModel::Search
NcclCostModel::SearchWithinNode(const GroupShape& shape) const
{
    // As many channels of the GPU's speed as its NVLinks hold.
    const double nvlink = NvlinkGBps(shape);
    Search search;
    search.channels =
        std::max(1U, static_cast<uint32_t>(std::lround(nvlink / m_machine.gpu.channelGBps)));
    search.channels = std::min(search.channels, MostChannels() / 2);
    search.intraGBps = nvlink / search.channels;
    search.interGBps = search.intraGBps;
    return search;
}

bool
NcclCostModel::RingsReturnOverCpus(const GroupShape& shape) const
{
    // NCCL src/graph/search.cc: without NCCL_CROSS_NIC a ring goes back to the NIC it came from,
    // here from a GPU of another CPU. Until 2.27 no GPU behind a Grace CPU may relay (PXN needs
    // PATH_PXB), so each pair of CPUs has a ring as fast as a link between them. Trees get as many
    // channels as rings.
    return !m_options.crossNic && m_machine.gpu.onGrace && m_machine.gpu.meshed &&
           shape.GetRanksPerNode() > 1 && !m_tuning.relaysBehindCpus;
}

double
NcclCostModel::PassingOf(const GroupShape& shape, bool closes) const
{
    // A ring that does not close in a node leaves the NVLinks of one GPU of it free, or over a mesh
    // a link of each.
    const double perNode = shape.GetRanksPerNode();
    const bool leaves = m_machine.isMesh || !(closes || m_machine.gpu.meshed);
    return leaves ? perNode / std::max(1.0, perNode - 1) : 1;
}

uint32_t
NcclCostModel::NicUsers(const GroupShape& shape)
{
    return std::max(1U, shape.GetRanksPerNode() / shape.GetGpusPerNic());
}

double
NcclCostModel::LimitBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const
{
    // NCCL chooses as if no other group were at work.
    double nic = m_machine.nicGBps * NicUsers(shape) / channels;
    if (closes && RingsReturnOverCpus(shape))
    {
        nic = std::min(nic, ARM_LINK_GBPS);
    }
    const double nvlink = PassingOf(shape, closes) * NvlinkGBps(shape) / channels;
    return shape.GetRanksPerNode() == 1 ? nic : std::min(nic, nvlink);
}

double
NcclCostModel::SpeedBetweenNodes(double limit) const
{
    return HighestSpeed(
        m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation),
        [limit](double candidate) { return candidate <= limit; },
        limit);
}

NcclCostModel::Search
NcclCostModel::ChannelsBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const
{
    Search search;
    search.channels = std::clamp(channels, 1U, MostChannels() / 2);
    search.interGBps = SpeedBetweenNodes(LimitBetweenNodes(shape, closes, search.channels));
    return search;
}

NcclCostModel::Search
NcclCostModel::BestChannelsBetweenNodes(const GroupShape& shape, bool closes) const
{
    // One channel per NIC, as fast as it and the NVLinks allow.
    if (RingsReturnOverCpus(shape))
    {
        return ChannelsBetweenNodes(shape, closes, NicUsers(shape) * (shape.GetRanksPerNode() - 1));
    }
    const uint32_t nics = NicUsers(shape) * SeenNics();
    if (m_rccl)
    {
        return ChannelsBetweenNodes(shape, closes, nics * m_rccl->ringsPerNic);
    }
    // NCCL src/graph/search.cc goes on until a NIC's bandwidth is used up: one that is several
    // times as fast as the fastest channel has several, if the NVLinks carry more through these.
    const double fastest = m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation).front();
    const auto perNic = static_cast<uint32_t>(m_machine.nicGBps / SeenNics() / fastest);
    const Search one = ChannelsBetweenNodes(shape, closes, nics);
    const Search several = ChannelsBetweenNodes(shape, closes, nics * std::max(1U, perNic));
    return several.channels * several.interGBps > one.channels * one.interGBps ? several : one;
}

NcclCostModel::Search
NcclCostModel::SearchChannels(const GroupShape& shape, bool closes) const
{
    if (shape.GetNodes() == 1)
    {
        return SearchWithinNode(shape);
    }
    Search search = BestChannelsBetweenNodes(shape, closes);
    double speed = search.interGBps; // a few fast channels are cut in half
    constexpr double FAST = 25;
    constexpr double VERY_FAST = 50;
    const bool enough = m_machine.gpu.generation != GpuGeneration::Ampere && speed < VERY_FAST &&
                        search.channels > 4;
    if (speed >= FAST && !enough && 2 * search.channels <= MostChannels() / 2)
    {
        search.channels *= 2;
        speed /= 2;
    }
    search.interGBps = speed;
    const double nvlink = PassingOf(shape, closes) * NvlinkGBps(shape) / search.channels;
    search.intraGBps =
        closes || shape.GetRanksPerNode() == 1 ? speed : RaiseForTrees(speed, nvlink);
    return search;
}

double
NcclCostModel::RaiseForTrees(double interGBps, double nvlinkGBps) const
{
    // A tree of two nodes carries between them half of what it carries within: the search
    // then tries the next higher speeds within a node, up to one that is twice that of a NIC.
    const auto speeds = m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation);
    if (speeds.empty()) // no search
    {
        return std::max(interGBps, std::min(2 * interGBps, nvlinkGBps));
    }
    double raised = interGBps;
    for (auto next = speeds.rbegin(); next != speeds.rend() && raised < 2 * interGBps; ++next)
    {
        if (*next > raised && *next <= nvlinkGBps)
        {
            raised = *next;
        }
    }
    return raised;
}

NcclCostModel::Search
NcclCostModel::SearchNvls(const GroupShape& shape) const
{
    const double nvlink = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    const bool within = shape.GetNodes() == 1;
    Search search;
    search.channels = std::clamp(shape.GetRanksPerNode(), 1U, NvlsGraph::MAX_HEADS);
    // A GPU's links carry each head's traffic, and the own head's twice.
    const double share = nvlink / (search.channels + 1);
    if (within)
    {
        search.intraGBps = HighestSpeed(
            m_tuning.SpeedsWithinNode(m_machine.gpu.generation),
            [share](double candidate) { return candidate <= share; },
            share);
        search.interGBps = search.intraGBps;
        return search;
    }
    const double nic = m_machine.nicGBps / shape.GetGpusPerNic();
    const double limit = std::min(share, nic);
    search.intraGBps = SpeedBetweenNodes(limit);
    const double inter = std::min(nic, 2 * search.intraGBps);
    search.interGBps = std::max(search.intraGBps, SpeedBetweenNodes(inter));
    return search;
}

NcclCostModel::NvlsTuning
NcclCostModel::TuneNvls(const GroupShape& shape) const
{
    // NCCL src/transport/nvls.cc: ncclNvlsTuning, ncclNvlsTreeSm100Tuning.
    constexpr uint64_t KIB = 1024;
    constexpr double NDR = 48; ///< GB/s of a NIC of 400 Gb/s
    constexpr double XDR = 96;
    const uint32_t nodes = shape.GetNodes();
    const uint32_t perNode = shape.GetFewestRanks();
    const double nic = m_machine.nicGBps;
    const bool nearNic = !m_machine.gpu.onGrace;
    if (m_machine.gpu.generation != GpuGeneration::Blackwell)
    {
        return {16, (nodes >= 4 ? 64 : 128) * KIB};
    }
    NvlsTuning tuning{nodes > 1 ? 32U : 24U, (nodes >= 4 ? 64 : 128) * KIB};
    if (nodes == 1 || !m_tuning.tunesNvlsTree)
    {
        return tuning;
    }
    if (nodes == 2 && nic >= NDR)
    {
        const bool small = perNode >= 16 || (perNode <= 8 && nearNic && nic < XDR);
        tuning.chunk = (perNode <= 4 ? 256 : small ? 64 : 128) * KIB;
    }
    else if (nic >= XDR)
    {
        tuning.channels = perNode <= 8 ? 24 : 32;
        tuning.chunk = (perNode <= 8 ? 256 : perNode < 32 ? 128 : 64) * KIB;
    }
    else if (nic >= NDR)
    {
        tuning.channels = 24;
        tuning.chunk = (nearNic ? 64 : 128) * KIB;
    }
    return tuning;
}

uint32_t
NcclCostModel::CommonChannels(const GroupShape& shape) const
{
    const uint32_t found = 2 * SearchChannels(shape, true).channels;
    // NCCL src/graph/connect.cc from 2.20 to 2.27; NVLS needs three GPUs (ncclNvlsInit).
    const bool asNvls = m_tuning.ringsAsNvls && m_options.nvlsEnable && HasNvls(shape) &&
                        shape.GetFewestRanks() > 2;
    return asNvls ? std::max(found, TuneNvls(shape).channels) : found;
}

uint32_t
NcclCostModel::GetChannels(NcclAlgorithm algorithm, const GroupShape& shape) const
{
    if (IsSwitched(algorithm))
    {
        // NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS are of rings, which the others follow
        // (src/graph/connect.cc); NVLS has channels of its own (src/transport/nvls.cc).
        return std::clamp(TuneNvls(shape).channels, 1U, MostChannels());
    }
    const uint32_t given = shape.GetNodes() == 1 ? m_options.nvChannels : m_options.ringChannels;
    uint32_t channels = std::clamp(given ? given : CommonChannels(shape), 1U, MostChannels());
    if (m_options.maxChannels)
    {
        channels = std::min(channels, m_options.maxChannels);
    }
    return std::max(channels, m_options.minChannels);
}

uint32_t
NcclCostModel::GetPairChannels(const GroupShape& shape) const
{
    // NCCL src/graph/paths.cc, ncclTopoComputeP2pChannels.
    return std::bit_ceil(GetChannels(NcclAlgorithm::Ring, shape));
}

uint32_t
NcclCostModel::GetChannelsPerPair(const GroupShape& shape) const
{
    const uint32_t all = GetPairChannels(shape);
    if (shape.GetNodes() == 1)
    {
        return all; // NVLinks ask for more than there are
    }
    // NCCL src/graph/paths.cc, ncclTopoGetNchannels and ncclTopoComputeP2pChannels: the peers that
    // the network leads to decide for all.
    constexpr uint32_t PER_NIC = 2;
    constexpr double CHANNEL_GBPS = 14; ///< NCCL_P2P_PER_CHANNEL_NET_BW
    constexpr uint32_t BATCH = 8;       ///< NCCL_MAX_DEV_WORK_P2P_PER_BATCH
    uint32_t most = m_options.channelsPerNetPeer;
    if (most == 0 && !m_tuning.countsPairsByRate)
    {
        most = PER_NIC;
        while (most > 1 && most * shape.GetRanks() > 4 * all)
        {
            most /= 2;
        }
        most = std::max(most, SeenNics());
    }
    else if (most == 0)
    {
        const auto byRate = static_cast<uint32_t>(std::ceil(m_machine.nicGBps / CHANNEL_GBPS));
        most = std::bit_ceil(std::max({PER_NIC, SeenNics(), byRate}));
        while (most > 1 && most * DivideUp(shape.GetRanks(), BATCH) > all)
        {
            most /= 2;
        }
    }
    return std::min(all, std::bit_ceil(most));
}

uint32_t
NcclCostModel::ChannelsForSize(uint32_t channels,
                               NcclProtocol protocol,
                               uint32_t ranks,
                               uint64_t bytes) const
{
    const NcclBlock block = NcclBlockOf(protocol);
    constexpr uint32_t RCCL_THREADS = 256;
    const uint32_t threads = m_rccl ? RCCL_THREADS : block.threads;
    const uint64_t threshold =
        uint64_t{block.threshold} * (protocol == NcclProtocol::Ll ? ranks : 1);
    const uint32_t least = std::max(1U, m_options.minChannels);
    while (channels > least && bytes < channels * threads * threshold)
    {
        --channels;
    }
    return channels;
}

bool
NcclCostModel::MayCross(NcclProtocol protocol, CollectiveOp op) const
{
    const NetworkKind& kind = m_options.networkKind;
    if (m_options.protocols.AreGiven(op))
    {
        return true; // the user's word counts
    }
    if (protocol == NcclProtocol::Ll128)
    {
        // Before 2.27 NCCL took a NIC behind a Grace CPU for one behind any other host bridge, over
        // which it does not use LL128 (src/graph/tuning.cc, paths.cc: PATH_PHB, PATH_P2C).
        return kind.allowsLl128 && (!m_machine.gpu.onGrace || m_tuning.relaysBehindCpus);
    }
    return protocol == NcclProtocol::Simple || kind.allowsLl;
}

bool
NcclCostModel::SuitsNetwork(NcclProtocol protocol,
                            CollectiveOp op,
                            const GroupShape& shape,
                            uint64_t bytes) const
{
    if (m_options.protocols.AreGiven(op) || protocol != NcclProtocol::Ll128)
    {
        return MayCross(protocol, op);
    }
    const bool divides = op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
    const uint64_t ofRank = divides ? bytes / shape.GetRanks() : bytes;
    const uint64_t simpleFrom = m_options.networkKind.simpleFrom;
    return MayCross(protocol, op) && (simpleFrom == 0 || ofRank < simpleFrom) &&
           !(divides && SimpleFollowsLl(op, shape, bytes));
}

bool
NcclCostModel::SimpleFollowsLl(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    // AllGather and ReduceScatter on 2 servers of 8 B200, of two clouds with 16 and 32 channels,
    // take Simple's time from 2 MiB on, where NCCL's estimates would have LL128 up to 32 MiB. On
    // AMD and on Intel hosts, it is near 2 MiB that Simple's estimate falls below LL's. No source
    // of NCCL's says why; tables of Hopper show LL128 up to 64 MiB.
    if (m_machine.gpu.generation != GpuGeneration::Blackwell)
    {
        return false;
    }
    const auto predicted = [&](NcclProtocol protocol) {
        return EvaluateRing(protocol, op, shape, bytes).predicted;
    };
    return predicted(NcclProtocol::Simple) < predicted(NcclProtocol::Ll);
}

bool
NcclCostModel::HasNvls(const GroupShape& shape) const
{
    return HasNvls() && std::all_of(shape.nodes.begin(), shape.nodes.end(), [](const auto& node) {
               return node.size() > 1;
           });
}

// --- What NCCL's cost model says of algorithms whose switches add: NVLS, NVLS-Tree and
//     CollNet.

namespace
{

constexpr std::array<double, NcclTuning::GENERATIONS> NVLS_EFFICIENCY = {0, 0.85, 0.74};
constexpr double NVLS_HALVES_220 = 5.0 / 6;

} // namespace

double
NcclCostModel::NvlsAlgGBps(const NcclTuning& tuning,
                           NcclAlgorithm algorithm,
                           CollectiveOp op,
                           const GroupShape& shape) const
{
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const uint32_t nodes = shape.GetNodes();
    const double ranks = shape.GetRanks();
    const double perNode = shape.GetRanksPerNode();
    const bool tree = algorithm == NcclAlgorithm::NvlsTree;
    const bool allReduce = op == CollectiveOp::AllReduce;
    const double ratio = allReduce ? ranks / (2 * (ranks - 1)) : 1;
    const Search search = SearchNvls(shape);
    const double heads = search.channels;
    double algGBps = 0;
    if (tuning.nvlsHalves)
    {
        double perHead = search.intraGBps * NVLS_EFFICIENCY[generation] * (heads - 1) / heads;
        // An AllReduce pipelines two halves; the others leave the own part out.
        perHead *= allReduce ? 2 : (perNode - 1) / perNode;
        if (nodes > 1)
        {
            perHead = std::min(perHead, search.interGBps * (tree && nodes <= 2 ? 2 : 1));
        }
        if (tree)
        {
            perHead = std::min(perHead, tuning.nvlsTreeMax[generation][RowByNodes(nodes)]);
        }
        algGBps = heads * perHead * ratio;
    }
    else
    {
        const double inter = tree && nodes > 2 ? search.interGBps / 2 : search.interGBps;
        algGBps = heads * std::min(search.intraGBps, inter) * NVLS_HALVES_220;
    }
    return algGBps;
}

double
NcclCostModel::UsableNvlinkGBps() const
{
    return std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps) *
           m_options.figures.nvlsLinkEfficiency;
}

double
NcclCostModel::NvlsLinkGBps(const GroupShape& shape) const
{
    // Each GPU's data goes through its links once, and a head's share once more.
    const double heads = std::min(NvlsGraph::MAX_HEADS, shape.GetFewestRanks());
    return UsableNvlinkGBps() / (1 + 1 / heads);
}

NcclPlan
NcclCostModel::EvaluateNvls(NcclAlgorithm algorithm,
                            CollectiveOp op,
                            const GroupShape& shape,
                            uint64_t bytes) const
{
    const auto p = static_cast<std::size_t>(NcclProtocol::Simple);
    const uint32_t nodes = shape.GetNodes();
    const bool tree = algorithm == NcclAlgorithm::NvlsTree;

    NcclPlan plan = StartPlan(algorithm, NcclProtocol::Simple);
    plan.channels = GetChannels(algorithm, shape);
    const double algGBps = NvlsAlgGBps(m_tuning, algorithm, op, shape);
    plan.speeds.channelGBps = NvlsLinkGBps(shape) / plan.channels;
    auto& nvls = plan.Of<NvlsPlan>();
    nvls.chunk = TuneNvls(shape).chunk;
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const MeasuredFigures& figures = m_options.figures;
    nvls.speeds.hunkUs = (tree ? figures.nvlsTreeHunkUs : figures.nvlsHunkUs)[generation];
    nvls.speeds.aloneUs = figures.nvlsAloneUs[generation];

    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(algorithm);
    if (tree)
    {
        // Within a node channelGBps is what all heads' lanes may carry together; two trees share it
        // on the links.
        nvls.speeds.inflation = m_machine.nvlinkGBps / UsableNvlinkGBps();
    }
    // NCCL's latency of a step is that of the whole pipeline with few data: one iteration
    // that scatters, a chunk that is announced, and one that gathers, all of which are simulated.
    const double whole = latencies.base[p] + latencies.nvlink[p];
    plan.speeds.baseLatency = FromMicroseconds(whole + figures.nvlsMoreUs[generation] -
                                               figures.nvlsSyncUs - 2 * nvls.speeds.aloneUs);
    plan.speeds.intraLatency = FromMicroseconds(figures.nvlsSyncUs);
    const double interSteps = nodes == 1 ? 0 : tree ? 2 * FloorLog2(nodes) : 1;
    Predict(plan,
            whole + interSteps * EstimatedInterUs(NcclProtocol::Simple, latencies.net[p]),
            // NCCL corrects NVLS-Tree on Blackwell as it corrects trees, on x86 hosts.
            tree && m_tuning.correctsNvlsTree && !m_machine.gpu.onGrace &&
                    m_machine.gpu.generation == GpuGeneration::Blackwell
                ? algGBps * NcclTreeCorrection(NcclProtocol::Simple, bytes)
                : algGBps,
            bytes);
    return plan;
}

NcclPlan
NcclCostModel::EvaluateCollNet(NcclAlgorithm algorithm,
                               const GroupShape& shape,
                               uint64_t bytes) const
{
    constexpr double ARITY_LATENCY = 0.4; // microseconds per peer
    constexpr double DIRECT_EFFICIENCY = 0.85;
    const auto p = static_cast<std::size_t>(NcclProtocol::Simple);
    const double perNode = shape.GetRanksPerNode();
    const bool direct = algorithm == NcclAlgorithm::CollNetDirect;
    NcclPlan plan = StartPlan(algorithm, NcclProtocol::Simple);
    const uint32_t all = GetChannels(algorithm, shape);
    plan.channels = direct ? all : ChannelsForSize(all, NcclProtocol::Simple, 1, bytes);

    const Search search = SearchChannels(shape, false);
    double busGBps = search.channels * search.intraGBps;
    if (direct)
    {
        const double perNic = perNode / search.channels;
        busGBps /= perNic - (perNic - 1) / 2;
        busGBps *= m_machine.gpu.generation == GpuGeneration::Ampere ? 1 : DIRECT_EFFICIENCY;
    }
    const double algGBps = busGBps / 2;
    plan.speeds.channelGBps = algGBps / all;

    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(algorithm);
    const double within =
        direct
            ? 2 * (std::min(1.0, perNode - 1) * latencies.nvlink[p] + (perNode - 1) * ARITY_LATENCY)
            : 2 * (perNode - 1) * latencies.nvlink[p];
    Predict(plan, latencies.base[p] + within + latencies.net[p], algGBps, bytes);
    return plan;
}

} // namespace AstraSim
