/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Buffer slots of connections: when a message has left its slot at the receiver, and what the
 * sender is told of it.
 */
#include "flow-executor.h"

#include <algorithm>

namespace AstraSim
{

void
FlowExecutor::LearnSlots()
{
    if (!m_holdsSlots)
    {
        return;
    }
    std::vector<uint32_t> asked;
    for (const Outbound& outbound : m_outbound)
    {
        const Lane& lane = outbound.lane;
        if (lane.messages == 0 || lane.kind != LaneKind::Message ||
            std::find(asked.begin(), asked.end(), lane.peer) != asked.end())
        {
            continue;
        }
        asked.push_back(lane.peer);
        const FlowExecutor* receiver = (*m_ranks)[lane.peer];
        if (!receiver)
        {
            continue;
        }
        for (const Inbound& inbound : receiver->m_inbound)
        {
            if (inbound.lane.messages > 0 && inbound.lane.kind == LaneKind::Message &&
                inbound.lane.peer == m_rank)
            {
                const uint32_t lane =
                    m_execution.graph->GetPeerLane(receiver->m_rank, inbound.index);
                m_outbound[lane].taken = inbound.taken;
            }
        }
    }
}

uint32_t
FlowExecutor::PassedOn(const Outbound& outbound, uint32_t inbound) const
{
    if (outbound.completed == 0)
    {
        return 0;
    }
    if (outbound.sources.size() == 1 && outbound.sources.front() == inbound)
    {
        return outbound.passed;
    }
    return NeededByLast(outbound, inbound);
}

void
FlowExecutor::FreeSlots(Inbound& inbound)
{
    // What has been passed on to everyone, or is passed on to no one, is out of its slot.
    uint32_t taken = inbound.received;
    for (const uint32_t target : inbound.passedBy)
    {
        const Outbound& outbound = m_outbound[target];
        if (outbound.isUsed)
        {
            taken = std::min(taken, PassedOn(outbound, inbound.index));
        }
    }
    inbound.taken = std::max(inbound.taken, taken);
    if (inbound.taken == inbound.told)
    {
        return;
    }
    inbound.told = inbound.taken; // a sender that has not begun asks when it does
    FlowExecutor* sender = (*m_ranks)[inbound.lane.peer];
    if (!sender)
    {
        return;
    }
    if (!inbound.sender)
    {
        inbound.sender = &sender->m_outbound[m_execution.graph->GetPeerLane(m_rank, inbound.index)];
    }
    Outbound& outbound = *inbound.sender;
    if (outbound.taken < inbound.taken)
    {
        outbound.taken = inbound.taken;
        sender->Advance(outbound);
    }
}

} // namespace AstraSim
