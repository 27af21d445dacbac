/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-pattern.h"

#include <algorithm>

namespace AstraSim
{

bool
NeedsAllRanks(const PartOperation& what)
{
    // With fewer bytes per rank, some chunks are empty, and some ranks wait for no other.
    constexpr uint64_t LEAST_SHARE = 512;
    switch (what.request.op)
    {
    case CollectiveOp::Barrier:
        return true;
    case CollectiveOp::AllReduce:
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::AllToAll:
        return what.request.bytes >= LEAST_SHARE * what.group.ranks.size();
    default:
        return false;
    }
}

TimePs
PartOutcome::LastEnd() const
{
    TimePs last = 0;
    for (const auto& operation : ends)
    {
        for (const TimePs end : operation)
        {
            last = std::max(last, end);
        }
    }
    return last;
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
