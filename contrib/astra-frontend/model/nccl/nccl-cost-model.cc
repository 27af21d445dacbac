/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-cost-model.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_BYTE_AT_1_GBPS = 1000;
constexpr double NET_OVERHEAD = 1.0;     // microseconds, of Simple three times that
constexpr double NET_OVERHEAD_AMD = 2.0; // on AMD hosts
constexpr std::array<double, NCCL_PROTOCOLS> WIRE_INFLATION = {2.0, 128.0 / 120.0, 1.0};

// What a step of LL takes before its data, in microseconds. NCCL counts 0.6 with the data of a
// pass. Through an NVSwitch that is so on Hopper (nccl-tests' AllReduce of few bytes on 8 H100, one
// process for each); AllReduce and AllGather of few bytes on 8 B200, and on 4 GH200 without an
// NVSwitch, have other steps.
constexpr std::array<double, NcclTuning::GENERATIONS> LL_STEP_SWITCHED = {1.4, 0.6, 1.4};
constexpr double LL_STEP_DIRECT = 0.2; // from GPU to GPU

// While a thread of LL waits for its word, others store theirs: the words of half a block are moved
// within a step's latency (the same tables, 32 KiB against 8 bytes).
constexpr uint32_t LL_HIDDEN_BYTES = 256 * 8;

// Sends and receives between pairs reach that part of the rate NCCL counts for a GPU's NVLinks, and
// of a block's: 664 of 720 GB/s in sendrecv_perf on 8 B200, whose 32 blocks move 22.5 each.
constexpr double PAIR_EFFICIENCY = 0.925;

// Between servers, a message of a pair takes so many microseconds from GPU to GPU, of which the CPU
// thread that serves a GPU's NIC (src/proxy.cc) spends PAIR_CPU_US on nothing else: it posts, tests
// and flushes what is sent and received, one after the other. SendRecv of few bytes on 2 servers of
// 8 B200 takes 14.5 us in all; AllToAll there, with 8 peers across, 23 us more.
constexpr double PAIR_NET_US = 6.1;
constexpr double PAIR_CPU_US = 3.3;

constexpr uint32_t MAX_PAT_CHANNELS = 8; ///< lanes of all distances share an instance's tags

} // namespace

NcclPlan
NcclCostModel::StartPlan(NcclAlgorithm algorithm, NcclProtocol protocol) const
{
    const auto p = static_cast<std::size_t>(protocol);
    // Where releases differ in rings and trees, only their estimates do: the kernels are the same.
    const bool kernelsDiffer = algorithm != NcclAlgorithm::Ring && algorithm != NcclAlgorithm::Tree;
    const NcclTuning::Latencies& latencies =
        (kernelsDiffer ? m_tuning : m_hardware).LatenciesOf(algorithm);
    NcclPlan plan;
    plan.algorithm = algorithm;
    plan.protocol = protocol;
    plan.wireInflation = WIRE_INFLATION[p];
    plan.baseLatency = FromMicroseconds(latencies.base[p]);
    plan.intraLatency = FromMicroseconds(latencies.nvlink[p]);
    plan.interLatency = InterLatency(latencies.net[p]);
    plan.slotTrips = m_options.networkKind->slotTrips;
    plan.slowStarts = GetSlowStarts();
    plan.nics = m_machine.nicsPerGpu;
    return plan;
}

SlowStarts
NcclCostModel::GetSlowStarts() const
{
    static_assert(std::tuple_size_v<SlowStarts> >= GpuProfile::MOST_MESSAGE_COSTS);
    SlowStarts starts{};
    if (!m_machine.gpu.messageCosts.empty())
    {
        // What a host's own CPU does is no part of the latencies that a user's may replace.
        std::ranges::transform(m_machine.gpu.messageCosts, starts.begin(), [](const auto& cost) {
            return SlowStart{cost.above,
                             FromMicroseconds(cost.us),
                             true,
                             cost.GBps > 0 ? PS_PER_BYTE_AT_1_GBPS / cost.GBps : 0};
        });
    }
    else if (!m_options.sendLatency)
    {
        std::ranges::transform(
            m_options.networkKind->slowStarts,
            starts.begin(),
            [](const auto& slow) {
                return SlowStart{slow.above, FromMicroseconds(slow.us), slow.occupies, 0};
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
    const Search search = SearchWithinNode();
    const double all = RingBusGBps(m_hardware, protocol, op, 1, search);
    const uint32_t within = std::min(2 * search.channels, MAX_RING_CHANNELS);
    // LL's limit is of all channels together, whatever their number: it says nothing of a block.
    if (protocol == NcclProtocol::Ll || shape.GetNodes() == 1)
    {
        return all / within;
    }
    const uint32_t channels = std::min(CommonChannels(shape), MAX_RING_CHANNELS);
    return std::min(passing * all / channels, BlockGBps(protocol, shape));
}

NcclPlan
NcclCostModel::EvaluatePairs(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    // NCCL src/enqueue.cc, addP2pToPlan: LL up to 16 KiB (NCCL_P2P_LL_THRESHOLD) for each channel
    // that a pair may have, which is all of them over NVLink.
    constexpr uint64_t LL_THRESHOLD = 16384;
    const uint32_t channels = GetPairChannels(shape);
    NcclPlan plan = EvaluateRing(NcclProtocol::Simple, op, shape, bytes);
    plan.pairChannels = channels;
    plan.pairGBps = PAIR_EFFICIENCY * std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    plan.pairBlockGBps = PAIR_EFFICIENCY * NcclBlockGBps(m_machine.gpu.generation);
    plan.interLatency = InterLatency(PAIR_NET_US - PAIR_CPU_US);
    // A network, a host or a user may have figures of their own.
    if (m_machine.gpu.messageCosts.empty() && !m_options.sendLatency &&
        !plan.slowStarts.front().Applies())
    {
        plan.slowStarts.front() = {0, FromMicroseconds(PAIR_CPU_US), true};
    }
    const bool mayUseLl = m_options.protocols.Allow(op, NcclProtocol::Ll);
    if (shape.GetNodes() == 1 && mayUseLl && bytes <= channels * LL_THRESHOLD)
    {
        // One kernel has the sends and receives of both protocols, so it starts like Simple's. Half
        // of a block's threads send and half receive (src/device/sendrecv.h).
        const TimePs start = plan.baseLatency;
        const double block = CopyGBps(NcclProtocol::Ll, op, shape) / 2;
        plan = EvaluateRing(NcclProtocol::Ll, op, shape, bytes);
        plan.baseLatency = start;
        plan.pairChannels = channels;
        plan.pairGBps = block * channels * plan.wireInflation;
        plan.pairBlockGBps = block * plan.wireInflation;
    }
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
    return m_machine.gpu.meshed
               ? LL_STEP_DIRECT
               : LL_STEP_SWITCHED[static_cast<std::size_t>(m_machine.gpu.generation)];
}

double
NcclCostModel::EstimatedInterUs(NcclProtocol protocol, double ncclUs) const
{
    // With Simple the receiver's flush is another round trip.
    return ncclUs + m_options.networkKind->toldUs * (protocol == NcclProtocol::Simple ? 2 : 1);
}

TimePs
NcclCostModel::InterLatency(double ncclUs) const
{
    const TimePs step = FromMicroseconds(ncclUs + m_options.networkKind->stepUs);
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
    const bool chain = op == CollectiveOp::Broadcast || op == CollectiveOp::Reduce;
    const uint32_t rounds = allReduce ? 2 : 1;
    const double steps = chain ? ranks : rounds * (ranks - 1.0);
    const uint32_t extra = allReduce && m_tuning.extraInterStep ? 1 : 0;
    const double interSteps = nodes > 1 ? rounds * (nodes - 1.0 + extra) : 0;

    NcclPlan plan = StartPlan(NcclAlgorithm::Ring, protocol);
    const uint32_t all = GetChannels(NcclAlgorithm::Ring, shape);
    plan.channels = ChannelsForSize(all, protocol, ranks, bytes);

    const double busGBps = RingBusGBps(m_tuning, protocol, op, nodes, SearchChannels(shape, true));
    plan.channelGBps = CopyGBps(protocol, op, shape) * plan.wireInflation;
    plan.blockGBps = NcclBlockGBps(m_machine.gpu.generation);
    // On Ampere alone, published tables show whole passes, and LL128 that waits for each.
    const bool ampere = m_machine.gpu.generation == GpuGeneration::Ampere;
    plan.wholePasses = ampere && protocol != NcclProtocol::Ll;
    plan.waitsEachPass = ampere && protocol == NcclProtocol::Ll128;
    const NcclBlock block = NcclBlockOf(protocol);
    plan.passBytes = block.passBytes;
    if (m_tuning.roundsChunks)
    {
        // Rounding a chunk of LL128 to half a pass is how NCCL of that time did it.
        plan.chunkGrain = protocol == NcclProtocol::Ll      ? block.passBytes
                          : protocol == NcclProtocol::Ll128 ? block.passBytes / 2
                                                            : block.threads * sizeof(uint64_t);
    }

    const double net = (m_options.hostsAreAmd ? NET_OVERHEAD_AMD : NET_OVERHEAD) *
                       (protocol == NcclProtocol::Simple ? 3 : 1);
    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(NcclAlgorithm::Ring);
    const double intra = nodes > 1 ? std::max(latencies.nvlink[p], net) : latencies.nvlink[p];
    // With one rank per node the network's latency is fully exposed.
    const double inter = shape.GetRanksPerNode() == 1
                             ? m_tuning.LatenciesOf(NcclAlgorithm::Tree).net[p]
                             : latencies.net[p];
    if (protocol == NcclProtocol::Ll)
    {
        plan.intraLatency = FromMicroseconds(LlStepUs());
        plan.hiddenBytes = LL_HIDDEN_BYTES;
    }
    else if (nodes > 1)
    {
        plan.intraLatency = std::max(plan.intraLatency, FromMicroseconds(net));
    }
    // What NCCL counts for a ring is what steps within nodes do not hide; the whole is a tree's.
    plan.interLatency = InterLatency(m_hardware.LatenciesOf(NcclAlgorithm::Tree).net[p]);
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
    plan.channelGBps =
        CopyGBps(protocol, CollectiveOp::AllReduce, shape, passing) / 2 * plan.wireInflation;
    if (protocol == NcclProtocol::Ll)
    {
        plan.intraLatency = FromMicroseconds(LlStepUs());
        plan.hiddenBytes = LL_HIDDEN_BYTES;
    }
    if (protocol == NcclProtocol::Simple || m_machine.gpu.generation != GpuGeneration::Ampere)
    {
        const NcclTreeThreads threads = NcclTreeThreadsOf(protocol);
        const double thread =
            BlockGBps(protocol, shape) * plan.wireInflation / NcclBlockOf(protocol).threads;
        plan.treeUpGBps = thread * threads.up;
        plan.treeDownGBps = thread * threads.down;
    }
    plan.passBytes = NcclBlockOf(protocol).passBytes;
    plan.treeCutsChunks = m_tuning.treeCutsChunks;

    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(NcclAlgorithm::Tree);
    const double latency =
        latencies.base[p] + 2 * ((shape.GetRanksPerNode() - 1.0) * latencies.nvlink[p] +
                                 FloorLog2(nodes) * EstimatedInterUs(protocol, latencies.net[p]));
    Predict(plan, latency, algGBps * NcclTreeCorrection(protocol, bytes), bytes);
    return plan;
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
    plan.channelGBps = algGBps / plan.channels;
    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(NcclAlgorithm::Pat);
    const double level =
        m_tuning.LatenciesOf(NcclAlgorithm::Tree).net[static_cast<std::size_t>(plan.protocol)] /
        LEVELS_AT_ONCE;
    plan.interLatency = InterLatency(level);
    const double latency = latencies.base[static_cast<std::size_t>(plan.protocol)] +
                           FloorLog2(shape.GetNodes()) * level + PER_RANK * ranks;
    Predict(plan, latency, algGBps, bytes);
    return plan;
}

NcclPlan
NcclCostModel::Evaluate(NcclAlgorithm algorithm,
                        NcclProtocol protocol,
                        CollectiveOp op,
                        const GroupShape& shape,
                        uint64_t bytes) const
{
    switch (algorithm)
    {
    case NcclAlgorithm::Tree:
        return EvaluateTree(protocol, shape, bytes);
    case NcclAlgorithm::Pat:
        return EvaluatePat(shape, bytes);
    case NcclAlgorithm::Nvls:
    case NcclAlgorithm::NvlsTree:
        return EvaluateNvls(algorithm, op, shape, bytes);
    case NcclAlgorithm::CollNetDirect:
    case NcclAlgorithm::CollNetChain:
        return EvaluateCollNet(algorithm, shape, bytes);
    default:
        return EvaluateRing(protocol, op, shape, bytes);
    }
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
    const auto allows = [&](NcclAlgorithm algorithm) {
        return m_options.algorithms.Allow(op, algorithm);
    };
    auto best = ChooseAmong(op, shape, bytes, allows);
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
NcclCostModel::ChooseAmong(CollectiveOp op,
                           const GroupShape& shape,
                           uint64_t bytes,
                           const std::function<bool(NcclAlgorithm)>& allows) const
{
    std::optional<NcclPlan> best;
    // NCCL's order: the first of equals wins.
    for (const NcclAlgorithm algorithm : {NcclAlgorithm::Tree,
                                          NcclAlgorithm::Ring,
                                          NcclAlgorithm::CollNetDirect,
                                          NcclAlgorithm::CollNetChain,
                                          NcclAlgorithm::Nvls,
                                          NcclAlgorithm::NvlsTree,
                                          NcclAlgorithm::Pat})
    {
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

} // namespace AstraSim
