/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-pattern.h"

#include <algorithm>

namespace AstraSim
{

bool
NeedsAllRanks(CollectiveOp op)
{
    switch (op)
    {
    case CollectiveOp::AllReduce:
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::AllToAll:
    case CollectiveOp::Barrier:
        return true;
    default:
        return false;
    }
}

CarriedTraffic&
CarriedTraffic::operator+=(const CarriedTraffic& other)
{
    flows += other.flows;
    packets += other.packets;
    packetHops += other.packetHops;
    drops += other.drops;
    pauses += other.pauses;
    pausedPs += other.pausedPs;
    longestPausePs = std::max(longestPausePs, other.longestPausePs);
    timeouts += other.timeouts;
    retransmittedBytes += other.retransmittedBytes;
    nacks += other.nacks;
    outOfOrderPackets += other.outOfOrderPackets;
    reorderBytes = std::max(reorderBytes, other.reorderBytes);
    return *this;
}

CarriedTraffic&
CarriedTraffic::operator-=(const CarriedTraffic& before)
{
    flows -= before.flows;
    packets -= before.packets;
    packetHops -= before.packetHops;
    drops -= before.drops;
    pauses -= before.pauses;
    pausedPs = pausedPs - before.pausedPs;
    timeouts -= before.timeouts;
    retransmittedBytes -= before.retransmittedBytes;
    nacks -= before.nacks;
    outOfOrderPackets -= before.outOfOrderPackets;
    return *this;
}

uint64_t
PartOutcome::MemoryBytes() const
{
    uint64_t bytes = sizeof(PartOutcome);
    for (const auto& operation : ends)
    {
        bytes += sizeof(operation) + operation.size() * sizeof(TimePs);
    }
    return bytes;
}

} // namespace AstraSim
