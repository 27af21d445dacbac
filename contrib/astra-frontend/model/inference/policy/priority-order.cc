/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-order.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// As vLLM's `--scheduling-policy priority`: a smaller number goes first. Running sequences go on.
class PriorityOrder : public QueueOrder
{
  public:
    std::size_t Choose(const std::deque<Sequence*>& waiting, const ServingReplica&) override
    {
        const auto first = std::ranges::min_element(waiting, {}, [](const Sequence* each) {
            return each->request ? each->request->priority : 0;
        });
        return static_cast<std::size_t>(first - waiting.begin());
    }
};

const PolicyKind<QueueOrder> PRIORITY(
    "priority",
    "the smallest ``priority`` of the trace; of equal ones, those that were preempted, then the "
    "others by arrival",
    [] { return std::make_unique<PriorityOrder>(); });

} // namespace

} // namespace AstraSim
