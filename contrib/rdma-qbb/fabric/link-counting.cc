/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-counting.h"

#include "rdma-fabric.h"

#include "ns3/flow-hash.h"
#include "ns3/in-network-engine.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-nic.h"
#include "ns3/rdma-queue-pair.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

/// One message on its way from switch to switch.
class MessageCounter::Walk
{
  public:
    /// @param route becomes the path, if it has no splits
    Walk(LinkUse& use,
         const RdmaFabric& fabric,
         const RdmaQueuePair& qp,
         uint16_t purpose,
         Route& route)
        : m_use(use),
          m_fabric(fabric),
          m_topology(fabric.GetTopology()),
          m_qp(qp),
          m_purpose(purpose),
          m_last(m_topology.NodeOfHost(qp.dst)),
          m_route(route)
    {
        m_route.nic = qp.nic;
        m_route.dst = qp.dst;
        m_route.hash = qp.hash;
        m_route.chosen = false;
        m_route.length = 0;
    }

    void Leave(uint32_t node, uint16_t port, uint64_t bytes)
    {
        while (true)
        {
            const uint32_t index = m_use.IndexOf(node, port);
            m_use.Add(index, m_qp.src, m_qp.dst, bytes, m_purpose);
            Remember(index);
            node = m_topology.Ports(node)[port].peer;
            const SwitchNode* next = node == m_last ? nullptr : m_fabric.GetSwitch(node);
            if (!next)
            {
                return;
            }
            const auto ports = m_fabric.GetRoutes().Table(node).NextHops(m_qp.dst);
            if (ports.size() > 1 && !next->UsesEcmp())
            {
                m_route.nic = nullptr;
                Split(node, ports, bytes);
                return;
            }
            if (ports.empty())
            {
                return;
            }
            m_route.chosen = m_route.chosen || ports.size() > 1;
            port = ports[EcmpChoice(m_qp.hash,
                                    next->GetEcmpSeed(),
                                    static_cast<uint32_t>(ports.size()))];
        }
    }

  private:
    void Remember(uint32_t port)
    {
        if (m_route.length == Route::MAX_LENGTH)
        {
            m_route.nic = nullptr;
        }
        else if (m_route.nic)
        {
            m_route.ports[m_route.length++] = port;
        }
    }

    void Split(uint32_t node, std::span<const uint16_t> ports, uint64_t bytes)
    {
        uint64_t left = bytes;
        for (std::size_t i = 0; i < ports.size(); ++i)
        {
            const uint64_t part = left / (ports.size() - i);
            left -= part;
            Leave(node, ports[i], part);
        }
    }

    LinkUse& m_use;
    const RdmaFabric& m_fabric;
    const ClusterTopology& m_topology;
    const RdmaQueuePair& m_qp;
    uint16_t m_purpose;
    uint32_t m_last;
    Route& m_route;
};

MessageCounter::MessageCounter(LinkUse& use, const RdmaFabric& fabric)
    : MessageCounter(use, fabric, 0, fabric.GetTopology().hostCount)
{
}

MessageCounter::MessageCounter(LinkUse& use,
                               const RdmaFabric& fabric,
                               uint32_t first,
                               uint32_t count)
    : m_use(use),
      m_fabric(fabric),
      m_first(first),
      m_version(fabric.GetRoutes().GetVersion()),
      m_routes(count * ROUTES_PER_HOST)
{
}

inline MessageCounter::Route&
MessageCounter::PlaceOf(const RdmaQueuePair& qp, uint32_t hash)
{
    // Peers are often the same GPU of several servers, so their numbers agree in low bits.
    return m_routes[ROUTES_PER_HOST * (qp.src - m_first) +
                    MixBits(qp.dst ^ hash) % ROUTES_PER_HOST];
}

inline const MessageCounter::Route*
MessageCounter::FindRoute(const RdmaQueuePair& qp)
{
    if (m_version != m_fabric.GetRoutes().GetVersion())
    {
        return nullptr;
    }
    const Route& any = PlaceOf(qp, 0);
    if (any.nic == qp.nic && any.dst == qp.dst && !any.chosen)
    {
        return &any;
    }
    const Route& own = PlaceOf(qp, qp.hash);
    return own.nic == qp.nic && own.dst == qp.dst && own.hash == qp.hash ? &own : nullptr;
}

void
MessageCounter::Count(const RdmaQueuePair& qp, uint64_t bytes, uint16_t purpose)
{
    const Route* route = FindRoute(qp);
    if (!route)
    {
        CountAnew(qp, bytes, purpose);
        return;
    }
    for (uint32_t i = 0; i < route->length; ++i)
    {
        m_use.Add(route->ports[i], qp.src, qp.dst, bytes, purpose);
    }
}

void
MessageCounter::CountAnew(const RdmaQueuePair& qp, uint64_t bytes, uint16_t purpose)
{
    if (const uint32_t version = m_fabric.GetRoutes().GetVersion(); version != m_version)
    {
        m_version = version;
        std::ranges::fill(m_routes, Route());
    }
    Route route;
    Walk(m_use, m_fabric, qp, purpose, route)
        .Leave(m_fabric.GetTopology().NodeOfHost(qp.src), qp.nic->GetPort().GetPort(), bytes);
    if (route.nic)
    {
        PlaceOf(qp, route.chosen ? qp.hash : 0) = route;
    }
}

void
CountOperation(LinkUse& use, const RdmaFabric& fabric, const InNetworkSpec& spec, uint16_t purpose)
{
    const ClusterTopology& topology = fabric.GetTopology();
    const uint32_t root = spec.members[spec.root].GetHostIndex();
    const auto bytes = static_cast<uint64_t>(
        std::llround(static_cast<double>(spec.bytes) * std::max(spec.wireInflation, 1.0)));
    // By switch: whether it sends to the switch above it, and whether it receives from there.
    std::vector<bool> sends(spec.switches.size());
    std::vector<bool> receives(spec.switches.size());
    for (uint32_t i = 0; i < spec.members.size(); ++i)
    {
        const InNetworkMember& member = spec.members[i];
        const uint32_t host = member.GetHostIndex();
        const uint32_t node = topology.NodeOfHost(host);
        const uint16_t port = member.nic;
        const ClusterTopology::Port& end = topology.Ports(node)[port];
        const bool memberSends = spec.kind != InNetworkKind::Multicast || i == spec.root;
        const bool memberReceives = spec.kind != InNetworkKind::Reduce || i == spec.root;
        if (memberSends)
        {
            use.Add(node, port, host, root, bytes, purpose);
        }
        if (memberReceives)
        {
            use.Add(end.peer, end.peerPort, root, host, bytes, purpose);
        }
        uint32_t below = end.peer;
        for (uint32_t at = member.at; at != 0; at = spec.switches[at].parent)
        {
            const InNetworkSwitch& here = spec.switches[at];
            const uint32_t above = topology.Ports(below)[here.upPort].peer;
            if (memberSends && !sends[at])
            {
                sends[at] = true;
                use.Add(below, here.upPort, host, root, bytes, purpose);
            }
            if (memberReceives && !receives[at])
            {
                receives[at] = true;
                use.Add(above, here.parentPort, root, host, bytes, purpose);
            }
            below = above;
        }
    }
}

} // namespace ns3
