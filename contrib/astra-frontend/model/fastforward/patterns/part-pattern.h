/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PART_PATTERN_H
#define PART_PATTERN_H

#include "ns3/carried-traffic.h"
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

/// @return whether no rank is through with @p what before all have begun it
bool NeedsAllRanks(const PartOperation& what);

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

/// What came of a pattern.
struct PartOutcome
{
    /// By operation and rank, since the part began; NO_TIME where the operation is not over. The
    /// ends of a message are its last acknowledgement and its delivery.
    std::vector<std::vector<TimePs>> ends;
    ns3::CarriedTraffic traffic;

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
