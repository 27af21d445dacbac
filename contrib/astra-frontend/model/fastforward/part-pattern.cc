/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-pattern.h"

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
