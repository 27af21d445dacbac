/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-router.h"

namespace AstraSim
{

std::size_t
RankingRouter::Choose(std::span<const Target> targets, const Sequence& sequence)
{
    std::size_t best = 0;
    int64_t bestRank = targets.size() > 1 ? RankOf(targets[0], sequence) : 0;
    for (std::size_t i = 1; i < targets.size(); ++i)
    {
        const int64_t rank = RankOf(targets[i], sequence);
        if (rank < bestRank)
        {
            best = i;
            bestRank = rank;
        }
    }
    return best;
}

} // namespace AstraSim
