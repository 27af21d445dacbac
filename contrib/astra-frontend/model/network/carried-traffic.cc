/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "carried-traffic.h"

#include <algorithm>

namespace AstraSim
{

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
    pfcStorms += other.pfcStorms;
    timeouts += other.timeouts;
    retransmittedBytes += other.retransmittedBytes;
    nacks += other.nacks;
    cnps += other.cnps;
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
    pfcStorms -= before.pfcStorms;
    timeouts -= before.timeouts;
    retransmittedBytes -= before.retransmittedBytes;
    nacks -= before.nacks;
    cnps -= before.cnps;
    outOfOrderPackets -= before.outOfOrderPackets;
    return *this;
}

} // namespace AstraSim
