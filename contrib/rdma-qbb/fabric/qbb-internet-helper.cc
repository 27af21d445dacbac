/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-internet-helper.h"

#include "ns3/abort.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-interface-address.h"
#include "ns3/ipv4.h"
#include "ns3/node.h"
#include "ns3/qbb-packet-builder.h"

namespace ns3
{

namespace
{

/// @return the first port of a host that leads into the network
uint16_t
FirstNic(const ClusterTopology& topology, uint32_t node)
{
    const auto ports = topology.Ports(node);
    for (uint16_t port = 0; port < ports.size(); ++port)
    {
        if (!topology.IsNvLink(ports[port].link))
        {
            return port;
        }
    }
    NS_ABORT_MSG("node " << node << " has no port but NVLink, which carries RDMA traffic only");
}

} // namespace

QbbInternetHelper::QbbInternetHelper(Ptr<RdmaFabric> fabric)
    : m_fabric(fabric)
{
}

Ipv4Address
QbbInternetHelper::GetAddress(uint32_t host)
{
    return QbbPacketBuilder::HostAddress(host);
}

void
QbbInternetHelper::Install(uint32_t host) const
{
    const ClusterTopology& topology = m_fabric->GetTopology();
    const uint32_t id = topology.NodeOfHost(host);
    Ptr<Node> node = m_fabric->GetNode(id);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(node);

    QbbNetDevice& device = m_fabric->GetDevice(id, FirstNic(topology, id));
    device.Initialize();
    Ptr<Ipv4> ipv4 = node->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(&device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(GetAddress(host), Ipv4Mask("/8")));
    ipv4->SetUp(interface);

    m_fabric->GetHw(host).SetAddressResolver([hosts = topology.hostCount](uint32_t address) {
        const uint32_t index = QbbPacketBuilder::HostOf(Ipv4Address(address));
        return index < hosts ? index : UINT32_MAX;
    });
}

void
QbbInternetHelper::InstallAll() const
{
    for (uint32_t host = 0; host < m_fabric->GetTopology().hostCount; ++host)
    {
        Install(host);
    }
}

} // namespace ns3
