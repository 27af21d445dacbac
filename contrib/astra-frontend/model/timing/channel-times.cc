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
    : PlanTimes(plan, stepLatency),
      m_graph(std::move(graph))
{
}

LaneTimes
ChannelTimes::GetTimes(uint32_t rank, uint32_t, bool, const Lane& lane) const
{
    LaneTimes times;
    const bool inter = GetShape().NodeOf(rank) != GetShape().NodeOf(lane.peer);
    times.latency = inter ? NetLatency() : NodeLatency();
    // Across a network there are two buffers of NCCL_STEPS, the sender's and the receiver's
    // (src/transport/net.cc): a step's latency is spent in one or in the other.
    const NcclPlan& plan = GetPlan();
    const uint32_t slots = m_graph->GetSlots();
    times.slots = !inter               ? 1
                  : plan.slotTrips > 1 ? std::max(1U, slots / plan.slotTrips)
                                       : 2 * slots;
    if (inter)
    {
        times.slowStarts = plan.slowStarts;
        return times;
    }
    times.rateCapBps = static_cast<uint64_t>(plan.channelGBps * 8e9);
    if (HasOwnLatency())
    {
        times.passBytes = plan.passBytes;
        times.hiddenBytes = plan.hiddenBytes;
        times.waitsEachPass = plan.waitsEachPass;
        times.wholePasses = plan.wholePasses;
    }
    return times;
}

} // namespace AstraSim
