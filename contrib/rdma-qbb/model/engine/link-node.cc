/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-node.h"

#include <algorithm>

namespace ns3
{

LinkNode::Place
LinkNode::TakeIn(LinkPort& port, uint32_t nodeId)
{
    auto& agendas = m_joined->agendas;
    if (agendas.empty() || IsEndpoint())
    {
        const auto order = IsEndpoint() ? LinkAgenda::Order::Last : LinkAgenda::Order::First;
        agendas.push_back(std::make_unique<LinkAgenda>(order, m_duePs));
    }
    m_nodeId = nodeId;
    m_joined->first = m_joined->first ? m_joined->first : &port;
    return {m_joined->count++, *agendas.back(), *m_joined->first};
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
    m_joined->first = nullptr;
    m_joined->count = 0;
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
