/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "channel-times.h"

#include <algorithm>

namespace AstraSim
{

ChannelTimes::ChannelTimes(std::shared_ptr<const ChannelGraph> graph,
                           const NcclPlan& plan,
                           TimePs stepLatency)
    : m_graph(std::move(graph)),
      m_plan(plan),
      m_stepLatency(stepLatency)
{
}

LaneTimes
ChannelTimes::GetTimes(uint32_t rank, uint32_t, bool, const Lane& lane) const
{
    LaneTimes times;
    const bool inter = GetShape().NodeOf(rank) != GetShape().NodeOf(lane.peer);
    times.latency = m_stepLatency >= 0 ? m_stepLatency
                    : inter            ? m_plan.interLatency
                                       : m_plan.intraLatency;
    // Across a network there are two buffers of NCCL_STEPS, the sender's and the receiver's
    // (src/transport/net.cc): a step's latency is spent in one or in the other.
    const uint32_t slots = m_graph->GetSlots();
    times.slots = !inter                 ? 1
                  : m_plan.slotTrips > 1 ? std::max(1U, slots / m_plan.slotTrips)
                                         : 2 * slots;
    if (inter)
    {
        times.slowStarts = m_plan.slowStarts;
        return times;
    }
    times.rateCapBps = static_cast<uint64_t>(m_plan.channelGBps * 8e9);
    if (HasOwnLatency())
    {
        times.passBytes = m_plan.passBytes;
        times.hiddenBytes = m_plan.hiddenBytes;
        times.waitsEachPass = m_plan.waitsEachPass;
        times.wholePasses = m_plan.wholePasses;
    }
    return times;
}

} // namespace AstraSim
