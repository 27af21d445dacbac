/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-cost-model.h"

#include "collectives/model/graph/direct-graph.h"
#include "nccl-algorithm.h"
#include "nccl-pcie.h"

#include <algorithm>
#include <tuple>

namespace AstraSim
{

// An algorithm's cost function makes a plan (Evaluate) from figures of this class: StartPlan()
// gives latencies, RingBusGBps() and the like bandwidths; Predict() computes NCCL's expected
// time from both. The chooser compares expected times, and the simulated GPUs use the plan's
// speeds. The two differ, so there are two sets of figures: m_tuning has the estimates of the
// chosen release, m_hardware those of the last release, taken for the kernels of rings and trees
// themselves. RingBusGBps() limits the bandwidth of the channels that NcclSearch finds by NCCL's
// figures for LL and LL128; CopyGBps() is one block's part of it. A step between nodes has
// NCCL's latency and the network kind's, less the delay of the links, which the network
// simulates (InterLatency). Sends between pairs have no expected time: EvaluatePairs() follows
// NCCL's rules for their channels and protocol, and uses measured figures.

namespace
{

constexpr double PS_PER_BYTE_AT_1_GBPS = 1000;
constexpr double NET_OVERHEAD = 1.0;     // microseconds, of Simple three times that
constexpr double NET_OVERHEAD_AMD = 2.0; // on AMD hosts

/// @return one-way trips for which a message keeps its slot. Plug-ins tell NCCL a latency that
/// makes its estimates of rings right, which is longer than a step of few bytes: slots are held so
/// long. With Simple a slot is large, and the links set the pace.
uint32_t
TripsOfSlot(const NetworkKind& kind, NcclProtocol protocol, double ncclUs)
{
    const double told = protocol == NcclProtocol::Simple ? 0 : kind.toldUs;
    return std::max(kind.slotTrips, static_cast<uint32_t>(told / (ncclUs + kind.stepUs)));
}

} // namespace

bool
NcclCostModel::HasLl128(const GroupShape& shape) const
{
    // NCCL src/graph/tuning.cc: no link of a channel in a node is slower than NVLink (PATH_NVB).
    return m_traits.hasLl128 && (shape.GetRanksPerNode() == 1 || !m_search.IsOverPcie());
}

NcclTuning::Latencies
NcclCostModel::LatenciesIn(const NcclAlgorithm& algorithm, NcclRelease release) const
{
    NcclTuning::Latencies latencies = algorithm.LatenciesIn(release);
    if (m_search.IsOverPcie())
    {
        latencies.nvlink = latencies.pcie;
    }
    return latencies;
}

NcclTuning::Latencies
NcclCostModel::KernelLatencies(const NcclAlgorithm& algorithm) const
{
    // Releases differ in their estimates of rings and trees only: the kernels are the same.
    const bool isCommon = algorithm == NcclAlgorithm::Tree || algorithm == NcclAlgorithm::Ring;
    return LatenciesIn(algorithm, (isCommon ? m_hardware : m_tuning).release);
}

NcclPlan
NcclCostModel::StartPlan(const NcclAlgorithm& algorithm, NcclProtocol protocol) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const NcclTuning::Latencies latencies = KernelLatencies(algorithm);
    NcclPlan plan;
    plan.algorithm = &algorithm;
    plan.protocol = protocol;
    plan.speeds.baseLatency = FromMicroseconds(latencies.base[p]);
    plan.speeds.intraLatency = FromMicroseconds(latencies.nvlink[p]);
    plan.speeds.net.latency = InterLatency(latencies.net[p]);
    plan.speeds.net.slotTrips =
        TripsOfSlot(m_options.networkKind,
                    protocol,
                    NcclAlgorithm::Tree.LatenciesIn(m_hardware.release).net[p]);
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
        std::ranges::transform(m_options.networkKind.slowStarts,
                               starts.begin(),
                               [](const auto& slow) {
                                   return SlowStart{
                                       slow.above,
                                       FromMicroseconds(slow.us),
                                       slow.occupies,
                                       slow.GBps > 0 ? PS_PER_BYTE_AT_1_GBPS / slow.GBps : 0,
                                       -1};
                               });
    }
    return starts;
}

double
NcclCostModel::RingBusGBps(const NcclTuning& tuning,
                           NcclProtocol protocol,
                           CollectiveOp op,
                           uint32_t nodes,
                           const NcclSearch::Channels& search) const
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
    if (shape.GetRanksPerNode() > 1 && m_search.IsOverPcie())
    {
        // Half of LL's words are flags.
        const double gpu =
            NcclPcie(m_machine, m_options).GpuGBps(shape, m_search.NvlinkGBps(shape));
        const double wire =
            std::min(passing * gpu / m_search.GetChannels(NcclAlgorithm::Ring, shape),
                     m_options.figures.pcieBlockGBps);
        return protocol == NcclProtocol::Ll ? wire / 2 : wire;
    }
    const NcclSearch::Channels search = m_search.SearchWithinNode(shape);
    const double all = RingBusGBps(m_hardware, protocol, op, 1, search);
    const uint32_t within = std::min(2 * search.channels, m_traits.mostChannels);
    if (protocol == NcclProtocol::Ll && m_traits.llBlockGBps > 0)
    {
        return m_traits.llBlockGBps;
    }
    if (protocol == NcclProtocol::Ll || shape.GetNodes() == 1)
    {
        return all / within;
    }
    const uint32_t channels = m_search.GetChannels(NcclAlgorithm::Ring, shape);
    return std::min(passing * all / channels, BlockGBps(protocol, shape));
}

NcclPlan
NcclCostModel::EvaluatePairs(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    // NCCL src/enqueue.cc, addP2pToPlan: LL up to 16 KiB (NCCL_P2P_LL_THRESHOLD) for each channel
    // that a pair may have, which is all of them over NVLink; from 2.29 on for each that it has
    // with Simple, of which one is for up to 64 KiB.
    constexpr uint64_t LL_THRESHOLD = 16384;
    const uint32_t channels = m_search.GetPairChannels(shape);
    const uint32_t perPair = m_search.GetChannelsPerPair(shape);
    const MeasuredFigures& figures = m_options.figures;
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    NcclPlan plan = Evaluate(NcclAlgorithm::Ring, NcclProtocol::Simple, op, shape, bytes);
    PairPlan pairs{{.channels = channels, .perPair = perPair}, {}};
    // NCCL src/init.cc, computeBuffSizes: no more than a step of other collectives.
    pairs.layout.chunk = std::min(
        m_options.GetSimpleStep(),
        shape.GetNodes() > 1    ? m_options.GetPairNetChunk(m_traits.PairNetChunk(shape.GetRanks()))
        : m_search.IsOverPcie() ? m_options.pairPcieChunk
                                : m_options.pairNvlinkChunk);
    pairs.speeds.rankGBps = figures.pairEfficiency[generation] * m_search.NvlinkGBps(shape);
    pairs.layout.step = pairs.layout.chunk;
    pairs.speeds.blockGBps =
        figures.pairBlockEfficiency[generation] * NcclBlockGBps(m_machine.gpu.generation);
    if (shape.GetRanksPerNode() > 1 && m_search.IsOverPcie())
    {
        const NcclPcie pcie(m_machine, m_options);
        pairs.speeds.rankGBps =
            std::min(pairs.speeds.rankGBps, pcie.GpuGBps(shape, m_search.NvlinkGBps(shape)));
        pairs.speeds.blockGBps = std::min(pairs.speeds.blockGBps, figures.pcieBlockGBps);
    }
    if (shape.GetNodes() > 1 && !IsAmd(m_machine.gpu.generation))
    {
        pairs.speeds.sharedBlockGBps = NcclBlockGBps(m_machine.gpu.generation);
        pairs.speeds.chunkLatency = FromMicroseconds(figures.pairChunkUs[generation]);
    }
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
    if (shape.GetNodes() == 1 && mayUseLl && bytes <= (isNew ? 1 : perPair) * LL_THRESHOLD)
    {
        // One kernel has the sends and receives of both protocols, so it starts like Simple's. Half
        // of a block's threads send and half receive (src/device/sendrecv.h).
        const TimePs start = plan.speeds.baseLatency;
        const double block = CopyGBps(NcclProtocol::Ll, op, shape) / 2;
        plan = Evaluate(NcclAlgorithm::Ring, NcclProtocol::Ll, op, shape, bytes);
        plan.speeds.baseLatency = start;
        pairs = {{.channels = channels,
                  .perPair = perPair,
                  .step = isNew ? pairs.layout.step : PAIR_LL_STEP},
                 {block * channels * plan.GetWireInflation(), block * plan.GetWireInflation()}};
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
    // In NCCL's table (llMaxBws) the row of Ampere has the figures of AMD hosts for several nodes.
    return m_options.hostsAreAmd
               ? tuning.llMax[static_cast<std::size_t>(GpuGeneration::Ampere)][row]
               : tuning.llMaxCpu[row];
}

double
NcclCostModel::LlStepUs() const
{
    if (m_search.IsOverPcie())
    {
        return KernelLatencies(NcclAlgorithm::Ring).nvlink[0];
    }
    return m_machine.gpu.meshed && !IsAmd(m_machine.gpu.generation)
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

std::array<CollectiveTask::Block, NCCL_PROTOCOLS>
NcclCostModel::BlocksOf(const GroupShape& shape) const
{
    std::array<CollectiveTask::Block, NCCL_PROTOCOLS> blocks;
    for (const NcclProtocol protocol :
         {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
    {
        const NcclPlan plan =
            Evaluate(NcclAlgorithm::Ring, protocol, CollectiveOp::AllReduce, shape, 1);
        const double rate = m_traits.mscclBlocks ? m_options.figures.mscclBlockGBps
                                                 : NcclBlockGBps(m_machine.gpu.generation);
        blocks[static_cast<std::size_t>(protocol)] = {plan.speeds.baseLatency,
                                                      plan.speeds.intraLatency,
                                                      plan.speeds.net.latency,
                                                      rate};
    }
    return blocks;
}

NcclPlan
NcclCostModel::Evaluate(const NcclAlgorithm& algorithm,
                        NcclProtocol protocol,
                        CollectiveOp op,
                        const GroupShape& shape,
                        uint64_t bytes) const
{
    return algorithm.GetMethod().cost(*this, {protocol, op, shape}, bytes);
}

bool
NcclCostModel::IsPossible(const NcclAlgorithm& algorithm,
                          NcclProtocol protocol,
                          CollectiveOp op,
                          const GroupShape& shape) const
{
    return algorithm.GetMethod().can(*this, {protocol, op, shape});
}

std::optional<NcclProtocol>
NcclCostModel::FixedProtocol(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    return std::nullopt;
}

void
Predict(NcclPlan& plan, double latencyUs, double algGBps, uint64_t bytes)
{
    plan.latency = FromMicroseconds(latencyUs);
    plan.predicted = FromMicroseconds(latencyUs + static_cast<double>(bytes) / (algGBps * 1e3));
}

} // namespace AstraSim
