/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "routing-policy-factory.h"

#include "ecmp-routing.h"

#include "ns3/attribute-default.h"
#include "ns3/input-error.h"
#include "ns3/object-factory.h"
#include "ns3/rdma-transport.h"

#include <algorithm>
#include <set>

namespace ns3
{

namespace
{

using NodeKind = ClusterTopology::NodeKind;

/// Calls @p apply for each switch that a place names. @return whether there is one
template <typename Apply>
bool
ForEachAt(const FabricConf::RoutingPlace& place,
          const std::vector<uint32_t>& layers,
          const Apply& apply)
{
    bool found = false;
    const auto nodes = static_cast<uint32_t>(layers.size());
    const uint32_t first = place.layer ? 0 : place.first;
    const uint32_t last = place.layer ? nodes - 1 : std::min(place.last, nodes - 1);
    for (uint32_t node = first; node <= last; ++node)
    {
        if (place.layer ? layers[node] == place.layer : layers[node] > 0)
        {
            apply(node);
            found = true;
        }
    }
    return found;
}

} // namespace

std::vector<uint32_t>
SwitchLayers(const ClusterTopology& topology)
{
    std::vector<uint32_t> layers(topology.nodeCount, 0);
    std::vector<uint32_t> reached;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const auto ports = topology.Ports(node);
        if (topology.Is(node, NodeKind::Switch) &&
            std::ranges::any_of(ports, [&](const ClusterTopology::Port& port) {
                return topology.Is(port.peer, NodeKind::Host);
            }))
        {
            layers[node] = 1;
            reached.push_back(node);
        }
    }
    for (std::size_t i = 0; i < reached.size(); ++i)
    {
        for (const ClusterTopology::Port& port : topology.Ports(reached[i]))
        {
            if (topology.Is(port.peer, NodeKind::Switch) && layers[port.peer] == 0)
            {
                layers[port.peer] = layers[reached[i]] + 1;
                reached.push_back(port.peer);
            }
        }
    }
    return layers;
}

bool
ReordersFrames(TypeId policy)
{
    ObjectFactory factory;
    factory.SetTypeId(policy);
    return factory.Create<RoutingPolicy>()->Reorders();
}

bool
TransportSpreadsFrames()
{
    const TypeId type = AttributeDefault<TypeIdValue>("ns3::RdmaHw::TransportType");
    ObjectFactory factory;
    factory.SetTypeId(type);
    return factory.Create<RdmaTransport>()->SpreadsFrames();
}

PathUse
PathUseOf(const std::vector<TypeId>& routing)
{
    if (TransportSpreadsFrames())
    {
        return PathUse::All;
    }
    const std::set<TypeId> policies(routing.begin(), routing.end());
    if (std::ranges::any_of(policies, ReordersFrames))
    {
        return PathUse::All;
    }
    const bool onlyEcmp =
        std::ranges::all_of(policies, [](TypeId each) { return each == EcmpRouting::GetTypeId(); });
    return onlyEcmp ? PathUse::Fixed : PathUse::InTurn;
}

std::vector<TypeId>
RoutingBySwitch(const ClusterTopology& topology, const FabricConf& conf)
{
    const TypeId everywhere = AttributeDefault<TypeIdValue>("ns3::SwitchNode::RoutingPolicyType");
    std::vector<TypeId> routing(topology.nodeCount, EcmpRouting::GetTypeId());
    const std::vector<uint32_t> layers = SwitchLayers(topology);
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        if (layers[node] > 0)
        {
            routing[node] = everywhere;
        }
    }
    for (const FabricConf::RoutingChoice& choice : *conf.routingAt)
    {
        const TypeId policy = TypeId::LookupByName(choice.policy);
        for (const FabricConf::RoutingPlace& place : choice.places)
        {
            const bool found =
                ForEachAt(place, layers, [&](uint32_t node) { routing[node] = policy; });
            if (!found)
            {
                conf.FailAtLine(choice.line,
                                "ROUTING_AT",
                                "names " + place.text + ", which no network switch of " +
                                    topology.source + " is",
                                "asw, psw, core, or ids of network switches");
            }
        }
    }
    return routing;
}

} // namespace ns3
