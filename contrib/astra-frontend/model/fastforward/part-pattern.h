/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PART_PATTERN_H
#define PART_PATTERN_H

#include "ns3/clock-range.h"
#include "ns3/collective-types.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/// What ranks do together: a collective, or a message from the first to the second of its ranks.
struct PartOperation
{
    bool isMessage{false};
    CommGroup group;
    CollectiveRequest request; ///< of a message: its bytes
    MessageInfo info;
};

/// @return whether no rank is through with @p op before all have begun it
bool NeedsAllRanks(CollectiveOp op);

/// A time that is not there: not started, or not over.
inline constexpr TimePs NO_TIME = -1;

/// An operation of a part, and when its ranks begin it.
struct TimedOperation
{
    const PartOperation* operation;
    std::vector<TimePs> starts; ///< by rank, since the part began; NO_TIME if not yet
};

/// All that determines what happens in a part of the network, from its first start on.
using PartPattern = std::vector<TimedOperation>;

/// What a network has carried.
struct CarriedTraffic
{
    uint64_t flows{0};
    uint64_t packets{0};
    uint64_t packetHops{0};
    uint64_t drops{0};
    uint64_t pauses{0};
    ns3::TimeSum pausedPs{};
    TimePs longestPausePs{0};
    uint64_t timeouts{0};
    uint64_t retransmittedBytes{0};
    uint64_t nacks{0};
    uint64_t outOfOrderPackets{0};
    uint64_t reorderBytes{0};

    /// @return what it cost to simulate: packet-hops, or flows where there are no packets
    uint64_t Work() const
    {
        return packetHops ? packetHops : flows;
    }

    CarriedTraffic& operator+=(const CarriedTraffic& other);
    /// Take away what had been carried @p before; what is a maximum stays.
    CarriedTraffic& operator-=(const CarriedTraffic& before);
};

/// What came of a pattern.
struct PartOutcome
{
    /// By operation and rank, since the part began; NO_TIME where the operation is not over. The
    /// ends of a message are its last acknowledgement and its delivery.
    std::vector<std::vector<TimePs>> ends;
    CarriedTraffic traffic;

    /// @return bytes of memory it takes
    uint64_t MemoryBytes() const;
};

/// Whether ranks carry out the only operation of a pattern again and again.
struct Repetition
{
    bool goesOn{false};       ///< after what was repeated last
    std::vector<TimePs> gaps; ///< by rank: from its end to when it begins again; none: once
};

/// What was simulated: a pattern, or one of the times that an operation was repeated.
struct PartRound
{
    std::vector<TimePs> starts; ///< by rank, since the part began
    PartOutcome outcome;        ///< its ends, too
};

} // namespace AstraSim

#endif /* PART_PATTERN_H */
