/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nvls-times.h"

#include "collectives/model/collective/divide-up.h"
#include "collectives/model/graph/channel-graph.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// A head multicasts while it reduces the next chunk, which is the only limit of multicasts.
constexpr uint32_t REDUCE_SLOTS = 1;
constexpr uint32_t MULTICAST_SLOTS = UINT32_MAX;

} // namespace

NvlsTimes::NvlsTimes(std::shared_ptr<const NvlsGraph> graph,
                     const ChannelSpeeds& speeds,
                     const NvlsSpeeds& nvls,
                     std::optional<TimePs> givenLatency)
    : StepTimes(speeds, givenLatency),
      m_graph(std::move(graph)),
      m_nvls(nvls)
{
}

LaneTimes
NvlsTimes::GetTimes(uint32_t rank, uint32_t index, bool outbound, const Lane& lane) const
{
    switch (lane.kind)
    {
    case LaneKind::Message:
        return BetweenNodes();
    case LaneKind::Copy:
        return CopyTimes(rank, m_graph->TreeOf(index), m_graph->Scatters(index, outbound));
    default:
        return SwitchTimes(rank, lane);
    }
}

LaneTimes
NvlsTimes::BetweenNodes() const
{
    LaneTimes times;
    times.latency = NetLatency();
    times.slots = std::max(1U, NCCL_STEPS / GetSpeeds().net.slotTrips);
    times.slowStarts = GetSpeeds().net.slowStarts;
    return times;
}

LaneTimes
NvlsTimes::SwitchTimes(uint32_t rank, const Lane& lane) const
{
    const bool begins = lane.kind == LaneKind::Reduce || !m_graph->Reduces();
    // All heads' chunks go through a GPU's links at once. The trees share these links, too: while
    // one waits for the network, the other has them to itself.
    const double inflation = m_nvls.inflation;
    LaneTimes times;
    times.wireInflation = static_cast<float>(inflation);
    times.rateCapBps = static_cast<uint64_t>(GetSpeeds().channelGBps * m_graph->GetChannels() *
                                             8e9 * inflation / m_graph->GetHeads());
    times.slots = begins || lane.peer != rank ? REDUCE_SLOTS : MULTICAST_SLOTS;
    if (HasOwnLatency() && begins)
    {
        times.latency =
            GetSpeeds().intraLatency / static_cast<TimePs>(m_graph->GetMessagesPerChunk());
    }
    return times;
}

double
NvlsTimes::CopyGBps(uint32_t rank, uint32_t tree, bool scatters) const
{
    const NvlsGraph::Warps warps =
        NvlsGraph::WarpsOf(m_graph->GetOp(), m_graph->GetRanks(), m_graph->PassesUp(rank, tree));
    const uint64_t chunk = m_graph->GetChunkBytes();
    const uint64_t iterations =
        DivideUp(chunk, (scatters ? warps.scatter : warps.gather) * NvlsGraph::HUNK_BYTES);
    const double us = static_cast<double>(iterations) * m_nvls.hunkUs;
    return us > 0 ? static_cast<double>(chunk) / us / 1e3 : 0;
}

LaneTimes
NvlsTimes::CopyTimes(uint32_t rank, uint32_t tree, bool scatters) const
{
    LaneTimes times;
    times.rateCapBps =
        static_cast<uint64_t>(CopyGBps(rank, tree, scatters) * m_graph->ChannelsOf(tree) * 8e9);
    if (m_nvls.aloneUs > 0)
    {
        // Scatters begin before anything else does, and gathers end after it.
        times.aloneAt = scatters ? AloneAt::First : AloneAt::Last;
        times.aloneSpeed = static_cast<float>(m_nvls.hunkUs / m_nvls.aloneUs);
    }
    times.slots = 1;
    return times;
}

} // namespace AstraSim
