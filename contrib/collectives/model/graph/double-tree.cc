/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "double-tree.h"

namespace AstraSim
{

std::optional<uint32_t>
BinaryTreeParent(uint32_t n, uint32_t r)
{
    if (r == 0)
    {
        return std::nullopt;
    }
    const uint32_t bit = r & (~r + 1);
    const uint32_t up = (r ^ bit) | (bit << 1);
    return up < n ? up : r ^ bit;
}

std::optional<uint32_t>
DoubleTreeParent(uint32_t n, uint32_t r, bool second)
{
    if (!second)
    {
        return BinaryTreeParent(n, r);
    }
    if (n % 2 == 0)
    {
        const auto parent = BinaryTreeParent(n, n - 1 - r);
        return parent ? std::optional(n - 1 - *parent) : std::nullopt;
    }
    const auto parent = BinaryTreeParent(n, (r + n - 1) % n);
    return parent ? std::optional((*parent + 1) % n) : std::nullopt;
}

} // namespace AstraSim
