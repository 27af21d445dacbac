/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-order.h"

namespace AstraSim
{

namespace
{

class FcfsOrder : public QueueOrder
{
  public:
    std::size_t Choose(const std::deque<Sequence*>&, const ServingReplica&) override
    {
        return 0;
    }
};

const PolicyKind<QueueOrder> FCFS("fcfs",
                                  "sequences that were preempted, then the others by arrival",
                                  [] { return std::make_unique<FcfsOrder>(); });

} // namespace

} // namespace AstraSim
