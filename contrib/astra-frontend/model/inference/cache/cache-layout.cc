/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cache-layout.h"

#include <algorithm>
#include <map>
#include <utility>

namespace AstraSim
{

namespace
{

/// @return the first rank of a group of @p tp that keeps @p head
uint32_t
FirstHolder(uint32_t head, uint32_t heads, uint32_t tp)
{
    return tp <= heads ? head / (heads / tp) : head * (tp / heads);
}

/// @return ranks of a group of @p tp that keep the same head
uint32_t
Copies(uint32_t heads, uint32_t tp)
{
    return tp <= heads ? 1 : tp / heads;
}

} // namespace

uint32_t
HeadsPerRank(uint32_t heads, uint32_t tp)
{
    return std::max(heads / tp, 1U);
}

std::vector<CacheShare>
ShareHeads(uint32_t heads, uint32_t fromTp, uint32_t toTp)
{
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> shares;
    for (uint32_t head = 0; head < heads; ++head)
    {
        for (uint32_t copy = 0; copy < Copies(heads, toTp); ++copy)
        {
            const uint32_t to = FirstHolder(head, heads, toTp) + copy;
            const uint32_t from = FirstHolder(head, heads, fromTp) + copy % Copies(heads, fromTp);
            ++shares[{from, to}];
        }
    }
    std::vector<CacheShare> result;
    for (const auto& [pair, count] : shares)
    {
        result.push_back({pair.first, pair.second, count});
    }
    return result;
}

} // namespace AstraSim
