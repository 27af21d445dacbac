/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-net-device.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("QbbNetDevice");

NS_OBJECT_ENSURE_REGISTERED(QbbNetDevice);

namespace
{

/// Bytes that a turn adds to a priority's credit, times its weight: a jumbo frame's worth.
constexpr int64_t ROUND_BYTES = 9216;

} // namespace

TypeId
QbbNetDevice::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::QbbNetDevice")
            .SetParent<NetDevice>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<QbbNetDevice>()
            .AddAttribute("DataRate",
                          "Line rate of the port",
                          DataRateValue(DataRate("100Gb/s")),
                          MakeDataRateAccessor(&QbbNetDevice::m_rate),
                          MakeDataRateChecker())
            .AddAttribute("PauseTime",
                          "How long a PFC pause lasts unless refreshed or resumed; it is refreshed "
                          "at half of it. 0: until resumed",
                          TimeValue(MicroSeconds(5)),
                          MakeTimeAccessor(&QbbNetDevice::m_pauseTime),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("OtherPriority",
                          "Priority queue of packets given to Send()",
                          UintegerValue(1),
                          MakeUintegerAccessor(&QbbNetDevice::m_otherPriority),
                          MakeUintegerChecker<uint8_t>(1, 7))
            .AddAttribute("OtherQueueLimit",
                          "Bytes of packets given to Send() that may wait here; more are dropped",
                          UintegerValue(1000000),
                          MakeUintegerAccessor(&QbbNetDevice::m_otherQueueLimit),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Mtu",
                          "Largest payload of a packet given to Send(), in bytes",
                          UintegerValue(9216),
                          MakeUintegerAccessor(&QbbNetDevice::m_mtu),
                          MakeUintegerChecker<uint16_t>(64))
            .AddAttribute("RdmaMtu",
                          "Payload bytes of a full RDMA frame: the unit of packet sequence numbers "
                          "in the packets of PhyTxBegin and PhyRxEnd",
                          UintegerValue(1000),
                          MakeUintegerAccessor(&QbbNetDevice::m_rdmaMtu),
                          MakeUintegerChecker<uint32_t>(1))
            .AddTraceSource("PhyTxBegin",
                            "A packet begins to be sent: a real one, made only for those who look "
                            "(see QbbPacketBuilder)",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_phyTxBegin),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("PhyRxEnd",
                            "A packet has been received whole, made as for PhyTxBegin",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_phyRxEnd),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("FrameTx",
                            "A frame begins to be sent, PFC frames included",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_frameTx),
                            "ns3::QbbNetDevice::FrameCallback")
            .AddTraceSource("FrameRx",
                            "A frame has been received whole, PFC frames included",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_frameRx),
                            "ns3::QbbNetDevice::FrameCallback")
            .AddTraceSource("FrameEnqueue",
                            "A frame enters one of the port's queues",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_frameEnqueue),
                            "ns3::QbbNetDevice::FrameCallback")
            .AddTraceSource("FrameLost",
                            "A frame this port sent was lost on the wire",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_frameLost),
                            "ns3::QbbNetDevice::FrameCallback")
            .AddTraceSource("Pfc",
                            "A priority of this port was paused or resumed by the far end",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_pfc),
                            "ns3::QbbNetDevice::PfcCallback")
            .AddTraceSource("MacTx",
                            "A packet was given to Send()",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_macTx),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacTxDrop",
                            "A packet given to Send() was dropped",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_macTxDrop),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacRx",
                            "A packet of kind Other goes up the stack",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_macRx),
                            "ns3::Packet::TracedCallback");
    return tid;
}

QbbNetDevice::QbbNetDevice()
{
    m_weight.fill(1);
}

QbbNetDevice::QbbNetDevice(const QbbNetDevice& model)
    : NetDevice(model),
      m_pauseTime(model.m_pauseTime),
      m_rate(model.m_rate),
      m_otherPriority(model.m_otherPriority),
      m_otherQueueLimit(model.m_otherQueueLimit),
      m_mtu(model.m_mtu),
      m_rdmaMtu(model.m_rdmaMtu),
      m_weight(model.m_weight)
{
}

QbbNetDevice::~QbbNetDevice() = default;

void
QbbNetDevice::DoInitialize()
{
    NS_ABORT_MSG_UNLESS(Time::GetResolution() == Time::PS,
                        "QbbNetDevice counts in picoseconds: call Time::SetResolution(Time::PS) "
                        "before anything else");
    m_poolRef = m_poolRef->Resolve();
    m_pool = PeekPointer(m_poolRef);
    m_rateBps = m_rate.GetBitRate();
    m_serialization = SerializationDelay(m_rateBps);
    if (m_channel)
    {
        m_delayPs = m_channel->GetDelayPs();
        m_errorRate = m_channel->GetErrorRate();
        m_linkUp = m_channel->IsUp();
    }
    m_nodeId = m_node->GetId();
    ConnectWire();
    NetDevice::DoInitialize();
}

void
QbbNetDevice::DoDispose()
{
    for (auto& queue : m_queues)
    {
        while (queue.head)
        {
            QbbFrame* frame = queue.head;
            queue.head = frame->next;
            m_pool->Free(frame);
        }
        queue = Queue();
    }
    FreeControl();
    m_wire->Detach();
    if (m_expiryEvent)
    {
        m_expiryEvent->Detach();
    }
    if (m_refreshEvent)
    {
        m_refreshEvent->Detach();
    }
    m_peerRaw = nullptr;
    m_peer = nullptr;
    m_channel = nullptr;
    m_node = nullptr;
    m_handler = nullptr;
    m_source = nullptr;
    m_late = nullptr;
    m_receive =
        MakeNullCallback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&>();
    NetDevice::DoDispose();
}

void
QbbNetDevice::SetHandler(QbbPortHandler* handler, uint16_t port)
{
    m_handler = handler;
    m_port = port;
    if (m_peerRaw)
    {
        m_peerRaw->ConnectWire();
    }
}

void
QbbNetDevice::SetLateWork(QbbLateWork* work)
{
    NS_ASSERT_MSG(!IsInitialized(), "set before the simulation begins");
    m_late = work;
}

void
QbbNetDevice::SetSource(QbbFrameSource* source)
{
    m_source = source;
}

void
QbbNetDevice::SetWeight(uint8_t priority, uint32_t weight)
{
    NS_ABORT_MSG_UNLESS(priority > 0 && priority < PRIORITIES && weight > 0,
                        "weights of 1 or more belong to priorities 1..7");
    m_weight[priority] = weight;
}

// --- sending

void
QbbNetDevice::Enqueue(QbbFrame* frame, int64_t nowPs)
{
    if (m_watched) [[unlikely]]
    {
        m_frameEnqueue(this, *frame);
    }
    m_wire->AskQuiet(*frame);
    m_loudQueued += !frame->quiet;
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
    m_queuedMask |= 1U << frame->priority;
    TransmitWhenFree(nowPs);
}

void
QbbNetDevice::SendNow(QbbFrame* frame, int64_t nowPs, bool isAwaited)
{
    NS_ASSERT(CanSendNow(nowPs));
    ++m_counters.txFrames;
    m_counters.txBytes += frame->wireBytes;
    m_wire->AskQuiet(*frame);
    if (isAwaited)
    {
        frame->quiet = false;
    }
    PutOnWire(frame, nowPs);
}

QbbFrame*
QbbNetDevice::Dequeue(uint8_t priority)
{
    Queue& queue = m_queues[priority];
    QbbFrame* frame = queue.head;
    queue.head = frame->next;
    queue.bytes -= frame->wireBytes;
    m_loudQueued -= !frame->quiet;
    if (!queue.head)
    {
        queue.tail = nullptr;
        m_queuedMask &= ~(1U << priority);
    }
    return frame;
}

uint8_t
QbbNetDevice::ChooseByWeight(uint8_t eligible)
{
    // Surplus round robin: a priority sends while its credit is positive and pays for what it sent
    // afterwards, so frame sizes need not be known in advance.
    for (;;)
    {
        if ((eligible >> m_turn & 1) && m_credit[m_turn] > 0)
        {
            return m_turn;
        }
        m_turn = m_turn == PRIORITIES - 1 ? 1 : m_turn + 1;
        if (eligible >> m_turn & 1)
        {
            m_credit[m_turn] += ROUND_BYTES * m_weight[m_turn];
        }
        else
        {
            m_credit[m_turn] = std::min<int64_t>(m_credit[m_turn], 0);
        }
    }
}

QbbFrame*
QbbNetDevice::TakeNext(int64_t nowPs)
{
    if (m_control)
    {
        QbbFrame* frame = m_control;
        m_control = frame->next;
        ++m_counters.pfcSent;
        return frame;
    }
    const uint8_t eligible = (m_queuedMask | m_sourceReady) & ~m_pausedMask;
    if (!eligible)
    {
        return nullptr;
    }
    uint8_t priority = 0;
    if (!(eligible & 1))
    {
        if (!(eligible & (eligible - 1)))
        {
            priority = static_cast<uint8_t>(std::countr_zero(eligible));
        }
        else
        {
            priority = ChooseByWeight(eligible);
        }
    }
    QbbFrame* frame;
    if (m_queuedMask >> priority & 1)
    {
        frame = Dequeue(priority);
        m_handler->OnFrameDeparture(m_port, *frame, nowPs);
    }
    else
    {
        frame = m_source->PullFrame(priority, nowPs);
        m_wire->AskQuiet(*frame);
    }
    if (eligible & (eligible - 1))
    {
        m_credit[priority] -= frame->wireBytes;
    }
    ++m_counters.txFrames;
    m_counters.txBytes += frame->wireBytes;
    return frame;
}

void
QbbNetDevice::Transmit(int64_t nowPs)
{
    if (!m_linkUp)
    {
        // A switch cannot hold frames for a port that is down: they would pause others for ever.
        FlushQueues(nowPs);
        return;
    }
    QbbFrame* frame = TakeNext(nowPs);
    if (!frame)
    {
        return;
    }
    PutOnWire(frame, nowPs);
    if (m_control || ((m_queuedMask | m_sourceReady) & ~m_pausedMask))
    {
        ArmTransmit(nowPs);
    }
    else if (m_source && m_late->IsPending())
    {
        AwaitLateWork(nowPs);
    }
}

void
QbbNetDevice::ArmTransmit(int64_t nowPs)
{
    // What waits leaves in time if the arrival of the frame being sent is an event. If all of it
    // arrives quietly, there is time until something else happens.
    const bool inTime = !(m_loudQueued || m_control || m_sourceReady) || m_wire->AwaitLast();
    if (!m_transmitArmed)
    {
        m_transmitArmed = true;
        m_late->AddEnd(m_port);
    }
    else if (inTime)
    {
        return;
    }
    if (m_watched || !inTime)
    {
        m_late->Await(*this);
    }
}

void
QbbNetDevice::AwaitLateWork(int64_t nowPs)
{
    if (m_source && m_late->IsPending() && (m_watched || !m_wire->AwaitLast()))
    {
        m_late->AwaitNext(nowPs);
    }
}

void
QbbNetDevice::OnTransmissionEnd(int64_t timePs)
{
    m_transmitArmed = false;
    TransmitWhenFree(timePs);
}

void
QbbNetDevice::Settle() const
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    if (m_late)
    {
        m_late->Settle(m_source ? nowPs - 1 : nowPs); // a host's work comes last at its time
    }
    if (m_peerRaw)
    {
        m_peerRaw->m_wire->HandOverQuiet(nowPs);
    }
}

void
QbbNetDevice::OnWatched()
{
    m_watched = true;
    if (m_transmitArmed)
    {
        m_late->Await(*this);
    }
    if (m_source && m_late->IsPending())
    {
        AwaitLateWork(Simulator::Now().GetTimeStep());
    }
    if (m_peerRaw)
    {
        m_peerRaw->m_wire->SetReceiverWatched();
    }
}

void
QbbNetDevice::TraceTx(const QbbFrame& frame)
{
    m_frameTx(this, frame);
    if (!m_phyTxBegin.IsEmpty())
    {
        m_phyTxBegin(MakePacket(frame));
    }
}

void
QbbNetDevice::TraceRx(const QbbFrame& frame, const QbbNetDevice& sender)
{
    m_frameRx(this, frame);
    if (!m_phyRxEnd.IsEmpty())
    {
        m_phyRxEnd(sender.MakePacket(frame));
    }
}

uint64_t
QbbNetDevice::PeekQueueBytes() const
{
    uint64_t bytes = 0;
    for (uint32_t mask = m_queuedMask; mask; mask &= mask - 1)
    {
        bytes += m_queues[std::countr_zero(mask)].bytes;
    }
    return bytes;
}

QbbPortCounters
QbbNetDevice::GetCounters(int64_t nowPs) const
{
    Settle();
    QbbPortCounters counters = m_counters;
    counters.rxFrames = m_peerRaw ? m_peerRaw->m_wire->GetArrivedCount() : 0;
    if (m_pausedMask)
    {
        counters.pausedPs += nowPs - m_pausedSincePs;
    }
    return counters;
}

} // namespace ns3
