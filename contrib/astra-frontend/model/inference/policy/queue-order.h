/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUEUE_ORDER_H
#define QUEUE_ORDER_H

#include "serving-policy.h"
#include "serving-replica.h"

#include <cstddef>
#include <deque>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Chooses the sequence of a replica that begins next. Key `scheduling_policy`.
 *
 * If its blocks are not free, none begins. Each replica has an object of its own.
 */
class QueueOrder : public ServingPolicy
{
  public:
    /// @param waiting at least one: those that were preempted, the last one first, then the others
    /// by arrival
    /// @return index of the one that begins
    virtual std::size_t Choose(const std::deque<Sequence*>& waiting,
                               const ServingReplica& replica) = 0;
};

} // namespace AstraSim

#endif /* QUEUE_ORDER_H */
