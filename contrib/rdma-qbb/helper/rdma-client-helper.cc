/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-client-helper.h"

#include "ns3/rdma-client.h"
#include "ns3/rdma-driver.h"
#include "ns3/uinteger.h"

namespace ns3
{

RdmaClientHelper::RdmaClientHelper(uint32_t remote, uint64_t bytes)
{
    m_factory.SetTypeId(RdmaClient::GetTypeId());
    m_factory.Set("Remote", UintegerValue(remote));
    m_factory.Set("Bytes", UintegerValue(bytes));
}

RdmaClientHelper::RdmaClientHelper(Ptr<Node> remote, uint64_t bytes)
    : RdmaClientHelper(remote->GetObject<RdmaDriver>()->GetHw().GetHostIndex(), bytes)
{
}

void
RdmaClientHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_factory.Set(name, value);
}

ApplicationContainer
RdmaClientHelper::Install(Ptr<Node> node) const
{
    Ptr<RdmaClient> client = m_factory.Create<RdmaClient>();
    node->AddApplication(client);
    return ApplicationContainer(client);
}

ApplicationContainer
RdmaClientHelper::Install(const NodeContainer& nodes) const
{
    ApplicationContainer clients;
    for (auto node = nodes.Begin(); node != nodes.End(); ++node)
    {
        clients.Add(Install(*node));
    }
    return clients;
}

} // namespace ns3
