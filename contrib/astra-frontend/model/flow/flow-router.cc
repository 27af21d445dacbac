/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-router.h"

#include "ns3/assert.h"
#include "ns3/flow-hash.h"

#include <algorithm>
#include <limits>

namespace AstraSim
{

using ns3::ClusterTopology;

FlowRouter::FlowRouter(const ClusterTopology& topology,
                       uint32_t ecmpSeed,
                       const ns3::FrameSizes& network,
                       const ns3::FrameSizes& nvlink,
                       ns3::PathUse use,
                       uint32_t queuePairs,
                       const FlowRouter* like)
    : m_topology(topology),
      m_routes(like ? like->m_routes : std::make_shared<ns3::FabricRoutes>(topology)),
      m_planner(topology, *m_routes, network, nvlink, use, queuePairs),
      m_frameBytes(network.DataWireBytes(network.mtuPayload)),
      m_links(topology.links.size()),
      m_seeds(topology.nodeCount)
{
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        m_seeds[node] = ns3::MixBits(ecmpSeed + node);
    }
}

std::optional<ns3::ConnectionStart>
FlowRouter::Open(uint32_t src, uint32_t dst, int64_t channel, uint16_t dport, uint16_t sport)
{
    return ns3::ConnectionPlanner::Open(m_planner.Find(src, dst), src, dst, channel, dport, sport);
}

std::optional<uint16_t>
FlowRouter::PortFrom(uint32_t node, uint32_t host, uint32_t hash) const
{
    const auto ports = m_routes->Table(node).NextHops(host);
    if (ports.empty())
    {
        return std::nullopt;
    }
    return ports.size() == 1
               ? ports.front()
               : ports[ns3::EcmpChoice(hash, m_seeds[node], static_cast<uint32_t>(ports.size()))];
}

bool
FlowRouter::Follow(uint32_t src,
                   uint32_t dst,
                   const ns3::ConnectionStart& start,
                   ns3::PathInfo& there,
                   std::vector<uint32_t>* back) const
{
    there.hops.clear();
    there.delayPs = 0;
    there.bottleneckBps = UINT64_MAX;
    const uint32_t last = m_topology.NodeOfHost(dst);
    uint32_t node = m_topology.NodeOfHost(src);
    std::optional<uint16_t> port = start.firstPort;
    while (port)
    {
        const ClusterTopology::Port& next = m_topology.Ports(node)[*port];
        const ClusterTopology::Link& link = m_topology.links[next.link];
        there.hops.push_back({node, *port, next.link, link.rateBps, link.delayPs});
        there.delayPs += link.delayPs;
        there.bottleneckBps = std::min(there.bottleneckBps, link.rateBps);
        node = next.peer;
        if (node == last)
        {
            break;
        }
        port = PortFrom(node, dst, start.hash);
    }
    if (!port)
    {
        return false;
    }
    if (!back)
    {
        return true;
    }
    // The receiver answers by the port at which the data arrives, with a hash of its own.
    back->clear();
    const uint32_t first = m_topology.NodeOfHost(src);
    uint32_t link = there.hops.back().link;
    while (true)
    {
        back->push_back(DirectedLink(link, node));
        const auto& ends = m_topology.links[link];
        node = ends.a == node ? ends.b : ends.a;
        if (node == first)
        {
            return true;
        }
        const auto next = PortFrom(node, src, ~start.hash);
        if (!next)
        {
            back->clear(); // data still arrive; their acknowledgements are lost
            return true;
        }
        link = m_topology.Ports(node)[*next].link;
    }
}

TimePs
FlowRouter::Spread(uint32_t from,
                   uint32_t to,
                   uint16_t port,
                   uint32_t hash,
                   std::vector<Share>& shares) const
{
    struct Passing
    {
        uint32_t node;
        float fraction; ///< of the bytes
        TimePs latest;  ///< when a frame that took the slowest way comes
    };

    // All paths are as long as each other, so the frames are at one distance at a time.
    std::vector<Passing> here;
    std::vector<Passing> next;
    const auto cross = [&](const Passing& at, uint16_t out, float fraction) {
        const ClusterTopology::Port& far = m_topology.Ports(at.node)[out];
        const ClusterTopology::Link& link = m_topology.links[far.link];
        const TimePs comes =
            at.latest + ns3::SerializationPs(m_frameBytes, link.rateBps) + link.delayPs;
        shares.push_back({DirectedLink(far.link, at.node), fraction});
        const auto known = std::ranges::find(next, far.peer, &Passing::node);
        if (known != next.end())
        {
            known->fraction += fraction;
            known->latest = std::max(known->latest, comes);
        }
        else
        {
            next.push_back({far.peer, fraction, comes});
        }
    };
    shares.clear();
    cross({m_topology.NodeOfHost(from), 1, 0}, port, 1);
    while (!next.empty() && next.front().node != m_topology.NodeOfHost(to))
    {
        here.swap(next);
        next.clear();
        for (const Passing& at : here)
        {
            const auto ports = m_routes->Table(at.node).NextHops(to);
            if (m_spreads[at.node])
            {
                for (const uint16_t out : ports)
                {
                    cross(at, out, at.fraction / static_cast<float>(ports.size()));
                }
            }
            else if (const auto out = PortFrom(at.node, to, hash))
            {
                cross(at, *out, at.fraction);
            }
        }
    }
    return next.empty() ? 0 : next.front().latest;
}

double
FlowRouter::RateOf(const std::vector<Share>& shares) const
{
    double least = std::numeric_limits<double>::infinity();
    for (const Share& share : shares)
    {
        const auto rateBps = static_cast<double>(m_topology.links[share.link / 2].rateBps);
        least = std::min(least, rateBps / share.fraction);
    }
    return least;
}

bool
FlowRouter::Move(uint32_t src, uint32_t dst, ns3::ConnectionStart& start)
{
    const auto port =
        ns3::ConnectionPlanner::Move(m_planner.Find(src, dst), start.hash, start.firstPort);
    start.firstPort = port.value_or(start.firstPort);
    return port.has_value();
}

void
FlowRouter::Recompute()
{
    NS_ASSERT_MSG(m_routes.use_count() == 1, "other routers have the same routes");
    m_routes->Recompute(m_links);
    m_planner.OnRoutesChanged();
}

} // namespace AstraSim
