/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-node.h"

#include "link-port.h"

#include <algorithm>

namespace ns3
{

uint16_t
LinkNode::AddLinkPort(LinkPort& port, const Node& node)
{
    const auto index = static_cast<uint16_t>(m_joined->all.size());
    auto& agendas = m_joined->agendas;
    if (agendas.empty() || IsEndpoint())
    {
        const auto order = IsEndpoint() ? LinkAgenda::Order::Last : LinkAgenda::Order::First;
        agendas.push_back(std::make_unique<LinkAgenda>(order, m_duePs));
    }
    port.JoinNode(*this, node, index, *agendas.back());
    m_nodeId = port.GetNodeId();
    if (index > 0)
    {
        port.SharePool(*m_joined->all[0]);
    }
    m_joined->all.push_back(&port);
    return index;
}

void
LinkNode::NeedDeparturesInTime()
{
    CatchUp();
    for (const auto& agenda : m_joined->agendas)
    {
        agenda->HoldExact();
    }
}

void
LinkNode::RemoveLinkPorts()
{
    for (const auto& agenda : m_joined->agendas)
    {
        agenda->Clear();
    }
    m_joined->all.clear();
}

void
LinkNode::CatchUpPorts(int64_t nowPs) const
{
    for (const auto& agenda : m_joined->agendas)
    {
        agenda->CatchUp(nowPs);
    }
    m_duePs = LinkAgenda::NEVER;
    for (const auto& agenda : m_joined->agendas)
    {
        m_duePs = std::min(m_duePs, agenda->GetDuePs());
    }
}

} // namespace ns3
