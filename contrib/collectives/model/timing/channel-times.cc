/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "channel-times.h"

#include "collectives/model/graph/nccl-protocol.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

ChannelTimes::ChannelTimes(std::shared_ptr<const ChannelGraph> graph,
                           const ChannelSpeeds& speeds,
                           std::optional<TimePs> givenLatency)
    : StepTimes(speeds, givenLatency),
      m_graph(std::move(graph))
{
}

LaneTimes
ChannelTimes::GetTimes(uint32_t rank, uint32_t, bool, const Lane& lane) const
{
    LaneTimes times;
    const bool inter = Crosses(rank, lane);
    times.latency = inter ? NetLatency() : NodeLatency();
    // Across a network there are two buffers of NCCL_STEPS, the sender's and the receiver's
    // (src/transport/net.cc): a step's latency is spent in one or in the other.
    const ChannelSpeeds& speeds = GetSpeeds();
    const uint32_t slots = m_graph->GetSlots();
    times.slots = !inter                     ? 1
                  : speeds.net.slotTrips > 1 ? std::max(1U, slots / speeds.net.slotTrips)
                                             : 2 * slots;
    if (inter)
    {
        times.slowStarts = speeds.net.slowStarts;
        return times;
    }
    times.rateCapBps = static_cast<uint64_t>(speeds.channelGBps * 8e9);
    if (HasOwnLatency())
    {
        times.passBytes = speeds.passes.bytes;
        times.hiddenBytes = speeds.passes.hiddenBytes;
        times.waitsEachPass = speeds.passes.waitsEach;
        times.wholePasses = speeds.passes.areWhole;
    }
    return times;
}

void
ChannelTimes::WriteWholeSlots(LaneTimes& times, double wireGBps) const
{
    if (HasOwnLatency() && wireGBps > 0)
    {
        times.psPerAccess = 1000 * WireInflation(GetProtocol()) / wireGBps;
        times.hiddenBytes = GetSpeeds().passes.hiddenBytes;
    }
}

void
ChannelTimes::PassOnWords(LaneTimes& times, uint64_t bytes) const
{
    if (!HasOwnLatency() || times.rateCapBps == 0)
    {
        return;
    }
    const double wireBits =
        8 * static_cast<double>(bytes) * WireInflation(m_graph->GetLayout().protocol);
    const double latencyPs = static_cast<double>(std::max<TimePs>(1, times.latency));
    const auto withinLatency = static_cast<uint64_t>(wireBits / latencyPs * ns3::PS_PER_SECOND);
    times.rateCapBps = std::max(times.rateCapBps, withinLatency);
    times.hiddenBytes = UINT32_MAX;
}

} // namespace AstraSim
