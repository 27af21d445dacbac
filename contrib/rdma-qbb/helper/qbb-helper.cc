/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-helper.h"

#include "ns3/abort.h"
#include "ns3/qbb-channel.h"
#include "ns3/qbb-packet-builder.h"
#include "ns3/rdma-driver.h"
#include "ns3/rdma-hw.h"
#include "ns3/switch-node.h"

namespace ns3
{

QbbHelper::QbbHelper()
    : m_device("ns3::QbbNetDevice"),
      m_channel("ns3::QbbChannel")
{
}

void
QbbHelper::SetDeviceAttribute(const std::string& name, const AttributeValue& value)
{
    m_device.Set(name, value);
    m_model = nullptr;
}

void
QbbHelper::SetChannelAttribute(const std::string& name, const AttributeValue& value)
{
    m_channel.Set(name, value);
}

Ptr<QbbNetDevice>
QbbHelper::AddPort(Ptr<Node> node)
{
    if (!m_model)
    {
        m_model = m_device.Create<QbbNetDevice>();
    }
    auto device = CopyObject<QbbNetDevice>(m_model);
    device->SetAddress(
        QbbPacketBuilder::PortAddress(node->GetId(), static_cast<uint16_t>(node->GetNDevices())));
    if (auto* switchNode = dynamic_cast<SwitchNode*>(PeekPointer(node)))
    {
        switchNode->AddPort(device);
        return device;
    }
    node->AddDevice(device);
    if (Ptr<RdmaDriver> driver = node->GetObject<RdmaDriver>())
    {
        driver->GetHw().AddNic(device);
    }
    return device;
}

NetDeviceContainer
QbbHelper::Install(Ptr<Node> a, Ptr<Node> b)
{
    auto channel = m_channel.Create<QbbChannel>();
    NetDeviceContainer devices(AddPort(a));
    devices.Add(AddPort(b));
    DynamicCast<QbbNetDevice>(devices.Get(0))->Attach(channel);
    DynamicCast<QbbNetDevice>(devices.Get(1))->Attach(channel);
    return devices;
}

NetDeviceContainer
QbbHelper::Install(const NodeContainer& nodes, Ptr<Node> hub)
{
    NetDeviceContainer devices;
    for (auto node = nodes.Begin(); node != nodes.End(); ++node)
    {
        devices.Add(Install(*node, hub));
    }
    return devices;
}

SwitchHelper::SwitchHelper()
    : m_switch("ns3::SwitchNode")
{
}

void
SwitchHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_switch.Set(name, value);
}

Ptr<Node>
SwitchHelper::Create() const
{
    return m_switch.Create<SwitchNode>();
}

NodeContainer
SwitchHelper::Create(uint32_t count) const
{
    NodeContainer switches;
    for (uint32_t i = 0; i < count; ++i)
    {
        switches.Add(Create());
    }
    return switches;
}

RdmaHostHelper::RdmaHostHelper()
    : m_hw("ns3::RdmaHw")
{
}

void
RdmaHostHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_hw.Set(name, value);
}

void
RdmaHostHelper::Install(Ptr<Node> node) const
{
    NS_ABORT_MSG_IF(node->GetObject<RdmaDriver>(),
                    "node " << node->GetId() << " has an RdmaDriver already");
    Ptr<RdmaDriver> driver = CreateObject<RdmaDriver>();
    driver->Install(m_hw.Create<RdmaHw>());
    node->AggregateObject(driver);
}

void
RdmaHostHelper::Install(const NodeContainer& nodes) const
{
    for (auto node = nodes.Begin(); node != nodes.End(); ++node)
    {
        Install(*node);
    }
}

} // namespace ns3
