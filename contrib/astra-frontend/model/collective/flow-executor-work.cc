/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FlowExecutor: how long blocks of a GPU and its CPU are at work for a message.
 */
#include "flow-executor.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

/// How much faster a GPU copies within its memory than it sends to another's.
constexpr TimePs OWN_COPY_SPEED = 2;

} // namespace

TimePs
FlowExecutor::OccupyCpu(TimePs busy)
{
    const TimePs now = m_network.Now();
    const TimePs wait = std::max<TimePs>(0, m_cpuFree - now);
    m_cpuFree = ns3::AddPs(now, ns3::AddPs(wait, busy));
    return wait;
}

TimePs
FlowExecutor::OccupyBlock(Outbound& outbound, uint64_t bytes, uint32_t accesses)
{
    const TimePs now = m_network.Now();
    const TimePs work =
        ns3::TruncateToPs(outbound.lane.psPerAccess * static_cast<double>(bytes) * accesses);
    outbound.blockFree = ns3::AddPs(std::max(now, outbound.blockFree), work);
    return outbound.blockFree - now;
}

CopyTime
FlowExecutor::StartOf(const Lane& lane, uint64_t bytes, bool hasLatency) const
{
    CopyTime copy = CopyTimeOf(lane, bytes, m_execution.wireInflation, hasLatency);
    if (lane.passBytes == 0)
    {
        return copy;
    }
    // A network that paces packets lets the first one go at once, so all are early by as long as it
    // takes to write the last.
    const auto wireBytes =
        static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * m_execution.wireInflation));
    const uint64_t packets =
        m_execution.packetBytes ? (wireBytes - 1) / m_execution.packetBytes : 0;
    const uint64_t last =
        m_execution.packetBytes ? wireBytes - packets * m_execution.packetBytes : 0;
    copy.latency += static_cast<TimePs>(static_cast<double>(copy.duration) *
                                        static_cast<double>(last) / static_cast<double>(wireBytes));
    return copy;
}

void
FlowExecutor::Copy(Outbound& outbound, uint64_t bytes, MessageHandler handler)
{
    const CopyTime copy = m_isPhysical ? CopyTime{} : CopyTimeOf(outbound.lane, bytes, 1);
    const double speed = outbound.lane.SpeedOf(outbound.sent - 1);
    const TimePs duration =
        speed == 1 ? copy.duration : ns3::TruncateToPs(static_cast<double>(copy.duration) / speed);
    m_network.Schedule(ns3::AddPs(copy.latency, duration), handler, &outbound);
}

void
FlowExecutor::CopyArrived(Inbound& inbound)
{
    Outbound& own = m_outbound[inbound.index];
    // A block that serves the network goes on as soon as it has written a slot.
    const bool servesNetwork = inbound.lane.psPerAccess > 0;
    own.delaysCopy = (servesNetwork ? own.sent : own.completed) < inbound.next.ownCopy.value_or(0);
    if (own.delaysCopy)
    {
        return;
    }
    const uint64_t bytes = inbound.next.bytes;
    TimePs duration = 0;
    if (bytes && !m_isPhysical && servesNetwork)
    {
        duration = OccupyBlock(own, bytes, inbound.lane.takeAccesses);
    }
    else if (bytes && !m_isPhysical)
    {
        const CopyTime copy = CopyTimeOf(inbound.lane,
                                         bytes,
                                         m_execution.wireInflation,
                                         inbound.lane.HasLatency(inbound.received));
        duration = copy.latency + copy.duration / OWN_COPY_SPEED;
    }
    m_network.Schedule(
        duration,
        [](void* arg) {
            auto* lane = static_cast<Inbound*>(arg);
            lane->taken = lane->received + 1;
            lane->owner->OnReceived(*lane);
        },
        &inbound);
}

} // namespace AstraSim
