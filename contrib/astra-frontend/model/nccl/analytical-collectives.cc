/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-collectives.h"

#include "pair-bytes.h"

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

/// @return how many messages of a collective wait for each other, one after another
uint32_t
MessagesInARow(NcclAlgorithm algorithm, CollectiveOp op, const GroupShape& shape)
{
    const uint32_t ranks = shape.GetRanks();
    const uint32_t nodes = shape.GetNodes();
    const auto levels = static_cast<uint32_t>(std::bit_width(nodes) - 1);
    switch (algorithm)
    {
    case NcclAlgorithm::Ring:
        return (op == CollectiveOp::AllReduce ? 2 : 1) * (ranks - 1);
    case NcclAlgorithm::Tree:
        return 2 * (shape.GetRanksPerNode() - 1 + levels);
    case NcclAlgorithm::NvlsTree:
        return 1 + 2 * levels;
    case NcclAlgorithm::Pat:
        return static_cast<uint32_t>(std::bit_width(ranks - 1));
    case NcclAlgorithm::CollNetChain:
        return 2 * (shape.GetRanksPerNode() - 1) + 1;
    case NcclAlgorithm::Nvls:
    case NcclAlgorithm::CollNetDirect:
        break;
    }
    return nodes > 1 ? 2 : 1;
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
        const bool pairwise = IsPairwise(request.op);
        chosen.algorithm = pairwise ? "Direct" : ToString(plan.algorithm);
        chosen.protocol = ToString(plan.protocol);
        chosen.channels = pairwise ? 1 : plan.channels;
        time = pairwise ? PairwiseTime(group, request) : plan.predicted;
        if (sendLatency && !pairwise)
        {
            const GroupShape shape(group, m_nccl.GetMachine());
            time += *sendLatency * MessagesInARow(plan.algorithm, request.op, shape) - plan.latency;
        }
    }
    chosen.predicted = time;
    if (choice)
    {
        *choice = std::move(chosen);
    }
    return time;
}

TimePs
AnalyticalCollectives::PairwiseTime(const CommGroup& group, const CollectiveRequest& request) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    const GroupShape shape(group, machine);
    const uint32_t ranks = shape.GetRanks();
    const auto bytesOf = [&](uint32_t src, uint32_t dst) -> double {
        const auto root = static_cast<uint32_t>(request.root);
        switch (request.op)
        {
        case CollectiveOp::AllToAllV:
            return static_cast<double>(request.bytesPerPair[std::size_t{src} * ranks + dst]);
        case CollectiveOp::Gather:
            return dst == root ? static_cast<double>(request.bytes) / ranks : 0;
        case CollectiveOp::Scatter:
            return src == root ? static_cast<double>(request.bytes) / ranks : 0;
        case CollectiveOp::SendRecv:
            return src == 0 && dst == 1 ? static_cast<double>(request.bytes) : 0;
        default:
            return static_cast<double>(request.bytes) / ranks;
        }
    };
    // The busiest direction of the busiest NVLink and of the busiest NIC.
    std::vector<double> in(ranks, 0);
    std::vector<double> out(ranks, 0);
    std::vector<double> inFar(ranks, 0);
    std::vector<double> outFar(ranks, 0);
    std::vector<TimePs> peersFar(ranks, 0); // that a rank sends to
    if (request.op == CollectiveOp::AllToAll)
    {
        const double each = bytesOf(0, 1);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            const auto near = static_cast<double>(shape.nodes[shape.NodeOf(rank)].size() - 1);
            in[rank] = out[rank] = near * each;
            inFar[rank] = outFar[rank] = (ranks - 1 - near) * each;
            peersFar[rank] = ranks - shape.nodes[shape.NodeOf(rank)].size();
        }
    }
    else
    {
        for (uint32_t src = 0; src < ranks; ++src)
        {
            for (uint32_t dst = 0; dst < ranks; ++dst)
            {
                const bool far = shape.NodeOf(src) != shape.NodeOf(dst);
                const double bytes = src == dst ? 0 : bytesOf(src, dst);
                (far ? outFar : out)[src] += bytes;
                (far ? inFar : in)[dst] += bytes;
                peersFar[src] += far && bytes > 0;
            }
        }
    }
    const double near = std::max(*std::max_element(in.begin(), in.end()),
                                 *std::max_element(out.begin(), out.end()));
    const double far = std::max(*std::max_element(inFar.begin(), inFar.end()),
                                *std::max_element(outFar.begin(), outFar.end()));
    const NcclPlan plan = m_nccl.Choose(group, request);
    const auto sendLatency = m_nccl.GetOptions().sendLatency;
    TimePs time = 0;
    if (near > 0)
    {
        time = sendLatency.value_or(plan.intraLatency) +
               TransferTime(near, std::min(machine.nvlinkGBps, machine.gpu.nvlinkGBps));
    }
    if (far > 0)
    {
        // The CPU that serves a rank's NIC sends to one peer after the other.
        const SlowStart& first = plan.slowStarts.front();
        const TimePs all =
            first.occupies && first.above == 0
                ? ns3::TimesPs(first.latency, *std::max_element(peersFar.begin(), peersFar.end()))
                : 0;
        time = std::max(time,
                        sendLatency.value_or(ns3::AddPs(plan.interLatency, all)) +
                            TransferTime(far, machine.nicGBps));
    }
    return (sendLatency ? 0 : plan.baseLatency) + time;
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
