/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topology-paths.h"

#include "ns3/clock-range.h"

#include <algorithm>

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
      m_sizes(sizes),
      m_isSharedNic(topology.nodeCount)
{
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        m_isSharedNic[node] = topology.FindSharedNic(node).has_value();
    }
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
TopologyPaths::PortAt(uint32_t node, uint32_t link, bool egress) const
{
    const bool towardsB = (m_topology.links[link].a == node) == egress;
    // Both ends of a link between two hosts are ports. Each has a number for leaving and one for
    // entering, as a message would otherwise pass the same port twice.
    return 4 * link + (egress ? 2 : 0) + (towardsB ? 1 : 0);
}

TopologyPaths::Ends
TopologyPaths::FindEnds(const ns3::PathInfo& path, bool nvlink) const
{
    const std::size_t last = path.hops.size() - 1;
    Ends ends{nvlink, 0, last};
    if (nvlink)
    {
        // Links between the NVSwitches of a server may be slower than those of its GPUs.
        const auto narrow = std::ranges::min_element(path.hops.begin(),
                                                     path.hops.end() - 1,
                                                     {},
                                                     &ns3::PathHop::rateBps);
        ends.egress = static_cast<std::size_t>(narrow - path.hops.begin());
    }
    else if (last > 1)
    {
        // GPUs that share a NIC wait for its one link to the network.
        ends.egress = m_isSharedNic[path.hops[1].node] ? 1 : 0;
        ends.ingress = m_isSharedNic[path.hops[last].node] ? last - 1 : last;
    }
    return ends;
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
    const uint32_t first = m_topology.NodeOfHost(src);
    const uint32_t last = m_topology.NodeOfHost(dst);
    const auto linkOf = [&](uint32_t node, uint16_t port) {
        return m_topology.Ports(node)[port].link;
    };
    const auto rateOf = [&](uint16_t port) {
        return m_topology.links[linkOf(first, port)].rateBps;
    };
    uint32_t shape = 0;
    bool hasInnerEnds = false; // so that each port has others
    for (std::size_t i = 0; i < there.size(); ++i)
    {
        Way way{PortAt(first, linkOf(first, there[i]), true),
                PortAt(last, linkOf(last, back[i % back.size()]), false),
                shape};
        if (i == 0 || hasInnerEnds || rateOf(there[i]) != rateOf(there[i - 1]))
        {
            const auto path = PathFrom(src, dst, there[i]);
            const std::vector<ns3::PathHop>& hops = path->hops;
            const Ends ends = FindEnds(*path, m_topology.IsNvLink(hops.front().link));
            way.shape = shape = FindShape(*path, ends);
            hasInnerEnds = ends.egress > 0 || ends.ingress + 1 < hops.size();
            if (hasInnerEnds)
            {
                const uint32_t node =
                    ends.ingress + 1 < hops.size() ? hops[ends.ingress + 1].node : last;
                way.egress = PortAt(hops[ends.egress].node, hops[ends.egress].link, true);
                way.ingress = PortAt(node, hops[ends.ingress].link, false);
            }
        }
        pair.ways.push_back(way);
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
TopologyPaths::FindShape(const ns3::PathInfo& path, const Ends& ends)
{
    ShapeKey key{ends, {}};
    for (const auto& hop : path.hops)
    {
        key.second.emplace_back(hop.rateBps, hop.delayPs);
    }
    const auto [it, isNew] =
        m_shapeNumbers.try_emplace(std::move(key), static_cast<uint32_t>(m_shapes.size()));
    if (isNew)
    {
        Shape shape{path, ends, ends.nvlink ? m_sizes.nvlink : m_sizes.network};
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
        const std::vector<ns3::PathHop>& hops = shape.path.hops;
        it->second = {ns3::SerializationPs(occupied, hops[shape.ends.egress].rateBps),
                      ns3::SerializationPs(occupied, hops[shape.ends.ingress].rateBps),
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
