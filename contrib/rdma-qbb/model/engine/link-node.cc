/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-node.h"

#include "link-port.h"

namespace ns3
{

uint16_t
LinkNode::AddLinkPort(LinkPort& port, const Node& node)
{
    const auto index = static_cast<uint16_t>(m_linkPorts.size());
    if (m_agendas.empty() || IsEndpoint())
    {
        const auto order = IsEndpoint() ? LinkAgenda::Order::Last : LinkAgenda::Order::First;
        m_agendas.push_back(std::make_unique<LinkAgenda>(order));
    }
    port.JoinNode(*this, node, index, *m_agendas.back());
    if (index > 0)
    {
        port.SharePool(*m_linkPorts[0]);
    }
    m_linkPorts.push_back(&port);
    return index;
}

uint32_t
LinkNode::GetNodeId() const
{
    return m_linkPorts.front()->GetNodeId();
}

void
LinkNode::NeedDeparturesInTime()
{
    CatchUp();
    for (const auto& agenda : m_agendas)
    {
        agenda->HoldExact();
    }
}

void
LinkNode::RemoveLinkPorts()
{
    for (const auto& agenda : m_agendas)
    {
        agenda->Clear();
    }
    m_linkPorts.clear();
}

void
LinkNode::CatchUpPorts(int64_t nowPs) const
{
    m_caughtUpPs = nowPs;
    for (const auto& agenda : m_agendas)
    {
        agenda->CatchUp(nowPs);
    }
}

void
LinkNode::HandOverArrivals() const
{
    for (const LinkPort* port : m_linkPorts)
    {
        port->HandOverArrivals(m_clock.NowPs());
    }
}

} // namespace ns3
