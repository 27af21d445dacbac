/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ring-order.h"

#include <algorithm>

namespace AstraSim
{

std::vector<uint32_t>
RingOrder(const GroupShape& shape, uint32_t channel, bool crossNic)
{
    std::vector<uint32_t> order;
    order.reserve(shape.GetRanks());
    for (uint32_t n = 0; n < shape.GetNodes(); ++n)
    {
        const auto& node = shape.nodes[n];
        const auto size = static_cast<uint32_t>(node.size());
        const auto begin = order.size();
        for (uint32_t i = 0; i < size; ++i)
        {
            order.push_back(node[(channel % size + size - i) % size]);
        }
        if (crossNic && n % 2 == 1)
        {
            std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end());
        }
    }
    return order;
}

} // namespace AstraSim
