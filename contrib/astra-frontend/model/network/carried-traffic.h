/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CARRIED_TRAFFIC_H
#define CARRIED_TRAFFIC_H

#include "ns3/clock-range.h"
#include "ns3/rank-network.h"

#include <cstdint>

namespace AstraSim
{

/// What a network has carried.
struct CarriedTraffic
{
    uint64_t flows{0}; ///< messages delivered
    uint64_t packets{0};
    uint64_t packetHops{0};
    uint64_t drops{0};
    uint64_t pauses{0};
    ns3::TimeSum pausedPs{};  ///< over all ports
    TimePs longestPausePs{0}; ///< of one queue, without a break
    uint64_t pfcStorms{0};    ///< pauses that lasted PFC_WATCHDOG
    uint64_t timeouts{0};
    uint64_t retransmittedBytes{0};
    uint64_t nacks{0};
    uint64_t cnps{0};              ///< congestion notifications sent
    uint64_t outOfOrderPackets{0}; ///< came before one sent earlier
    uint64_t reorderBytes{0};      ///< farthest that one was ahead

    /// @return what it cost to simulate: packet-hops, or flows where there are no packets
    uint64_t Work() const
    {
        return packetHops ? packetHops : flows;
    }

    /// @return whether packets were marked or lost at random, so that it comes otherwise next time
    bool HasDraws() const
    {
        return cnps > 0 || drops > 0;
    }

    CarriedTraffic& operator+=(const CarriedTraffic& other);
    /// Take away what had been carried @p before; what is a maximum stays.
    CarriedTraffic& operator-=(const CarriedTraffic& before);
};

} // namespace AstraSim

#endif /* CARRIED_TRAFFIC_H */
