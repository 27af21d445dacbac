/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pair-times.h"

#include <algorithm>

namespace AstraSim
{

DirectTimes::DirectTimes(std::shared_ptr<const DirectGraph> graph,
                         const ChannelSpeeds& speeds,
                         const PairSpeeds& pairs,
                         std::optional<TimePs> givenLatency)
    : StepTimes(speeds, givenLatency),
      m_graph(std::move(graph)),
      m_pairs(pairs),
      m_peersOut(m_graph->GetRanks()),
      m_peersIn(m_graph->GetRanks())
{
    CountPeers();
}

bool
DirectTimes::AreInOneNode(uint32_t rank, uint32_t peer) const
{
    return m_graph->GetShape().NodeOf(rank) == m_graph->GetShape().NodeOf(peer);
}

void
DirectTimes::CountPeers()
{
    for (const auto& node : m_graph->GetShape().nodes)
    {
        for (const uint32_t from : node)
        {
            for (const uint32_t to : node)
            {
                const bool sends = from != to && m_graph->PairBytesOf(from, to) > 0;
                m_peersOut[from] += sends;
                m_peersIn[to] += sends;
            }
        }
    }
}

double
DirectTimes::PsPerByte(uint32_t from, uint32_t to) const
{
    const uint64_t chunk =
        AreInOneNode(from, to) ? m_graph->GetLayout().chunk : m_graph->MessageBytesOf(from, to);
    const double writing = 1000 * m_graph->PairsOfBlock(from, to) / m_pairs.sharedBlockGBps;
    const double waiting = static_cast<double>(m_pairs.chunkLatency) / static_cast<double>(chunk);
    return (writing + waiting) / m_graph->ChannelsOf(from, to);
}

LaneTimes
DirectTimes::GetTimes(uint32_t rank, uint32_t, bool outbound, const Lane& lane) const
{
    LaneTimes times;
    const uint32_t from = outbound ? rank : lane.peer;
    const uint32_t to = outbound ? lane.peer : rank;
    const bool sharesBlocks = HasOwnLatency() && m_pairs.sharedBlockGBps > 0 &&
                              m_graph->GetLayout().channels > 0 &&
                              m_graph->PairBytesOf(from, to) > 0;
    if (!AreInOneNode(rank, lane.peer))
    {
        times.latency = NetLatency();
        times.slowStarts = GetSpeeds().net.slowStarts;
        times.connections = m_graph->ChannelsOf(from, to);
        times.psPerAccess = sharesBlocks && outbound ? PsPerByte(from, to) : 0;
        return times;
    }
    times.latency = NodeLatency();
    if (!HasOwnLatency())
    {
        return times;
    }
    if (!outbound)
    {
        times.latency = 0; // the copy out of a slot follows the arrival at once
    }
    const double share = m_pairs.rankGBps / std::max(m_peersOut[from], m_peersIn[to]);
    double blocks =
        m_graph->GetLayout().channels ? m_pairs.blockGBps * m_graph->ChannelsOf(from, to) : share;
    if (sharesBlocks)
    {
        blocks = std::min(blocks, 1000 / PsPerByte(from, to));
    }
    times.rateCapBps = static_cast<uint64_t>(std::min(share, blocks) * 8e9);
    return times;
}

LaneTimes
PxnTimes::GetTimes(uint32_t, uint32_t, bool, const Lane& lane) const
{
    LaneTimes times;
    times.latency = lane.type == ConnType::Net ? NetLatency() : NodeLatency();
    return times;
}

} // namespace AstraSim
