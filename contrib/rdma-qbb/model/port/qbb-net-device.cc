/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-net-device.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/link-protection.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("QbbNetDevice");

NS_OBJECT_ENSURE_REGISTERED(QbbNetDevice);

namespace
{

/// Bytes that a turn adds to a priority's credit, times its weight: a jumbo frame's worth.
constexpr int64_t ROUND_BYTES = 9216;

/// Header, FCS, preamble and gap of a packet given to Send().
constexpr uint32_t ETHERNET_BYTES = 38;

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
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          DataRateValue(DataRate("100Gb/s")),
                          MakeDataRateAccessor(&QbbNetDevice::m_rate),
                          MakeDataRateChecker())
            .AddAttribute(
                "PauseTime",
                "How long a PFC pause lasts unless refreshed or resumed, at least as long as two "
                "of the longest RDMA frames; it is refreshed at half of it. 0: until resumed",
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
            .AddAttribute(
                "QueueWeights",
                "Shares in which priorities 1 to 7 send while they all wait: \"3=4 4=1\"; "
                "1 where nothing is said",
                QueueWeightsValue(QueueWeights()),
                MakeQueueWeightsAccessor(&QbbNetDevice::SetQueueWeights,
                                         &QbbNetDevice::GetQueueWeights),
                MakeQueueWeightsChecker())
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
            .AddTraceSource("QueueBytes",
                            "The bytes change that wait in one of the port's queues",
                            MakeTraceSourceAccessor(&QbbNetDevice::m_queueBytes),
                            "ns3::QbbNetDevice::QueueCallback")
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

QbbNetDevice::QbbNetDevice() = default;

QbbNetDevice::QbbNetDevice(const QbbNetDevice& model)
    : NetDevice(model),
      m_weight(model.m_weight),
      m_pauseTime(model.m_pauseTime),
      m_longestFrame(model.m_longestFrame),
      m_rate(model.m_rate),
      m_otherPriority(model.m_otherPriority),
      m_otherQueueLimit(model.m_otherQueueLimit),
      m_mtu(model.m_mtu),
      m_rdmaMtu(model.m_rdmaMtu)
{
}

QbbNetDevice::~QbbNetDevice() = default;

void
QbbNetDevice::DoInitialize()
{
    NS_ABORT_MSG_UNLESS(Time::GetResolution() == Time::PS,
                        "QbbNetDevice counts in picoseconds: call Time::SetResolution(Time::PS) "
                        "before anything else");
    const bool isUp = m_channel && m_channel->IsUp();
    const bool isLossy = m_channel && m_channel->GetErrorRate() > 0;
    const int64_t delayPs = m_channel ? m_channel->GetDelayPs() : 0;
    Start(m_rate.GetBitRate(), delayPs, isUp, isLossy);
    if (m_channel)
    {
        ProtectLink(isLossy);
    }
    m_peerAddress = m_peer ? m_peer->m_address : Mac48Address();
    NetDevice::DoInitialize();
}

LinkCredits*
QbbNetDevice::GetCredits() const
{
    return m_protection && m_protection->credits ? &*m_protection->credits : nullptr;
}

bool
QbbNetDevice::Retries() const
{
    return m_protection && m_protection->retry;
}

void
QbbNetDevice::ReturnCredit(uint8_t priority, uint32_t bytes, int64_t nowPs)
{
    if (LinkCredits* credits = GetCredits())
    {
        credits->Return(priority, bytes, nowPs);
    }
}

void
QbbNetDevice::ProtectLink(bool isLossy)
{
    const uint32_t longest = m_longestFrame ? m_longestFrame : m_mtu + ETHERNET_BYTES;
    const bool isRetried = m_channel->Retries();
    const uint64_t creditBytes = m_channel->GetCreditBytes();
    if (!isRetried && creditBytes == 0)
    {
        return;
    }
    auto protection = std::make_unique<LinkProtection>();
    if (isRetried)
    {
        protection->retry.emplace(*this,
                                  LinkRetry::Settings{m_channel->GetReplayBuffer(),
                                                      m_channel->GetReplayTimeoutPs(),
                                                      longest,
                                                      isLossy});
    }
    if (creditBytes > 0)
    {
        protection->credits.emplace(*this,
                                    LinkCredits::Settings{std::max<uint64_t>(creditBytes, longest),
                                                          m_channel->GetCreditPriorities(),
                                                          longest,
                                                          isLossy,
                                                          isRetried});
    }
    m_protection = protection.get();
    SetGuard(std::move(protection));
}

void
QbbNetDevice::DoDispose()
{
    Stop();
    m_protection = nullptr;
    if (m_expiryEvent)
    {
        m_expiryEvent->Detach();
    }
    if (m_refreshEvent)
    {
        m_refreshEvent->Detach();
    }
    m_peer = nullptr;
    m_channel = nullptr;
    m_node = nullptr;
    m_receive =
        MakeNullCallback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&>();
    NetDevice::DoDispose();
}

uint8_t
QbbNetDevice::ChoosePriority(uint8_t eligible)
{
    if (eligible & 1)
    {
        return 0;
    }
    // Surplus round robin: a priority sends while its credit is positive and pays for the frame
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

void
QbbNetDevice::OnChosen(uint8_t priority, uint32_t bytes)
{
    m_credit[priority] -= bytes;
}

void
QbbNetDevice::TraceEnqueue(const QbbFrame& frame)
{
    m_frameEnqueue(this, frame);
    TraceQueue(frame.priority, m_queues[frame.priority].bytes + frame.wireBytes);
}

void
QbbNetDevice::TraceTx(const QbbFrame& frame)
{
    if (frame.replayed || frame.kind == QbbFrameKind::LinkControl)
    {
        return; // below the MAC: each frame is sent once
    }
    TraceQueue(frame.priority, m_queues[frame.priority].bytes);
    TraceQueue(0, m_queues[0].bytes); // where answers wait that ignore pauses (RdmaHw)
    m_frameTx(this, frame);
    if (!m_phyTxBegin.IsEmpty())
    {
        m_phyTxBegin(MakePacket(frame, m_address, m_peerAddress));
    }
}

void
QbbNetDevice::TraceRx(const QbbFrame& frame)
{
    m_frameRx(this, frame);
    if (!m_phyRxEnd.IsEmpty())
    {
        m_phyRxEnd(MakePacket(frame, m_peerAddress, m_address));
    }
}

void
QbbNetDevice::TraceLost(const QbbFrame& frame)
{
    m_frameLost(this, frame);
    TraceQueue(frame.priority, m_queues[frame.priority].bytes);
}

void
QbbNetDevice::TraceQueue(uint8_t priority, uint64_t bytes)
{
    if (m_queueBytes.IsEmpty() || bytes == m_toldBytes[priority])
    {
        return;
    }
    m_queueBytes(this, priority, std::exchange(m_toldBytes[priority], bytes), bytes);
}

void
QbbNetDevice::OnWatched()
{
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        m_toldBytes[priority] = GetQueueBytes(priority);
    }
    Watch();
}

QbbPortCounters
QbbNetDevice::GetCounters(int64_t nowPs) const
{
    QbbPortCounters counters = CountAll();
    if (GetPausedMask())
    {
        counters.pausedPs += nowPs - m_pausedSincePs;
    }
    return counters;
}

// --- the link to the far end

void
QbbNetDevice::Attach(Ptr<QbbChannel> channel)
{
    channel->Attach(this, *this);
    if (channel->GetNDevices() == 2)
    {
        const auto first = DynamicCast<QbbNetDevice>(channel->GetDevice(0));
        first->JoinChannel(channel, this);
        JoinChannel(channel, first);
    }
}

void
QbbNetDevice::JoinChannel(Ptr<QbbChannel> channel, Ptr<QbbNetDevice> peer)
{
    NS_LOG_FUNCTION(this << channel << peer);
    m_channel = channel;
    m_peer = peer;
    Join(*peer);
    if (channel->GetErrorRate() > 0 && !m_lossVariable)
    {
        m_lossVariable = CreateObject<UniformRandomVariable>();
        SetLoss([variable = m_lossVariable, wire = PeekPointer(channel)] {
            return variable->GetValue() < wire->GetErrorRate();
        });
    }
}

void
QbbNetDevice::OnLinkChange(bool up)
{
    NS_LOG_INFO("node " << GetNodeId() << " port " << GetPort() << " has its link "
                        << (up ? "up" : "down"));
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    SetLinkUp(up, nowPs);
    if (!up)
    {
        // A dead link neither pauses nor is paused: the partner's state died with it.
        const uint8_t paused = GetPausedMask();
        ChangePause(0, nowPs);
        for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
        {
            if (paused >> priority & 1)
            {
                m_pfc(this, priority, false);
            }
        }
        m_pausingMask = 0;
    }
    m_linkChange();
}

void
QbbNetDevice::OnRateChange(uint64_t rateBps)
{
    NS_LOG_INFO("node " << GetNodeId() << " port " << GetPort() << " sends at " << rateBps
                        << " bps");
    SetRate(rateBps);
}

int64_t
QbbNetDevice::AssignStreams(int64_t stream)
{
    if (m_lossVariable)
    {
        m_lossVariable->SetStream(stream);
    }
    return 1;
}

} // namespace ns3
