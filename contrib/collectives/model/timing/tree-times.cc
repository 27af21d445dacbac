/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tree-times.h"

#include <algorithm>
#include <bit>

namespace AstraSim
{

TreeTimes::TreeTimes(std::shared_ptr<const TreeGraph> graph,
                     const ChannelSpeeds& speeds,
                     const TreeThreads& threads,
                     std::optional<TimePs> givenLatency)
    : ChannelTimes(graph, speeds, givenLatency),
      m_graph(std::move(graph)),
      m_threads(threads)
{
}

double
TreeTimes::SpeedUp(const Lane& lane) const
{
    // A block works on a chunk twice, on its way up and on its way down from the root. It works on
    // two chunks at once except at the beginning and at the end, for as many chunks as the way to
    // the root and back is long. The plan's rate is that of two at once.
    const double way = GetShape().GetRanksPerNode() + std::bit_width(GetShape().GetNodes()) - 1.0;
    const auto chunks = static_cast<double>(std::max<uint64_t>(1, lane.messages));
    const double both = std::max(0.0, 1 - way / chunks);
    return 2 / (1 + both);
}

LaneTimes
TreeTimes::GetTimes(uint32_t rank, uint32_t index, bool outbound, const Lane& lane) const
{
    LaneTimes times = ChannelTimes::GetTimes(rank, index, outbound, lane);
    double GBps = GetSpeeds().channelGBps * SpeedUp(lane);
    const double threadsGBps = TreeGraph::GoesUp(index) ? m_threads.upGBps : m_threads.downGBps;
    if (threadsGBps > 0 && m_graph->GetParent(rank, lane.channel))
    {
        GBps = std::min(GBps, threadsGBps);
    }
    const bool passesOn = m_graph->ForwardsWithinNode(rank, index);
    if (Crosses(rank, lane))
    {
        if (outbound && GetProtocol() != NcclProtocol::Simple && !passesOn)
        {
            WriteWholeSlots(times, GBps);
        }
        return times;
    }
    times.rateCapBps = static_cast<uint64_t>(GBps * 8e9);
    if (GetProtocol() == NcclProtocol::Ll && passesOn)
    {
        PassOnWords(times,
                    std::min(m_graph->GetChunkBytes(), m_graph->GetSplit().GetBytes(lane.channel)));
    }
    return times;
}

} // namespace AstraSim
