/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-perf-points.h"

#include "collectives/model/collective/divide-up.h"
#include "collectives/model/graph/pair-bytes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_US = 1e6;

} // namespace

CollectivePerfPoints::CollectivePerfPoints(const CollectivePerfOptions& options,
                                           const std::vector<CollectivePerfRow>& rows,
                                           MockNcclGroup& nccl,
                                           const CommGroup& group)
    : m_options(options),
      m_nccl(nccl),
      m_group(group),
      m_ranks(static_cast<uint32_t>(group.ranks.size()))
{
    MakeAll(rows);
}

std::vector<uint64_t>
CollectivePerfPoints::PairsAt(uint64_t bytes, const std::function<uint32_t(uint32_t)>& peer) const
{
    std::vector<uint64_t> pairs(std::size_t{m_ranks} * m_ranks, 0);
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        pairs[std::size_t{rank} * m_ranks + peer(rank)] = bytes;
    }
    return pairs;
}

CollectiveTestPoint
CollectivePerfPoints::PointOf(const CollectivePerfRow& row) const
{
    CollectiveTestPoint point;
    const CollectiveOp op = m_options.test->op;
    if (row.requestBytes == 0)
    {
        return point;
    }
    if (op == CollectiveOp::SendRecv)
    {
        const auto next = [this](uint32_t rank) { return (rank + 1) % m_ranks; };
        point.steps.push_back({CollectiveOp::AllToAllV,
                               row.requestBytes * m_ranks,
                               0,
                               PairsAt(row.requestBytes, next)});
    }
    else if (op == CollectiveOp::None)
    {
        uint64_t bytes = row.requestBytes / m_ranks;
        for (uint32_t mask = 1; mask < m_ranks; mask *= 2, bytes *= 2)
        {
            const auto opposite = [mask](uint32_t rank) { return rank ^ mask; };
            point.steps.push_back(
                {CollectiveOp::AllToAllV, bytes * m_ranks, 0, PairsAt(bytes, opposite)});
        }
    }
    else
    {
        point.steps.push_back({op, row.requestBytes, std::max(row.root, 0)});
    }
    return point;
}

void
CollectivePerfPoints::MakeAll(const std::vector<CollectivePerfRow>& rows)
{
    std::map<std::pair<uint64_t, int>, std::size_t> known;
    for (std::size_t row = 0; row < rows.size(); ++row)
    {
        const std::pair key{rows[row].requestBytes, rows[row].root};
        const auto [found, isNew] = known.emplace(key, m_all.size());
        if (isNew)
        {
            m_all.push_back(InOneLaunch(PointOf(rows[row])));
            m_firstRow.push_back(row);
        }
        m_pointOf.push_back(found->second);
    }
}

CollectiveTestPoint
CollectivePerfPoints::InOneLaunch(const CollectiveTestPoint& point) const
{
    // NCCL chooses for all collectives of a launch together, and deals them out to the channels one
    // after the other (src/enqueue.cc, ncclPrepareTasks, scheduleCollTasksToPlan): those on
    // different channels run side by side, as a large one would, and those on the same follow each
    // other. So do sends and receives to the same peer.
    const uint32_t all = m_options.aggregated;
    if (all == 1 || point.steps.empty())
    {
        return point;
    }
    CollectiveTestPoint result;
    const CollectiveRequest& first = point.steps.front();
    if (IsPairwise(first.op))
    {
        result.steps.assign(all, first);
        return result;
    }
    CollectiveRequest together = first;
    together.bytes *= all;
    const uint32_t rounds = DivideUp(all, m_nccl.Choose(m_group, together).choice.channels);
    for (uint32_t round = 0; round < rounds; ++round)
    {
        together.bytes =
            first.bytes * (uint64_t{round + 1} * all / rounds - uint64_t{round} * all / rounds);
        result.steps.push_back(together);
    }
    return result;
}

double
CollectivePerfPoints::LaunchOverhead(const CollectiveTestPoint& point) const
{
    if (m_options.aggregated == 1 || m_options.run.nccl.sendLatency)
    {
        return 0;
    }
    // The start of the others is subtracted: only the first collective of a launch has it.
    TimePs overhead = 0;
    for (std::size_t i = 1; i < point.steps.size(); ++i)
    {
        overhead += m_nccl.Choose(m_group, point.steps[i]).start;
    }
    return static_cast<double>(overhead) / PS_PER_US;
}

double
CollectivePerfPoints::GetMicroseconds(std::size_t point, const CollectiveTestResult& result) const
{
    const double simulated = TimeOfRanks(result.microseconds) - LaunchOverhead(m_all[point]);
    // Iterations follow each other without a pause, so where launching takes longer it sets the
    // pace.
    return std::max(simulated, LaunchUs(m_all[point]) * m_options.gpusPerThread) /
           m_options.aggregated;
}

double
CollectivePerfPoints::LaunchUs(const CollectiveTestPoint& point) const
{
    if (point.steps.empty() || m_options.launchChannelUs == 0)
    {
        return m_options.launchUs;
    }
    const uint32_t channels = m_nccl.Choose(m_group, point.steps.front()).choice.channels;
    return m_options.launchUs + (channels - 1) * m_options.launchChannelUs;
}

double
CollectivePerfPoints::TimeOfRanks(const std::vector<double>& times) const
{
    switch (m_options.rankTime)
    {
    case RankTime::Rank0:
        return times.front();
    case RankTime::Average:
        return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    case RankTime::Smallest:
        return *std::ranges::min_element(times);
    case RankTime::Largest:
        return *std::ranges::max_element(times);
    }
    return 0;
}

} // namespace AstraSim
