/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-port.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/clock-range.h"
#include "ns3/node.h"
#include "ns3/qbb-partitions.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("QbbNetDevice");

// A frame's way through a port: Enqueue() or the source's SetSourceReady() asks for the port
// (TransmitWhenFree). An idle port transmits at once: TakeNext() chooses the frame, PutOnWire()
// hands it to the wire, which delivers it. A busy port notes the end of the present transmission in
// its node's agenda (ArmTransmit). The agenda carries that end out, with its own time, before
// anything else at the node or the arrival at the far end: OnTransmissionEnd() then transmits the
// next frame. So a queue of n frames costs n arrivals, but no events at the sender.

LinkPort::LinkPort()
    : m_poolRef(Create<QbbFramePool>()),
      m_wireRef(Create<LinkWire>(this))
{
    m_hot.pool = PeekPointer(m_poolRef);
    m_hot.wire = PeekPointer(m_wireRef);
}

LinkPort::~LinkPort() = default;

uint16_t
LinkPort::JoinNode(LinkNode& node, const Node& ns3Node)
{
    NS_ASSERT_MSG(!m_started, "joined before the simulation begins");
    const LinkNode::Place place = node.TakeIn(*this, ns3Node.GetId());
    m_hot.node = &node;
    m_hot.nodeId = ns3Node.GetId();
    m_partition = ns3Node.GetSystemId();
    m_hot.port = place.index;
    m_hot.agenda = &place.agenda;
    m_place = place.agenda.AddPort(this);
    if (m_peer && m_peer->m_started)
    {
        m_peer->ConnectWire();
    }
    if (&place.first != this)
    {
        SharePool(place.first);
    }
    return place.index;
}

void
LinkPort::SharePool(LinkPort& other)
{
    m_poolRef = QbbFramePool::Merge(m_poolRef, other.m_poolRef);
    m_hot.pool = PeekPointer(m_poolRef);
}

void
LinkPort::Join(LinkPort& peer)
{
    m_peer = &peer;
    m_incoming = peer.m_wireRef;
    if (peer.m_hot.watched)
    {
        m_hot.wire->SetReceiverWatched();
    }
    if (!LeadsElsewhere())
    {
        SharePool(peer);
    }
}

bool
LinkPort::LeadsElsewhere() const
{
    return m_hot.node && m_peer->m_hot.node && m_partition != m_peer->m_partition;
}

void
LinkPort::Start(uint64_t rateBps, int64_t delayPs, bool isUp, bool lossy)
{
    m_poolRef = m_poolRef->Resolve();
    m_hot.pool = PeekPointer(m_poolRef);
    m_rateBps = rateBps;
    m_hot.serialization = SerializationDelay(rateBps);
    m_hot.delayPs = delayPs;
    m_hot.linkUp = isUp;
    m_lossy = lossy;
    m_started = true;
    ConnectWire();
    if (m_hot.agenda && !m_hot.pool->GetEngine().MayLeaveOutSends())
    {
        m_hot.agenda->HoldExact();
    }
}

void
LinkPort::ConnectWire()
{
    if (!m_peer || !m_peer->m_hot.node)
    {
        return; // JoinNode() of the far end comes back
    }
    if (LeadsElsewhere())
    {
        // The far end's thread may not look at this agenda. In windows, the agenda is carried out
        // at the end of each; with a simulator of ns-3's own, each departure is an event.
        NS_ABORT_MSG_IF(m_hot.pool == m_peer->m_hot.pool,
                        "join nodes of two partitions when their ports are at them");
        QbbSimulatorImpl* simulator = QbbSimulatorImpl::Get();
        QbbPartitions* partitions = simulator ? simulator->GetPartitions() : nullptr;
        m_hot.wire->Connect(m_peer, m_lossy, true, partitions != nullptr);
        if (partitions)
        {
            m_hot.agenda->LeadElsewhere(partitions->TimelineOf(m_hot.nodeId), m_hot.nodeId);
        }
        else
        {
            m_hot.agenda->HoldExact();
        }
        return;
    }
    // An arrival first carries out the sender's departures that come before it. A host has an
    // agenda for each port, and the wire keeps a copy of the time of its first work. The ports of a
    // switch share an agenda, which the wire asks.
    m_hot.wire->Connect(m_peer, m_lossy, false, false);
    const bool isItsOwn = m_hot.node && m_hot.node->IsEndpoint();
    m_hot.wire->SetSendersAgenda(m_hot.agenda, isItsOwn);
    if (isItsOwn)
    {
        m_hot.agenda->CopyDueTo(m_hot.wire);
    }
}

void
LinkPort::Stop()
{
    for (Queue& queue : m_queues)
    {
        while (queue.head)
        {
            QbbFrame* frame = queue.head;
            queue.head = frame->next;
            m_hot.pool->Free(frame);
        }
        queue = Queue();
    }
    m_hot.control.Clear(*m_hot.pool);
    m_guard = nullptr;
    m_hot.wire->Detach();
    m_peer = nullptr;
    m_incoming = nullptr;
    m_hot.node = nullptr;
    m_hot.source = nullptr;
    m_hot.agenda = nullptr;
}

// --- sending

void
LinkPort::Enqueue(QbbFrame* frame, int64_t nowPs)
{
    if (m_hot.watched) [[unlikely]]
    {
        TraceEnqueue(*frame);
    }
    NS_LOG_LOGIC("node " << m_hot.nodeId << " port " << m_hot.port << " queues " << *frame
                         << " behind " << m_queues[frame->priority].bytes << " bytes");
    Queue& queue = m_queues[frame->priority];
    frame->next = nullptr;
    if (queue.tail)
    {
        queue.tail->next = frame;
    }
    else
    {
        queue.head = frame;
    }
    queue.tail = frame;
    queue.bytes += frame->wireBytes;
    m_hot.queuedMask |= 1U << frame->priority;
    TransmitWhenFree(nowPs);
}

QbbFrame*
LinkPort::Dequeue(uint8_t priority)
{
    Queue& queue = m_queues[priority];
    QbbFrame* frame = queue.head;
    queue.head = frame->next;
    queue.bytes -= frame->wireBytes;
    if (!queue.head)
    {
        queue.tail = nullptr;
        m_hot.queuedMask &= ~(1U << priority);
    }
    return frame;
}

inline int64_t
LinkPort::ArrivalPs(int64_t startPs, int64_t txTimePs) const
{
    const int64_t arrivalPs = AddPs(AddPs(startPs, txTimePs), m_hot.delayPs);
    if (arrivalPs == CLOCK_END_PS) [[unlikely]]
    {
        RefuseBeyondClock("time",
                          fmt::format("a frame that node {} sends at {} ns arrives",
                                      m_hot.nodeId,
                                      startPs / 1000));
    }
    return arrivalPs;
}

inline void
LinkPort::PutOnWire(QbbFrame* frame, int64_t nowPs)
{
    if (m_hot.watched) [[unlikely]]
    {
        TraceTx(*frame);
    }
    NS_LOG_LOGIC("node " << m_hot.nodeId << " port " << m_hot.port << " begins to send " << *frame);
    // Store and forward: the far end has the frame when its last bit has arrived.
    const int64_t txTime = GetTxTimePs(frame->wireBytes);
    const int64_t arrivalPs = ArrivalPs(nowPs, txTime);
    m_hot.busyUntilPs = arrivalPs - m_hot.delayPs;
    m_hot.busyPs += txTime;
    m_hot.lastIsEvent = !m_hot.wire->LeadsElsewhere();
    m_hot.wire->Put(frame, arrivalPs);
}

void
LinkPort::SendNow(QbbFrame* frame, int64_t nowPs)
{
    NS_ASSERT(CanSendNow(nowPs));
    ++m_hot.txFrames;
    m_hot.txBytes += frame->wireBytes;
    PutOnWire(frame, nowPs);
}

[[gnu::noinline]] QbbFrame*
LinkPort::TakeControl()
{
    QbbFrame* frame = m_hot.control.Take();
    switch (frame->kind)
    {
    case QbbFrameKind::Pfc:
        ++m_counters.pfcSent;
        m_counters.pfcBytes += frame->wireBytes;
        break;
    case QbbFrameKind::LinkControl:
        ++m_counters.orderedSets;
        break;
    default:
        ++m_counters.replayedFrames;
        m_counters.replayedBytes += frame->wireBytes;
    }
    return frame;
}

inline QbbFrame*
LinkPort::TakeNext(int64_t nowPs)
{
    if (m_hot.control) // goes first, and no pause holds it
    {
        return TakeControl();
    }
    const uint8_t eligible = (m_hot.queuedMask | m_hot.sourceReady) & ~m_hot.pausedMask;
    if (!eligible)
    {
        return nullptr;
    }
    // Most often one priority has frames: the scheduler of the derived class is asked only if there
    // are two bits.
    const bool several = eligible & (eligible - 1);
    const uint8_t priority =
        several ? ChoosePriority(eligible) : static_cast<uint8_t>(std::countr_zero(eligible));
    QbbFrame* frame;
    if (m_hot.queuedMask >> priority & 1)
    {
        frame = Dequeue(priority);
        m_hot.node->OnFrameDeparture(m_hot.port, *frame, nowPs);
    }
    else
    {
        frame = m_hot.source->PullFrame(priority, nowPs);
    }
    if (several)
    {
        OnChosen(priority, frame->wireBytes);
    }
    ++m_hot.txFrames;
    m_hot.txBytes += frame->wireBytes;
    return frame;
}

void
LinkPort::Transmit(int64_t nowPs)
{
    if (!m_hot.linkUp)
    {
        // A switch cannot hold frames for a port that is down: they would pause others for ever.
        FlushQueues(nowPs);
        return;
    }
    // The source may set its timer or its priorities while it gives a frame (SetTimer,
    // SetSourceReadyMask); these are carried out below, once.
    m_hot.transmitting = true;
    QbbFrame* frame = TakeNext(nowPs);
    m_hot.transmitting = false;
    if (!frame)
    {
        return;
    }
    PutOnWire(frame, nowPs);
    if (m_hot.control || ((m_hot.queuedMask | m_hot.sourceReady) & ~m_hot.pausedMask))
    {
        ArmTransmit(nowPs);
    }
    else if (m_hot.source)
    {
        AwaitWork(nowPs);
    }
}

void
LinkPort::ArmTransmit(int64_t nowPs)
{
    // The next frame leaves in time if the frame being sent arrives in this partition: its arrival
    // carries out the agenda first. Otherwise nothing might look at the agenda before the next
    // frame should itself arrive, and the end becomes an event.
    const bool inTime = m_hot.lastIsEvent || m_hot.wire->AwaitsLast();
    if (!m_hot.transmitArmed)
    {
        m_hot.transmitArmed = true;
        m_hot.agenda->AddEnd(*this);
    }
    else if (inTime)
    {
        return;
    }
    if (m_hot.watched || !inTime)
    {
        m_hot.agenda->AwaitEnd(*this);
    }
}

void
LinkPort::AwaitWork(int64_t nowPs)
{
    if (!m_hot.source || !m_hot.agenda->IsPending() || (!IsExact() && m_hot.wire->AwaitsLast()))
    {
        return;
    }
    // A timer of the source (the pacing of a rate) has no arrival before it that would carry it out
    // when the wire is empty. The first moment at which somebody can observe the frame that it
    // sends is the frame's arrival; the work has to be done by then, not at the time of the timer.
    int64_t wakePs = m_hot.agenda->GetTimerPs();
    if (wakePs == LinkAgenda::NEVER)
    {
        return;
    }
    if (!IsExact())
    {
        // Only the size of the frame that is sure to be first counts: a smaller one instead would
        // arrive earlier.
        wakePs = ArrivalPs(wakePs, GetTxTimePs(m_hot.source->GetLeastBytes()));
    }
    wakePs = std::max(wakePs, nowPs);
    if (m_hot.wire->LeadsElsewhere())
    {
        m_hot.agenda->WakeAt(m_hot.nodeId, wakePs);
    }
    else
    {
        m_hot.wire->WakeAt(m_hot.nodeId, wakePs);
    }
}

void
LinkPort::OnTransmissionEnd(int64_t timePs)
{
    m_hot.transmitArmed = false;
    TransmitWhenFree(timePs);
}

// --- asking and watching

QbbPortCounters
LinkPort::CountAll() const
{
    if (m_hot.node)
    {
        m_hot.node->CatchUpIfDue();
    }
    QbbPortCounters counters = m_counters;
    counters.busyPs = m_hot.busyPs;
    counters.txFrames = m_hot.txFrames;
    counters.txBytes = m_hot.txBytes;
    counters.rxFrames = m_incoming ? m_incoming->GetArrivedCount() : 0;
    return counters;
}

uint64_t
LinkPort::GetQueueBytes() const
{
    CatchUp();
    uint64_t bytes = 0;
    for (uint32_t mask = m_hot.queuedMask; mask; mask &= mask - 1)
    {
        bytes += m_queues[std::countr_zero(mask)].bytes;
    }
    return bytes;
}

void
LinkPort::Watch()
{
    m_hot.watched = true;
    if (m_hot.transmitArmed)
    {
        m_hot.agenda->AwaitEnd(*this);
    }
    if (m_hot.source)
    {
        AwaitWork(Simulator::Now().GetTimeStep());
    }
    if (m_incoming)
    {
        m_incoming->SetReceiverWatched();
    }
}

// --- pauses

void
LinkPort::NeedDeparturesInTime(bool need)
{
    if (need == m_hot.departuresInTime)
    {
        return;
    }
    m_hot.departuresInTime = need;
    if (need)
    {
        m_hot.agenda->HoldExact();
    }
    else
    {
        m_hot.agenda->ReleaseExact();
    }
}

void
LinkPort::SetPausedMask(uint8_t mask, int64_t nowPs)
{
    // A priority that is paused anew needs nothing: TakeNext() passes it over from now on.
    const uint8_t resumed = GetPausedMask() & ~mask;
    Hold(LinkHold::Pause, mask);
    if (resumed && m_hot.linkUp)
    {
        TransmitWhenFree(nowPs);
    }
    AwaitWork(nowPs);
}

// --- the guard

void
LinkPort::SetGuard(std::unique_ptr<LinkGuard> guard)
{
    m_guard = std::move(guard);
    m_hot.wire->SetGuard(m_guard.get());
}

void
LinkPort::Hold(LinkHold reason, uint8_t mask)
{
    m_held[static_cast<std::size_t>(reason)] = mask;
    m_hot.pausedMask = m_held[0] | m_held[1] | m_held[2];
}

void
LinkPort::SendControl(int64_t nowPs)
{
    if (m_hot.linkUp)
    {
        TransmitWhenFree(nowPs);
    }
    AwaitWork(nowPs);
}

// --- losses

void
LinkPort::SetLinkUp(bool up, int64_t nowPs)
{
    CatchUp();
    m_hot.linkUp = up;
    if (up)
    {
        TransmitWhenFree(nowPs);
        return;
    }
    m_hot.wire->Cut();
    m_hot.lastIsEvent = false;
    FlushQueues(nowPs);
    m_hot.control.Clear(*m_hot.pool);
    if (m_guard)
    {
        m_guard->Restart(*m_peer->m_guard);
    }
    AwaitWork(nowPs); // the lost frame's arrival would have carried out the work
}

void
LinkPort::SetRate(uint64_t rateBps)
{
    CatchUp();
    m_rateBps = rateBps;
    m_hot.serialization = SerializationDelay(rateBps);
    if (m_guard)
    {
        m_guard->FitToRate();
    }
}

void
LinkPort::Lose(QbbFrame* frame)
{
    if (frame->kind == QbbFrameKind::LinkControl)
    {
        m_hot.pool->Free(frame);
        return;
    }
    Discard(frame, m_counters.lostFrames);
}

void
LinkPort::Discard(QbbFrame* frame, uint64_t& count)
{
    NS_LOG_INFO("node " << m_hot.nodeId << " port " << m_hot.port << " loses " << *frame);
    TraceLost(*frame);
    ++count;
    if (frame->kind == QbbFrameKind::Data)
    {
        m_counters.lostPayload += frame->payloadBytes;
    }
    m_hot.pool->Free(frame);
}

void
LinkPort::FlushQueue(uint8_t priority, int64_t nowPs)
{
    CatchUp();
    while (m_hot.queuedMask >> priority & 1)
    {
        QbbFrame* frame = Dequeue(priority);
        m_hot.node->OnFrameDeparture(m_hot.port, *frame, nowPs);
        Discard(frame, m_counters.flushedFrames);
    }
}

void
LinkPort::FlushQueues(int64_t nowPs)
{
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        FlushQueue(priority, nowPs);
    }
}

} // namespace ns3
