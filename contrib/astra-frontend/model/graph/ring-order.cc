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
            order.push_back(node[(channel * shape.GetGpusPerNic() % size + size - i) % size]);
        }
        if (crossNic && n % 2 == 1)
        {
            std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end());
        }
    }
    return order;
}

RingOrders::RingOrders(const GroupShape& shape, uint32_t channels, bool crossNic)
    // Channels whose rings enter nodes at the same GPU have the same ring.
    : m_rings(shape.IsBalanced() ? std::min(channels, shape.GetRanksPerNode()) : channels)
{
    for (uint32_t c = 0; c < m_rings.size(); ++c)
    {
        m_rings[c].order = RingOrder(shape, c, crossNic);
        m_rings[c].place.resize(shape.GetRanks());
        for (uint32_t i = 0; i < shape.GetRanks(); ++i)
        {
            m_rings[c].place[m_rings[c].order[i]] = i;
        }
    }
    for (uint32_t c = 0; c < channels; ++c)
    {
        m_ringOf.push_back(c % static_cast<uint32_t>(m_rings.size()));
    }
}

} // namespace AstraSim
