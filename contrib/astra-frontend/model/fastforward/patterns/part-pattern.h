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

/// A collective, or a message from the first to the second of its ranks.
struct PartOperation
{
    bool isMessage{false};
    CommGroup group;
    CollectiveRequest request; ///< of a message: its bytes
    MessageInfo info;
};

/// @return whether no rank can leave @p what before all have begun it
bool NeedsAllRanks(const PartOperation& what);

/// A time that is not there: not started, or not over.
inline constexpr TimePs NO_TIME = -1;

/// An operation of a part, and when its ranks begin it.
struct TimedOperation
{
    const PartOperation* operation;
    std::vector<TimePs> starts; ///< by rank, since the part began; NO_TIME if not yet
};

/// All that determines the traffic of a part of the network, from its first start on.
using PartPattern = std::vector<TimedOperation>;

/// The ends and the traffic of a pattern.
struct PartOutcome
{
    /// By operation and rank, since the part began; NO_TIME where the operation is not over. The
    /// ends of a message are its last acknowledgement and its delivery.
    std::vector<std::vector<TimePs>> ends;
    ns3::CarriedTraffic traffic;
    bool isInterrupted{false}; ///< its simulation was: ends are missing
    TimePs doubtPs{0};       ///< the most by which ends may differ from those of packets, if known
    bool isContinued{false}; ///< only what follows the pattern's last start was simulated for it
    bool isByFlows{false};   ///< in place of packets, whose hops its traffic has

    /// @return the last end; 0 if nothing has ended
    TimePs LastEnd() const;

    /// @return bytes of memory it takes
    uint64_t MemoryBytes() const;
};

} // namespace AstraSim

#endif /* PART_PATTERN_H */
