/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-collectives.h"

#include "astra-frontend/model/collective/divide-up.h"
#include "astra-frontend/model/graph/direct-graph.h"
#include "astra-frontend/model/graph/pair-bytes.h"
#include "astra-frontend/model/nccl/nccl-algorithm.h"
#include "astra-frontend/model/timing/chain-times.h"
#include "astra-frontend/model/timing/ring-times.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_BYTE = 1000; ///< at 1 GB/s

TimePs
TransferTime(double bytes, double GBps)
{
    return ns3::RoundToPs(bytes * PS_PER_BYTE / GBps);
}

/**
 * Copies of the blocks of a ring with Simple while no link is at work: NCCL's estimates leave them
 * out. In a server, a block copies the results out of its buffers (OWN_COPY_SPEED). Where all
 * neighbours are in other servers, one of the two slices of a chunk is copied while the other
 * moves, so the first slice's way out of the input and the last one's into the output are left
 * (RingTimes).
 */
TimePs
ExposedCopies(const NcclPlan& plan, CollectiveOp op, const GroupShape& shape, uint64_t bytes)
{
    if (plan.algorithm != NcclAlgorithm::Ring || plan.protocol != NcclProtocol::Simple ||
        shape.GetRanks() < 2)
    {
        return 0;
    }
    const double ofRank = static_cast<double>(bytes) / shape.GetRanks() / plan.channels;
    if (shape.GetNodes() == 1)
    {
        return TransferTime(ofRank / OWN_COPY_SPEED, plan.speeds.channelGBps);
    }
    if (shape.GetRanksPerNode() > 1 || plan.speeds.blockGBps <= 0)
    {
        return 0;
    }
    // The first send and the last take: in between, the other slice is on its way.
    const uint32_t accesses =
        RingTimes::SendAccesses(op, shape.GetRanks(), 0) + RingTimes::TakeAccesses(op);
    return TransferTime(ofRank / 2 * accesses, 3 * plan.speeds.blockGBps);
}

/// Bytes of the busiest direction of a rank's NVLinks and of a NIC in a collective of pairs.
struct BusiestRank
{
    double nearBytes{0};
    double farBytes{0}; ///< of all GPUs at the NIC, others sending as much as the group's ranks
    TimePs first{0};    ///< messages that are the first of a connection over its NIC
    TimePs messages{0}; ///< that a rank sends over its NIC
};

BusiestRank
FindBusiest(const GroupShape& shape, const CollectiveRequest& request, const NcclPlan& plan)
{
    const uint32_t ranks = shape.GetRanks();
    const auto messagesOf = [&](uint64_t bytes) {
        return static_cast<TimePs>(
            DivideUp(bytes, NetworkMessageBytes(plan.Of<PairPlan>().layout, bytes)));
    };
    const PairLayout& pairs = plan.Of<PairPlan>().layout;
    const auto firstOf = [&](uint64_t bytes) {
        return std::min<TimePs>(messagesOf(bytes),
                                ChannelsOfPair(bytes, pairs, ranks, shape.GetNodes()));
    };
    BusiestRank busiest;
    if (request.op == CollectiveOp::AllToAll)
    {
        const double each = static_cast<double>(request.bytes) / ranks;
        for (const auto& node : shape.nodes)
        {
            const auto near = static_cast<double>(node.size() - 1);
            busiest.nearBytes = std::max(busiest.nearBytes, near * each);
            busiest.farBytes =
                std::max(busiest.farBytes, (ranks - 1 - near) * each * shape.GetSharing());
            const auto peers = static_cast<TimePs>(ranks - node.size());
            const uint64_t ofPair = DivideUp(request.bytes, ranks);
            busiest.first = std::max(busiest.first, peers * firstOf(ofPair));
            busiest.messages = std::max(busiest.messages, peers * messagesOf(ofPair));
        }
        return busiest;
    }

    std::vector<double> nearIn(ranks);                // by rank
    std::vector<double> farIn(shape.GetNicNumbers()); // by NIC
    std::vector<double> farOut(shape.GetNicNumbers());
    std::vector<uint32_t> users(shape.GetNicNumbers());
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        ++users[shape.NicOf(rank)];
    }
    for (uint32_t src = 0; src < ranks; ++src)
    {
        double nearOut = 0;
        TimePs messages = 0;
        TimePs first = 0;
        for (uint32_t dst = 0; dst < ranks; ++dst)
        {
            const uint64_t ofPair = src == dst ? 0 : PairBytes(request, ranks, src, dst);
            const auto bytes = static_cast<double>(ofPair);
            const bool far = shape.NodeOf(src) != shape.NodeOf(dst);
            const auto share = [&](uint32_t rank) {
                return bytes * shape.GetSharing() / users[shape.NicOf(rank)];
            };
            (far ? farOut[shape.NicOf(src)] : nearOut) += far ? share(src) : bytes;
            (far ? farIn[shape.NicOf(dst)] : nearIn[dst]) += far ? share(dst) : bytes;
            messages += far && ofPair > 0 ? messagesOf(ofPair) : 0;
            first += far && ofPair > 0 ? firstOf(ofPair) : 0;
        }
        busiest.nearBytes = std::max(busiest.nearBytes, nearOut);
        busiest.messages = std::max(busiest.messages, messages);
        busiest.first = std::max(busiest.first, first);
    }
    busiest.nearBytes = std::max(busiest.nearBytes, *std::ranges::max_element(nearIn));
    busiest.farBytes =
        std::max(*std::ranges::max_element(farIn), *std::ranges::max_element(farOut));
    return busiest;
}

/// @return what a rank's pairs within a node take for so many bytes, as DirectGraph has it
/// @param copies whether each pair's last message is copied out of its slot when all have come
TimePs
PairsTime(const NcclPlan& plan,
          const CollectiveRequest& request,
          const GroupShape& shape,
          double bytes,
          bool copies)
{
    const uint32_t ranks = shape.GetRanks();
    const uint64_t most = MostPairBytes(request, ranks);
    const auto& own = plan.Of<PairPlan>();
    const uint32_t channels = ChannelsOfPair(most, own.layout, ranks, shape.GetNodes());
    const uint32_t pairs = request.op == CollectiveOp::SendRecv ? 1 : shape.GetRanksPerNode() - 1;
    const double last = copies && plan.protocol == NcclProtocol::Simple
                            ? static_cast<double>(std::min(most, own.layout.chunk * channels))
                            : 0;
    return TransferTime(bytes + last * pairs / OWN_COPY_SPEED,
                        std::min(own.speeds.rankGBps, own.speeds.blockGBps * channels * pairs) /
                            plan.wireInflation);
}

/// @return how many channels a rank's NIC sends
std::vector<uint32_t>
CountFarLanes(const ChainGraph& graph, const ChainTimes& gpu)
{
    std::vector<uint32_t> lanes(graph.GetRanks(), 0);
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t channel = 0; channel < graph.GetLaneCount(); ++channel)
        {
            const Lane lane = graph.GetOutbound(rank, channel);
            const bool isFar = gpu.GetTimes(rank, channel, true, lane).rateCapBps == 0;
            lanes[rank] += lane.messages > 0 && isFar ? 1 : 0;
        }
    }
    return lanes;
}

/**
 * The first message passes all connections of a chain; the others follow at the pace of the
 * slowest.
 * @param farLanes see CountFarLanes()
 * @return time of a channel
 */
TimePs
ChainTimeOf(const ChainGraph& graph,
            const ChainTimes& gpu,
            uint32_t channel,
            const std::vector<uint32_t>& farLanes,
            double inflation,
            double nicGBps)
{
    TimePs first = 0;
    TimePs slowest = 0;
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        const Lane lane = graph.GetOutbound(rank, channel);
        if (lane.messages == 0)
        {
            continue;
        }
        const uint64_t bytes = graph.GetBytes(rank, channel, 0);
        const LaneTimes times = gpu.GetTimes(rank, channel, true, lane);
        const CopyTime copy = CopyTimeOf(times, bytes, inflation, 0);
        if (times.rateCapBps > 0)
        {
            const CopyTime next = CopyTimeOf(times, bytes, inflation, 1);
            first = ns3::AddPs(first, copy.latency + copy.duration);
            slowest = std::max(slowest, next.latency + next.duration);
            continue;
        }
        const TimePs wire =
            TransferTime(static_cast<double>(bytes) * inflation, nicGBps / farLanes[rank]);
        // A whole chunk has to come before its first message goes into the network.
        const bool isRoot = graph.GetNeeds(rank, channel, 0, channel) == 0;
        const uint64_t atOnce =
            isRoot ? 1 : std::min(lane.messages, graph.GetMessagesAtOnce(rank, channel));
        first = ns3::AddPs(first, copy.latency + ns3::TimesPs(wire, atOnce));
        slowest = std::max({slowest, wire, copy.busy});
    }
    const auto all = static_cast<double>(graph.GetSplit().GetBytes(channel));
    const auto message = static_cast<double>(graph.GetMessageBytes());
    const double more = std::max(0.0, all / message - 1); // the last message may be short
    return ns3::AddPs(first, ns3::RoundToPs(more * static_cast<double>(slowest)));
}

class WaitingRank;

/// The ranks of one collective that have begun it.
struct Meeting
{
    std::vector<WaitingRank*> ranks;
};

/// A collective that takes a time.
class TimedPlan : public CollectivePlan
{
  public:
    /// @param exposed time that ranks wait @param ranks how many are simulated
    TimedPlan(CollectiveChoice choice, TimePs exposed, uint32_t ranks)
        : CollectivePlan(std::move(choice)),
          m_exposed(exposed),
          m_ranks(ranks)
    {
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override;

    /// A rank has begun; the last one lets all go on after the collective's time.
    void Begin(WaitingRank& rank, int tagBase) const;

    /// @return how many ranks of an instance have begun
    std::size_t CountBegun(int tagBase) const
    {
        const auto it = m_meetings.find(tagBase);
        return it == m_meetings.end() ? m_ranks : it->second.ranks.size();
    }

    uint32_t GetRanks() const
    {
        return m_ranks;
    }

  private:
    TimePs m_exposed;
    uint32_t m_ranks;
    mutable std::unordered_map<int, Meeting> m_meetings; ///< by first tag, which tells instances
};

class WaitingRank : public RankCollective
{
  public:
    WaitingRank(const TimedPlan& plan,
                RankNetwork& network,
                int tagBase,
                std::function<void()> done)
        : m_plan(plan),
          m_network(network),
          m_tagBase(tagBase),
          m_done(std::move(done))
    {
    }

    void Start() override
    {
        m_plan.Begin(*this, m_tagBase);
    }

    void EndAfter(TimePs time)
    {
        m_network.Schedule(
            time,
            [](void* arg) {
                const auto done = std::move(static_cast<WaitingRank*>(arg)->m_done);
                done(); // may delete the rank
            },
            this);
    }

    std::string DescribeWait() const override
    {
        return "waits for the other ranks (" + std::to_string(m_plan.CountBegun(m_tagBase)) +
               " of " + std::to_string(m_plan.GetRanks()) + " have begun)";
    }

  private:
    const TimedPlan& m_plan;
    RankNetwork& m_network;
    int m_tagBase;
    std::function<void()> m_done;
};

std::unique_ptr<RankCollective>
TimedPlan::CreateRank(uint32_t,
                      RankNetwork& network,
                      int tagBase,
                      const MessageInfo&,
                      std::function<void()> done) const
{
    return std::make_unique<WaitingRank>(*this, network, tagBase, std::move(done));
}

void
TimedPlan::Begin(WaitingRank& rank, int tagBase) const
{
    const auto it = m_meetings.try_emplace(tagBase).first;
    it->second.ranks.push_back(&rank);
    if (it->second.ranks.size() < m_ranks)
    {
        return;
    }
    const Meeting meeting = std::move(it->second);
    m_meetings.erase(it);
    for (WaitingRank* waiting : meeting.ranks)
    {
        waiting->EndAfter(m_exposed);
    }
}

} // namespace

AnalyticalCollectives::AnalyticalCollectives(const MockNcclGroup& nccl,
                                             BusbwTable busbw,
                                             const OverlapRatios& overlap)
    : m_nccl(nccl),
      m_busbw(std::move(busbw)),
      m_overlap(overlap)
{
}

TimePs
AnalyticalCollectives::GetTime(const CommGroup& group,
                               const CollectiveRequest& request,
                               CollectiveChoice* choice) const
{
    // A latency the user gives stands for all of NCCL's, as in the simulator.
    const auto sendLatency = m_nccl.GetOptions().sendLatency;
    CollectiveChoice chosen;
    TimePs time = 0;
    if (const auto busbw = m_busbw.Find(group.kind, request.op))
    {
        const double factor =
            BusBandwidthFactor(request.op, static_cast<uint32_t>(group.ranks.size()));
        chosen.algorithm = "busbw";
        chosen.protocol = "-";
        time = sendLatency.value_or(0) +
               TransferTime(factor * static_cast<double>(request.bytes), *busbw);
    }
    else
    {
        const NcclPlan plan = m_nccl.Choose(group, request);
        const bool pairwise = IsPairwise(request.op) && !IsPlugIn(plan);
        chosen.algorithm = pairwise ? "Direct" : ToString(plan.algorithm);
        chosen.protocol = IsPlugIn(plan) ? "-" : ToString(plan.protocol);
        chosen.channels = pairwise ? 1 : plan.channels;
        time = PlannedTime(plan, group, request);
    }
    chosen.predicted = time;
    if (choice)
    {
        *choice = std::move(chosen);
    }
    return time;
}

TimePs
AnalyticalCollectives::PlannedTime(const NcclPlan& plan,
                                   const CommGroup& group,
                                   const CollectiveRequest& request) const
{
    if (IsPlugIn(plan))
    {
        return plan.predicted;
    }
    const GroupShape shape(group, m_nccl.GetMachine());
    if (IsPairwise(request.op))
    {
        return PairwiseTime(plan, shape, request);
    }
    if (IsChain(request.op))
    {
        return ChainTime(plan, shape, request);
    }
    const TimePs expected = m_nccl.GetExpectedTime(group, request, plan);
    if (const auto sendLatency = m_nccl.GetOptions().sendLatency)
    {
        const NcclMethod& method = NcclTableRow::Of(plan.algorithm);
        return expected - plan.latency + *sendLatency * method.messagesInARow(request.op, shape);
    }
    return expected + ExposedCopies(plan, request.op, shape, request.bytes);
}

TimePs
AnalyticalCollectives::PairwiseTime(const NcclPlan& plan,
                                    const GroupShape& shape,
                                    const CollectiveRequest& request) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    const BusiestRank busiest = FindBusiest(shape, request, plan);
    const auto sendLatency = m_nccl.GetOptions().sendLatency;
    TimePs time = 0;
    if (busiest.nearBytes > 0)
    {
        time = sendLatency.value_or(plan.speeds.intraLatency) +
               PairsTime(plan, request, shape, busiest.nearBytes, !sendLatency);
    }
    if (busiest.farBytes > 0)
    {
        // The CPU that serves a rank's NIC sends one message after the other, and first the first
        // of each connection, which take it longer. Either it or the NIC is at work all the time.
        const SlowStart& start = plan.speeds.net.slowStarts.front();
        const bool occupies = start.occupies && start.above == 0;
        const TimePs one = occupies ? start.latency : 0;
        const TimePs again = occupies && start.again >= 0 ? start.again : one;
        const TimePs all = TransferTime(busiest.farBytes, machine.nicGBps);
        const TimePs each = all / std::max<TimePs>(busiest.messages, 1);
        const TimePs further =
            ns3::TimesPs(std::max(again, each), busiest.messages - busiest.first);
        const TimePs work = ns3::AddPs(ns3::TimesPs(one, busiest.first), further);
        const TimePs sent = std::max(ns3::AddPs(one, all), ns3::AddPs(work, each));
        time =
            std::max(time,
                     sendLatency ? *sendLatency + all : ns3::AddPs(plan.speeds.net.latency, sent));
    }
    return (sendLatency ? 0 : plan.speeds.baseLatency) + time;
}

// NCCL's estimate leaves out how long the first message takes along the chain. It serves the choice
// of a protocol, for which that matters little.
TimePs
AnalyticalCollectives::ChainTime(const NcclPlan& plan,
                                 const GroupShape& shape,
                                 const CollectiveRequest& request) const
{
    const NcclOptions& options = m_nccl.GetOptions();
    const auto chain =
        std::make_shared<const ChainGraph>(request, shape, ChainLayoutOf(options, plan));
    const ChainGraph& graph = *chain;
    const ChainTimes gpu(chain, plan.speeds, options.sendLatency);
    const std::vector<uint32_t> farLanes = CountFarLanes(graph, gpu);
    TimePs longest = 0;
    const double nicGBps = m_nccl.GetMachine().nicGBps * shape.GetNicShare();
    for (uint32_t channel = 0; channel < graph.GetLaneCount(); ++channel)
    {
        longest = std::max(longest,
                           ChainTimeOf(graph, gpu, channel, farLanes, plan.wireInflation, nicGBps));
    }
    return options.sendLatency ? longest : ns3::AddPs(plan.speeds.baseLatency, longest);
}

std::shared_ptr<const CollectivePlan>
AnalyticalCollectives::Plan(const CommGroup& group, const CollectiveRequest& request)
{
    Key key(&group, request.op, request.bytes, request.root, request.bytesPerPair);
    const auto known = m_plans.find(key);
    if (known != m_plans.end())
    {
        return known->second;
    }
    CollectiveChoice choice;
    const TimePs time = GetTime(group, request, &choice);
    const double overlap = m_overlap[static_cast<std::size_t>(group.kind)];
    const TimePs exposed = ns3::RoundToPs(static_cast<double>(time) * (1 - overlap));
    choice.hidden = time - exposed;
    const auto plan =
        std::make_shared<TimedPlan>(std::move(choice), exposed, m_sample.CountIn(group));
    m_plans.emplace(std::move(key), plan);
    return plan;
}

} // namespace AstraSim
