/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-timeline.h"

#include "ns3/event-id.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

QbbTimeline::QbbTimeline(uint32_t firstUid, uint32_t bits)
    : currentUid(EventId::UID::INVALID),
      context(Simulator::NO_CONTEXT),
      m_uid(firstUid | bits),
      m_bits(bits)
{
}

void
QbbTimeline::SetScheduler(Ptr<Scheduler> scheduler)
{
    Scheduler::Event next;
    while (m_events && TakeNext(next))
    {
        scheduler->Insert(next);
    }
    m_events = scheduler;
    m_wheel = dynamic_cast<TimingWheelScheduler*>(PeekPointer(m_events));
}

uint64_t
QbbTimeline::PeekTs() const
{
    return m_events->IsEmpty() ? NEVER : m_events->PeekNext().key.m_ts;
}

uint64_t
QbbTimeline::PeekNext() const
{
    uint64_t next = std::min(PeekTs(), firstOutgoing);
    for (const auto& work : late)
    {
        next = std::min(next, static_cast<uint64_t>(work->GetDuePs()));
    }
    return next;
}

} // namespace ns3
