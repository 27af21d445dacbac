/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-types.h"

namespace AstraSim
{

double
BusBandwidthFactor(CollectiveOp op, uint32_t ranks)
{
    if (ranks < 2)
    {
        return 1.0;
    }
    const double n = ranks;
    switch (op)
    {
    case CollectiveOp::AllReduce:
        return 2 * (n - 1) / n;
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::AllToAll:
    case CollectiveOp::AllToAllV:
    case CollectiveOp::Gather:
    case CollectiveOp::Scatter:
        return (n - 1) / n;
    default:
        return 1.0;
    }
}

const char*
ToString(CollectiveOp op)
{
    static constexpr const char* NAMES[] = {"None",
                                            "AllReduce",
                                            "AllGather",
                                            "ReduceScatter",
                                            "AllToAll",
                                            "AllToAllV",
                                            "Broadcast",
                                            "Reduce",
                                            "Gather",
                                            "Scatter",
                                            "SendRecv",
                                            "Barrier"};
    return NAMES[static_cast<uint8_t>(op)];
}

const char*
ToString(GroupKind kind)
{
    static constexpr const char* NAMES[] = {"TP", "DP", "EP", "DP_EP", "PP", "CP", "CUSTOM"};
    return NAMES[static_cast<uint8_t>(kind)];
}

} // namespace AstraSim
