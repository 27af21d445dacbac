/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ring-order.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// @return the number at a place of a path to and fro between numbers below @p size
uint32_t
ToAndFro(uint32_t first, uint32_t place, uint32_t size)
{
    const uint32_t step = place % 2 == 1 ? (place + 1) / 2 : size - place / 2;
    return (first + step) % size;
}

/// @return the order of a ring within one mesh
std::vector<uint32_t>
MeshRing(const std::vector<uint32_t>& node, uint32_t channel)
{
    const auto others = static_cast<uint32_t>(node.size()) - 1;
    std::vector<uint32_t> order{node.back()};
    for (uint32_t i = 0; i < others; ++i)
    {
        order.push_back(node[ToAndFro(channel % others, i, others)]);
    }
    if (channel / others % 2 == 1)
    {
        std::ranges::reverse(order);
    }
    return order;
}

/// @return the ranks of a node in the order that a server's rings give its GPUs
std::vector<uint32_t>
ServerPath(const GroupShape& shape, uint32_t node, uint32_t channel)
{
    const ServerRings& rings = *shape.GetRings();
    const auto& orders = shape.GetNodes() == 1 ? rings.withinNode : rings.betweenNodes;
    std::vector<uint32_t> path;
    for (const uint8_t gpu : orders[channel % orders.size()])
    {
        if (const auto rank = shape.FindOnRail(node, gpu))
        {
            path.push_back(*rank);
        }
    }
    return path;
}

/// @return how many channels have different rings
uint32_t
DistinctRings(const GroupShape& shape)
{
    if (shape.GetRings())
    {
        return static_cast<uint32_t>(shape.GetRings()->withinNode.size());
    }
    return shape.IsMesh() && shape.GetNodes() == 1
               ? std::max(1U, 2 * (shape.GetRanksPerNode() - 1))
               : shape.GetRanksPerNode(); // rings that enter the nodes at the same GPU are equal
}

} // namespace

std::vector<uint32_t>
NodePath(const GroupShape& shape, uint32_t node, uint32_t channel)
{
    if (shape.GetRings())
    {
        return ServerPath(shape, node, channel);
    }
    const auto& ranks = shape.nodes[node];
    const auto size = static_cast<uint32_t>(ranks.size());
    const uint32_t first = channel * shape.GetGpusPerNic() % size;
    std::vector<uint32_t> path;
    path.reserve(size);
    for (uint32_t i = 0; i < size; ++i)
    {
        path.push_back(
            ranks[shape.IsMesh() ? ToAndFro(first, i, size) : (first + size - i) % size]);
    }
    return path;
}

std::vector<uint32_t>
RingOrder(const GroupShape& shape, uint32_t channel, bool crossNic)
{
    if (shape.IsMesh() && shape.GetNodes() == 1 && shape.GetRanks() > 1)
    {
        return MeshRing(shape.nodes.front(), channel);
    }
    std::vector<uint32_t> order;
    order.reserve(shape.GetRanks());
    for (uint32_t n = 0; n < shape.GetNodes(); ++n)
    {
        std::vector<uint32_t> path = NodePath(shape, n, channel);
        if (crossNic && n % 2 == 1)
        {
            std::ranges::reverse(path);
        }
        order.insert(order.end(), path.begin(), path.end());
    }
    return order;
}

RingOrders::RingOrders(const GroupShape& shape, uint32_t channels, bool crossNic)
    : m_rings(shape.IsBalanced() ? std::min(channels, DistinctRings(shape)) : channels)
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
