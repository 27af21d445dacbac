/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaFabric: taking over nodes that a program has made and joined.
 */
#include "rdma-fabric.h"

#include "ns3/abort.h"

#include <algorithm>
#include <map>
#include <vector>

namespace ns3
{

namespace
{

using NodeKind = ClusterTopology::NodeKind;

NodeKind
KindOf(const Ptr<Node>& node)
{
    if (dynamic_cast<NVSwitchNode*>(PeekPointer(node)))
    {
        return NodeKind::NvSwitch;
    }
    return dynamic_cast<SwitchNode*>(PeekPointer(node)) ? NodeKind::Switch : NodeKind::Host;
}

/// @return the channels between the nodes, in the order in which they were made
std::vector<QbbChannel*>
ChannelsOf(const NodeContainer& nodes)
{
    std::vector<QbbChannel*> channels;
    for (auto node = nodes.Begin(); node != nodes.End(); ++node)
    {
        for (uint32_t i = 0; i < (*node)->GetNDevices(); ++i)
        {
            Ptr<Channel> channel = (*node)->GetDevice(i)->GetChannel();
            if (auto* cable = dynamic_cast<QbbChannel*>(PeekPointer(channel)))
            {
                channels.push_back(cable);
            }
        }
    }
    std::ranges::sort(channels,
                      [](const auto* a, const auto* b) { return a->GetId() < b->GetId(); });
    channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
    return channels;
}

/// @return the most hosts that NVSwitches join, of a topology with servers of one host yet
uint32_t
CountGpusPerServer(const ClusterTopology& topology)
{
    uint32_t most = 1;
    std::map<uint32_t, uint32_t> hosts; // by the set of NVSwitches that are linked to each other
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        for (const auto& port : topology.Ports(topology.NodeOfHost(host)))
        {
            if (topology.Is(port.peer, NodeKind::NvSwitch))
            {
                most = std::max(most, ++hosts[topology.ServerOfNvSwitch(port.peer)]);
                break;
            }
        }
    }
    return most;
}

} // namespace

void
RdmaFabric::Build(const NodeContainer& nodes)
{
    m_ownConf = std::make_unique<FabricConf>();
    m_ownConf->source = "attributes";
    m_ownTopology = std::make_unique<ClusterTopology>();
    ClusterTopology& topology = *m_ownTopology;
    topology.source = "the program";
    std::map<const Node*, uint32_t> ids;
    for (auto node = nodes.Begin(); node != nodes.End(); ++node)
    {
        ids.emplace(PeekPointer(*node), static_cast<uint32_t>(topology.kind.size()));
        topology.kind.push_back(KindOf(*node));
        m_parts.nodes.push_back(*node);
    }
    const auto idOf = [&](const Ptr<NetDevice>& device) {
        const auto id = ids.find(PeekPointer(device->GetNode()));
        NS_ABORT_MSG_IF(id == ids.end(), "a cable leads to a node that is not of the fabric");
        return id->second;
    };
    m_parts.devices.resize(m_parts.nodes.size());
    for (QbbChannel* channel : ChannelsOf(nodes))
    {
        const auto a = DynamicCast<QbbNetDevice>(channel->GetDevice(0));
        const auto b = DynamicCast<QbbNetDevice>(channel->GetDevice(1));
        ClusterTopology::Link link{};
        link.a = idOf(a);
        link.b = idOf(b);
        DataRateValue rate;
        a->GetAttribute("DataRate", rate);
        link.rateBps = rate.Get().GetBitRate();
        link.delayPs = channel->GetDelayPs();
        link.errorRate = channel->GetErrorRate();
        topology.links.push_back(link);
        m_parts.channels.push_back(channel);
        m_parts.devices[link.a].push_back(PeekPointer(a));
        m_parts.devices[link.b].push_back(PeekPointer(b));
    }
    topology.Index();
    topology.gpusPerServer = CountGpusPerServer(topology);
    topology.Index();
    NS_ABORT_MSG_IF(topology.hostCount == 0, "a fabric has hosts");
    Configure(topology, *m_ownConf);
}

} // namespace ns3
