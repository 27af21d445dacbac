/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CARRIED_TRAFFIC_H
#define CARRIED_TRAFFIC_H

#include "ns3/clock-range.h"

#include <algorithm>
#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Totals of a network's traffic: the one record of them, from counters to run.json.
 *
 * A new total is a member and a row of ForEachField(); sums, differences and run.json follow.
 */
struct CarriedTraffic
{
    uint64_t packets{0};            ///< sent, by every port that they pass
    uint64_t packetHops{0};         ///< packets received whole by a port
    uint64_t drops{0};              ///< packets lost or dropped, wherever
    uint64_t losslessDrops{0};      ///< of these, those that PFC protects
    uint64_t pauses{0};             ///< times a priority of a port was paused
    TimeSum pausedPs{};             ///< over all ports
    int64_t longestPausePs{0};      ///< of one queue, without a break
    uint64_t pfcStorms{0};          ///< pauses that lasted PFC_WATCHDOG
    uint64_t timeouts{0};           ///< retransmission timers that ran out
    uint64_t retransmittedBytes{0}; ///< payload sent more than once
    uint64_t nacks{0};              ///< NACKs sent
    uint64_t cnps{0};               ///< congestion notifications that senders got
    uint64_t marks{0};              ///< packets marked CE by switches
    uint64_t trims{0};              ///< packets that switches forwarded without their payload
    uint64_t replays{0};            ///< packets that links sent again (link-level retry)
    uint64_t outOfOrderPackets{0};  ///< came before one sent earlier
    uint64_t reorderBytes{0};       ///< most bytes by which a packet was ahead
    uint64_t flows{0};              ///< messages delivered

    /// Rule by which the values of parts make that of the whole.
    enum class Whole : uint8_t
    {
        Sum,
        Largest,
    };

    /// Call @p visit with each field: its name in run.json, the member, and how parts make a whole.
    template <typename Visit>
    static void ForEachField(Visit visit)
    {
        using enum Whole;
        visit("packets", &CarriedTraffic::packets, Sum);
        visit("packet_hops", &CarriedTraffic::packetHops, Sum);
        visit("drops", &CarriedTraffic::drops, Sum);
        visit("lossless_drops", &CarriedTraffic::losslessDrops, Sum);
        visit("pauses", &CarriedTraffic::pauses, Sum);
        visit("paused_ns", &CarriedTraffic::pausedPs, Sum);
        visit("longest_pause_ns", &CarriedTraffic::longestPausePs, Largest);
        visit("pfc_storms", &CarriedTraffic::pfcStorms, Sum);
        visit("timeouts", &CarriedTraffic::timeouts, Sum);
        visit("retransmitted_bytes", &CarriedTraffic::retransmittedBytes, Sum);
        visit("nacks", &CarriedTraffic::nacks, Sum);
        visit("cnps", &CarriedTraffic::cnps, Sum);
        visit("ecn_marks", &CarriedTraffic::marks, Sum);
        visit("trimmed_packets", &CarriedTraffic::trims, Sum);
        visit("link_replays", &CarriedTraffic::replays, Sum);
        visit("out_of_order_packets", &CarriedTraffic::outOfOrderPackets, Sum);
        visit("reorder_bytes", &CarriedTraffic::reorderBytes, Largest);
        visit("flows", &CarriedTraffic::flows, Sum);
    }

    /// @return the cost of its simulation: packet-hops, or flows where there are no packets
    uint64_t Work() const
    {
        return packetHops ? packetHops : flows;
    }

    /// @return whether packets were marked or lost at random, so that a repetition may differ
    bool HasDraws() const
    {
        return cnps > 0 || marks > 0 || drops > 0;
    }

    CarriedTraffic& operator+=(const CarriedTraffic& other)
    {
        ForEachField([&](const char*, auto field, Whole whole) {
            this->*field = whole == Whole::Sum ? this->*field + other.*field
                                               : std::max(this->*field, other.*field);
        });
        return *this;
    }

    /// Take away all that had been carried @p before; maxima stay.
    CarriedTraffic& operator-=(const CarriedTraffic& before)
    {
        ForEachField([&](const char*, auto field, Whole whole) {
            if (whole == Whole::Sum)
            {
                this->*field = this->*field - before.*field;
            }
        });
        return *this;
    }
};

} // namespace ns3

#endif /* CARRIED_TRAFFIC_H */
