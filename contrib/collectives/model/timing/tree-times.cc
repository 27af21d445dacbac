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
TreeTimes::SpeedUp(uint32_t rank, uint32_t index, const Lane& lane) const
{
    // A block works on a chunk twice, on its way up and on its way down from the root. It works on
    // two chunks at once except at the beginning and at the end, for as many chunks as the way to
    // the root and back is long. The plan's rate is that of two at once.
    const double way = GetShape().GetRanksPerNode() + std::bit_width(GetShape().GetNodes()) - 1.0;
    const auto chunks = static_cast<double>(std::max<uint64_t>(1, lane.messages));
    const double both = std::max(0.0, 1 - way / chunks);
    double speedUp = 2 / (1 + both);
    // With LL a chunk goes on, half a block's words at a time, while the rest of it is on its way.
    const uint64_t ahead = GetSpeeds().passes.bytes / 2;
    const uint64_t chunk =
        std::min(m_graph->GetChunkBytes(), m_graph->GetSplit().GetBytes(lane.channel));
    if (GetProtocol() == NcclProtocol::Ll && m_graph->ForwardsWithinNode(rank, index) &&
        chunk > ahead)
    {
        speedUp *= static_cast<double>(chunk) / static_cast<double>(std::max<uint64_t>(1, ahead));
    }
    return speedUp;
}

LaneTimes
TreeTimes::GetTimes(uint32_t rank, uint32_t index, bool outbound, const Lane& lane) const
{
    LaneTimes times = ChannelTimes::GetTimes(rank, index, outbound, lane);
    times.rateCapBps =
        static_cast<uint64_t>(static_cast<double>(times.rateCapBps) * SpeedUp(rank, index, lane));
    const double threadsGBps = TreeGraph::GoesUp(index) ? m_threads.upGBps : m_threads.downGBps;
    if (threadsGBps > 0 && m_graph->GetParent(rank, lane.channel))
    {
        times.rateCapBps = std::min(times.rateCapBps, static_cast<uint64_t>(threadsGBps * 8e9));
    }
    return times;
}

} // namespace AstraSim
