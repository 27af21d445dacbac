/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CACHE_LAYOUT_H
#define CACHE_LAYOUT_H

#include <cstdint>
#include <vector>

namespace AstraSim
{

/// Heads that a rank of one tensor-parallel group sends to a rank of another.
struct CacheShare
{
    uint32_t from;  ///< place in the sending group
    uint32_t to;    ///< place in the receiving group
    uint32_t heads; ///< of keys and values
};

/// @return how many heads each rank of a group of @p tp keeps; with more ranks than heads, ranks
/// keep copies
uint32_t HeadsPerRank(uint32_t heads, uint32_t tp);

/**
 * Work out which rank sends which heads, between tensor-parallel groups of any two sizes. A rank
 * keeps a range of heads. Where several senders have the same heads, receivers take turns.
 *
 * @param heads of a layer; divides both sizes, or is a multiple of them
 * @return in the order of senders; every receiver gets all heads it keeps exactly once
 */
std::vector<CacheShare> ShareHeads(uint32_t heads, uint32_t fromTp, uint32_t toTp);

} // namespace AstraSim

#endif /* CACHE_LAYOUT_H */
