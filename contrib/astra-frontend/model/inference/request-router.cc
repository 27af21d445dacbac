/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-router.h"

#include <algorithm>

namespace AstraSim
{

std::size_t
RequestRouter::Choose(const std::vector<Target>& targets, const Sequence& sequence)
{
    if (targets.size() == 1)
    {
        return 0;
    }
    if (m_policy == RouterPolicy::RoundRobin)
    {
        return m_next++ % targets.size();
    }
    // The smaller the better.
    const auto rank = [this, &sequence](const Target& target) {
        const BatchScheduler& scheduler = *target.scheduler;
        return m_policy == RouterPolicy::LeastLoaded
                   ? static_cast<int64_t>(scheduler.GetLoad() + target.coming)
                   : static_cast<int64_t>(scheduler.CountMissing(sequence)) -
                         scheduler.GetFreeBlocks();
    };
    std::size_t best = 0;
    int64_t bestRank = rank(targets[0]);
    for (std::size_t i = 1; i < targets.size(); ++i)
    {
        const int64_t each = rank(targets[i]);
        if (each < bestRank)
        {
            best = i;
            bestRank = each;
        }
    }
    return best;
}

} // namespace AstraSim
