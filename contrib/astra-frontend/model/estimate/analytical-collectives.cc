/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-collectives.h"

#include "ns3/clock-range.h"

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
                                             const OverlapRatios& overlap,
                                             IdleNetwork network)
    : m_nccl(nccl),
      m_machine(nccl, std::move(network)),
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
        const CollectiveOffer offer = m_nccl.Choose(group, request);
        chosen.algorithm = offer.choice.algorithm;
        chosen.protocol = offer.choice.protocol;
        chosen.channels = offer.choice.channels;
        time = m_machine.GetTime(group, request, offer);
    }
    chosen.predicted = time;
    if (choice)
    {
        *choice = std::move(chosen);
    }
    return time;
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
