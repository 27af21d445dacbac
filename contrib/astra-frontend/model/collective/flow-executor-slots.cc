/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Buffer slots of connections: when a message has left its slot at the receiver, and what the
 * sender is told of it: directly, or in a message if it is far.
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
        if (lane.messages == 0 || lane.kind != LaneKind::Message || outbound.isFar ||
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
    if (CopiedOut(outbound) == 0)
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
FlowExecutor::LeaveSlots(Outbound& outbound)
{
    outbound.passed = outbound.sentNeeds;
    for (const uint32_t source : outbound.sources)
    {
        // What came over another network link stays until it has gone on: its sender would advance
        // here, and so on, from rank to rank around a ring.
        if (m_inbound[source].lane.slots == 1)
        {
            FreeSlots(m_inbound[source]);
        }
    }
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
    const uint32_t before = inbound.told;
    inbound.told = inbound.taken; // a sender that has not begun asks when it does
    if (inbound.isFar)
    {
        SendCredits(inbound, before);
        return;
    }
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

uint32_t
FlowExecutor::SlotsOf(const Lane& lane) const
{
    // A lane on which less is under way at once has its slots all the same.
    return std::max(lane.slots, m_execution.graph->GetSlots());
}

uint32_t
FlowExecutor::CreditsOf(const Lane& lane) const
{
    // The last messages have a slot when those before them are through; nobody waits for theirs.
    const uint64_t slots = SlotsOf(lane);
    return lane.messages > slots ? static_cast<uint32_t>(lane.messages - slots) : 0;
}

void
FlowExecutor::SendCredits(const Inbound& inbound, uint32_t before)
{
    MessageInfo info = m_info;
    info.isCredit = true;
    const uint32_t last = std::min(inbound.told, CreditsOf(inbound.lane));
    for (uint32_t credit = before; credit < last; ++credit)
    {
        m_network.Send({.dst = m_execution.group->ranks[inbound.lane.peer],
                        .tag = m_tagBase + inbound.lane.tag,
                        .bytes = 0,
                        .info = &info});
    }
}

void
FlowExecutor::ExpectCredit(Outbound& outbound)
{
    if (outbound.creditsToCome == 0)
    {
        return;
    }
    --outbound.creditsToCome;
    MessageInfo info = m_info;
    info.isCredit = true;
    const auto received = [](void* arg) {
        auto* lane = static_cast<Outbound*>(arg);
        ++lane->taken;
        lane->owner->ExpectCredit(*lane);
        lane->owner->Advance(*lane);
    };
    m_network.Receive({.src = m_execution.group->ranks[outbound.lane.peer],
                       .tag = m_tagBase + outbound.lane.tag,
                       .bytes = 0,
                       .info = &info,
                       .handler = received,
                       .arg = &outbound});
}

} // namespace AstraSim
