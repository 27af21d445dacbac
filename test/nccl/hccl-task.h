/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HCCL_TASK_H
#define HCCL_TASK_H

#include "ns3/collective-algorithm.h"

#include <cstdint>

namespace AstraSim
{

inline constexpr uint64_t HCCL_KIB = 1024;
inline constexpr uint64_t HCCL_MIB = 1024 * HCCL_KIB;

/// @return a collective on servers of 910B, or of 910C if a switch joins them
inline CollectiveTask
HcclTask(CollectiveOp op, uint64_t bytes, uint32_t servers, uint32_t places, bool switched = false)
{
    CollectiveTask task;
    task.request.op = op;
    task.request.bytes = bytes;
    for (uint32_t rank = 0; rank < servers * places; ++rank)
    {
        task.servers.push_back(rank / places);
    }
    task.generation = "DaVinci";
    task.linkGBps = switched ? 196 : 18.3;
    task.nvlinkGBps = switched ? 196 : 7 * 28;
    task.nicGBps = 25;
    task.hasNvSwitch = switched;
    return task;
}

} // namespace AstraSim

#endif /* HCCL_TASK_H */
