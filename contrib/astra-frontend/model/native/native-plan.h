/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_PLAN_H
#define NATIVE_PLAN_H

#include "native-memory-bus.h"
#include "native-schedule.h"

#include "ns3/collective-implementation.h"

#include <functional>
#include <memory>

namespace AstraSim
{

/// Finds the memory bus of a rank of the network.
using MemoryBusLookup = std::function<NativeMemoryBus&(int rank)>;

/**
 * A message leaves when it has passed the memory bus; a received one passes the bus back (and is
 * reduced there if the step says so) before the lane's next message leaves. So a ring of s steps
 * takes (s + 1) endpoint delays, s messages on the network, and three memory accesses per message
 * that is reduced.
 *
 * This is ASTRA-sim's timing. A FlowGraph cannot have it (see "Parts that exist twice" in the
 * module's documentation).
 *
 * @param group,busOf borrowed
 * @return a schedule on a group
 */
std::shared_ptr<const CollectivePlan> MakeNativePlan(const CommGroup& group,
                                                     std::shared_ptr<const NativeSchedule> schedule,
                                                     const CollectiveChoice& choice,
                                                     const MemoryBusLookup& busOf);

} // namespace AstraSim

#endif /* NATIVE_PLAN_H */
