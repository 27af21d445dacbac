/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topology-paths.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <tuple>

namespace AstraSim
{

namespace
{

/// Times are kept for so many sizes; a workload with more starts over.
constexpr std::size_t MAX_KNOWN_TIMES = 1 << 18;

} // namespace

TopologyPaths::TopologyPaths(const ns3::ClusterTopology& topology, const Sizes& sizes)
    : m_topology(topology),
      m_routes(topology),
      m_sizes(sizes)
{
}

uint32_t
TopologyPaths::GetRankCount() const
{
    return m_topology.hostCount;
}

uint32_t
TopologyPaths::GetPortCount() const
{
    return static_cast<uint32_t>(4 * m_topology.links.size());
}

uint32_t
TopologyPaths::PortAt(uint32_t host, uint16_t port, bool egress) const
{
    const uint32_t node = m_topology.NodeOfHost(host);
    const uint32_t link = m_topology.Ports(node)[port].link;
    const bool towardsB = (m_topology.links[link].a == node) == egress;
    // A link between two hosts is where messages leave one and enter the other: two ports, or each
    // message would pass the same one twice.
    return 4 * link + (egress ? 2 : 0) + (towardsB ? 1 : 0);
}

const TopologyPaths::Pair&
TopologyPaths::FindPair(uint32_t src, uint32_t dst)
{
    const auto [it, isNew] = m_pairs.try_emplace(static_cast<uint64_t>(src) << 32 | dst);
    Pair& pair = it->second;
    if (!isNew)
    {
        return pair;
    }
    const auto there = m_routes.HostPorts(src, dst);
    const auto back = m_routes.HostPorts(dst, src);
    if (there.empty() || back.empty())
    {
        return pair;
    }
    const auto ports = m_topology.Ports(m_topology.NodeOfHost(src));
    const auto rateOf = [&](uint16_t port) { return m_topology.links[ports[port].link].rateBps; };
    uint32_t shape = 0;
    for (std::size_t i = 0; i < there.size(); ++i)
    {
        if (i == 0 || rateOf(there[i]) != rateOf(there[i - 1]))
        {
            const auto path = PathFrom(src, dst, there[i]);
            shape = FindShape(*path, m_topology.IsNvLink(path->hops.front().link));
        }
        pair.ways.push_back(
            {PortAt(src, there[i], true), PortAt(dst, back[i % back.size()], false), shape});
    }
    const auto [cut, isNewCut] = m_cuts.try_emplace({src, there});
    if (isNewCut)
    {
        cut->second = ns3::MessageCut(m_topology, src, there, m_sizes.queuePairs);
    }
    pair.cut = &cut->second;
    return pair;
}

std::optional<ns3::PathInfo>
TopologyPaths::PathFrom(uint32_t src, uint32_t dst, uint16_t port) const
{
    const uint32_t first = m_topology.NodeOfHost(src);
    return m_routes.Path(src, dst, [&](uint32_t node, std::span<const uint16_t> ports) {
        return node == first ? port : ports.front();
    });
}

uint32_t
TopologyPaths::FindShape(const ns3::PathInfo& path, bool nvlink)
{
    ShapeKey key{nvlink, {}};
    for (const auto& hop : path.hops)
    {
        key.second.emplace_back(hop.rateBps, hop.delayPs);
    }
    const auto [it, isNew] =
        m_shapeNumbers.try_emplace(std::move(key), static_cast<uint32_t>(m_shapes.size()));
    if (isNew)
    {
        Shape shape{path, nvlink ? m_sizes.nvlink : m_sizes.network, 0, 0};
        shape.acknowledgement = ns3::OneWayPs(path, shape.sizes.ackWireBytes);
        shape.slowestFrame = ns3::SerializationPs(shape.sizes.DataWireBytes(shape.sizes.mtuPayload),
                                                  path.bottleneckBps);
        m_shapes.push_back(std::move(shape));
    }
    return it->second;
}

const TopologyPaths::Times&
TopologyPaths::FindTimes(uint32_t number, uint64_t wireBytes)
{
    if (m_times.size() > MAX_KNOWN_TIMES)
    {
        m_times.clear();
    }
    const auto [it, isNew] = m_times.try_emplace(std::pair{number, wireBytes});
    if (isNew)
    {
        const Shape& shape = m_shapes[number];
        const uint64_t occupied = ns3::MessageWireBytes(wireBytes, shape.sizes);
        it->second = {ns3::SerializationPs(occupied, shape.path.hops.front().rateBps),
                      ns3::SerializationPs(occupied, shape.path.hops.back().rateBps),
                      ns3::IdleDeliveryPs(shape.path, wireBytes, shape.sizes)};
    }
    return it->second;
}

ns3::MessageCut::Parts
TopologyPaths::Cut(uint32_t src, uint32_t dst, uint64_t wireBytes, uint32_t channel, uint16_t plane)
{
    const Pair& pair = FindPair(src, dst);
    return (pair.cut ? *pair.cut : ns3::MessageCut())
        .Divide(wireBytes, m_sizes.network.mtuPayload, channel, plane);
}

std::optional<MessagePath>
TopologyPaths::Find(uint32_t src,
                    uint32_t dst,
                    uint32_t port,
                    uint64_t wireBytes,
                    uint64_t rateCapBps)
{
    const Pair& pair = FindPair(src, dst);
    if (pair.ways.empty())
    {
        return std::nullopt;
    }
    const Way& way = pair.ways[port % pair.ways.size()];
    const Shape& shape = m_shapes[way.shape];
    const Times& times = FindTimes(way.shape, wireBytes);
    MessagePath path{};
    path.egress = way.egress;
    path.ingress = way.ingress;
    path.egressTime = times.egress;
    path.ingressTime = times.ingress;
    path.alone = times.alone;
    path.limited = times.alone;
    path.acknowledgement = shape.acknowledgement;
    if (rateCapBps)
    {
        // All frames but the last wait for their turn where the limit is below the path's rate.
        const TimePs turn =
            ns3::SerializationPs(shape.sizes.DataWireBytes(shape.sizes.mtuPayload), rateCapBps);
        const auto frames = static_cast<TimePs>((wireBytes - 1) / shape.sizes.mtuPayload);
        const TimePs wait = std::max<TimePs>(turn - shape.slowestFrame, 0);
        path.limited = ns3::AddPs(path.limited, ns3::TimesPs(wait, static_cast<uint64_t>(frames)));
    }
    return path;
}

bool
TopologyPaths::ShareReducingSwitch(std::span<const int> ranks) const
{
    return std::all_of(ranks.begin() + 1, ranks.end(), [&](int rank) {
        return m_topology.ShareNvLink(static_cast<uint32_t>(ranks.front()),
                                      static_cast<uint32_t>(rank));
    });
}

} // namespace AstraSim
