/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DOUBLE_TREE_H
#define DOUBLE_TREE_H

#include <cstdint>
#include <optional>

namespace AstraSim
{

/**
 * NCCL's binary tree over 0..n-1 (src/graph/trees.cc): odd numbers are leaves, the parent of r
 * replaces r's lowest set bit by the next higher one, and 0 is the root.
 * @return the parent of @p r, or nothing for the root
 */
std::optional<uint32_t> BinaryTreeParent(uint32_t n, uint32_t r);

/**
 * The second tree of NCCL's pair: the mirror of the first when n is even, the first shifted by one
 * when n is odd, so that a leaf of one is an inner node of the other.
 * @param second which of the two
 */
std::optional<uint32_t> DoubleTreeParent(uint32_t n, uint32_t r, bool second);

} // namespace AstraSim

#endif /* DOUBLE_TREE_H */
