/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Hot: no allocation per message once the pool has grown.
#include "cclo-rdma-engine.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CcloRdmaEngine");

NS_OBJECT_ENSURE_REGISTERED(CcloRdmaEngine);

/// Notice of a message to its receiver.
struct CcloRdmaEngine::Arrival
{
    uint32_t session;      ///< the sender's host
    int64_t creditDelayPs; ///< until a credit is there
    CcloMessage* message;  ///< passed beside the frames; the receiver owns it then

    void operator()(CcloRdmaEngine& receiver) const
    {
        receiver.OnDelivered(*this);
    }
};

/// A message, or the first part of a large one, given to a queue pair.
class CcloRdmaEngine::Posted : public RdmaMessage
{
  public:
    CcloRdmaEngine* owner{nullptr};
    uint32_t session{0};
    uint64_t size{0};
    bool carriesMessage{false}; ///< the last part does
    CcloMessage message;
    Posted* nextFree{nullptr};

    RdmaDeliveryCall GetDeliveryCall() override
    {
        if (!carriesMessage)
        {
            return {};
        }
        const int64_t delayPs = owner->m_sessions[session].queuePair->baseRttPs / 2;
        return {*(*owner->m_peers)[session], Arrival{owner->m_host, delayPs, &message}};
    }

    void OnSent() override
    {
        const uint64_t acknowledged = size;
        OnForgotten();
        owner->OnSent(acknowledged);
    }

    void OnForgotten() override
    {
        nextFree = owner->m_free;
        owner->m_free = this;
    }
};

TypeId
CcloRdmaEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloRdmaEngine")
            .SetParent<CcloProtocolEngine>()
            .SetGroupName("AcclCclo")
            .AddConstructor<CcloRdmaEngine>()
            .AddAttribute("Priority",
                          "Priority group of its frames",
                          UintegerValue(3),
                          MakeUintegerAccessor(&CcloRdmaEngine::m_priority),
                          MakeUintegerChecker<uint8_t>(1, 7))
            .AddAttribute(
                "SendBufferSize",
                "Bytes kept until they are acknowledged; the packetizer waits while there "
                "are more (an assumption: ACCL's sources do not say)",
                UintegerValue(65536),
                MakeUintegerAccessor(&CcloRdmaEngine::m_sendBuffer),
                MakeUintegerChecker<uint32_t>(4096))
            .AddAttribute("EagerWindow",
                          "Bytes of eager data that a sender may have on their way to a peer's rx "
                          "buffers (an assumption: what queues in front of a full receiver)",
                          UintegerValue(65536),
                          MakeUintegerAccessor(&CcloRdmaEngine::m_eagerWindow),
                          MakeUintegerChecker<uint32_t>(64))
            .AddAttribute("SendLatency",
                          "From the packetizer to the wire (an assumption: 100 cycles)",
                          TimeValue(NanoSeconds(400)),
                          MakeTimeAccessor(&CcloRdmaEngine::m_sendLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("ReceiveLatency",
                          "From the wire to the depacketizer (an assumption: 100 cycles)",
                          TimeValue(NanoSeconds(400)),
                          MakeTimeAccessor(&CcloRdmaEngine::m_receiveLatency),
                          MakeTimeChecker(Time(0)));
    return tid;
}

CcloRdmaEngine::CcloRdmaEngine() = default;

CcloRdmaEngine::~CcloRdmaEngine() = default;

void
CcloRdmaEngine::Install(Ptr<RdmaDriver> driver, CcloRdmaPeers peers)
{
    m_driver = driver;
    m_peers = std::move(peers);
    m_host = driver->GetHw().GetHostIndex();
    if (m_peers->size() <= m_host)
    {
        m_peers->resize(m_host + 1);
    }
    (*m_peers)[m_host] = this;
}

void
CcloRdmaEngine::DoDispose()
{
    m_sessions.clear();
    m_driver = nullptr;
    if (m_peers && m_host < m_peers->size())
    {
        (*m_peers)[m_host] = nullptr;
    }
    m_peers.reset();
    CcloProtocolEngine::DoDispose();
}

uint32_t
CcloRdmaEngine::GetStackType() const
{
    return 2;
}

bool
CcloRdmaEngine::CanWrite() const
{
    return true;
}

bool
CcloRdmaEngine::IsDrained() const
{
    return m_unsentBytes <= m_sendBuffer;
}

bool
CcloRdmaEngine::CanSend(uint32_t session, const CcloHeader& header) const
{
    if (!IsDrained())
    {
        return false;
    }
    if (header.type != CcloMessageType::Eager || session >= m_sessions.size())
    {
        return true;
    }
    const uint64_t unplaced = m_sessions[session].unplacedBytes;
    return unplaced == 0 || unplaced + header.count <= m_eagerWindow;
}

CcloRdmaEngine::Session&
CcloRdmaEngine::SessionAt(uint32_t session)
{
    if (m_sessions.size() <= session)
    {
        m_sessions.resize(m_peers->size());
    }
    return m_sessions[session];
}

bool
CcloRdmaEngine::LacksPath(uint32_t session) const
{
    return std::ranges::any_of(m_withoutPath,
                               [session](const auto& each) { return each.session == session; });
}

bool
CcloRdmaEngine::Connect(uint32_t session)
{
    NS_ABORT_MSG_IF(session >= m_peers->size() || !(*m_peers)[session],
                    "host " << m_host << " has no collective engine to talk to at host "
                            << session);
    Session& opened = SessionAt(session);
    if (!opened.queuePair)
    {
        RdmaConnectionOptions options;
        options.priority = m_priority;
        opened.queuePair = m_driver->Connect(session, options);
    }
    return opened.queuePair;
}

CcloRdmaEngine::Posted&
CcloRdmaEngine::Take()
{
    if (!m_free)
    {
        m_all.push_back(std::make_unique<Posted>());
        m_all.back()->owner = this;
        return *m_all.back();
    }
    return *std::exchange(m_free, m_free->nextFree);
}

int64_t
CcloRdmaEngine::WirePs(const RdmaQueuePair& queuePair, uint64_t bytes) const
{
    const RdmaHw& hw = m_driver->GetHw();
    const uint64_t overhead = hw.GetDataWireBytes(hw.GetMtu(), false) - hw.GetMtu();
    const uint64_t frames = (bytes + hw.GetMtu() - 1) / hw.GetMtu();
    const double bits = 8.0 * static_cast<double>(bytes + frames * overhead);
    return static_cast<int64_t>(bits * 1e12 / static_cast<double>(queuePair.lineRateBps));
}

uint64_t
CcloRdmaEngine::BytesOf(const CcloHeader& header)
{
    switch (header.type)
    {
    case CcloMessageType::Eager:
        return CcloHeader::BYTES + uint64_t{header.count};
    case CcloMessageType::RendezvousData:
        return header.count;
    default:
        return CcloHeader::BYTES;
    }
}

void
CcloRdmaEngine::Send(uint32_t session, CcloMessage&& message, int64_t spanPs)
{
    const CcloHeader& header = message.header;
    NS_LOG_LOGIC("host " << m_host << " to " << session << ": " << header);
    if (header.type == CcloMessageType::Eager)
    {
        SessionAt(session).unplacedBytes += header.count;
    }
    m_unsentBytes += BytesOf(header);
    Pending pending{session, std::move(message), spanPs};
    // Messages of a session stay in order: none overtakes one that waits for a path.
    if (!LacksPath(session) && Connect(session))
    {
        Start(std::move(pending));
        return;
    }
    NS_LOG_LOGIC("host " << m_host << " has to wait for a path");
    m_withoutPath.push_back(std::move(pending));
}

void
CcloRdmaEngine::OnRoutesChanged()
{
    for (Pending& pending : std::exchange(m_withoutPath, {}))
    {
        if (Connect(pending.session))
        {
            Start(std::move(pending));
        }
        else
        {
            m_withoutPath.push_back(std::move(pending));
        }
    }
}

void
CcloRdmaEngine::Start(Pending&& pending)
{
    const uint32_t session = pending.session;
    uint64_t bytes = BytesOf(pending.message.header);
    // Data that come more slowly than the wire takes them begin late enough not to run dry.
    const int64_t waitPs =
        std::max<int64_t>(0, pending.spanPs - WirePs(*m_sessions[session].queuePair, bytes));
    const Time start = m_sendLatency + PicoSeconds(waitPs);
    if (bytes > m_sendBuffer)
    {
        // In two parts, to see when only a buffer's worth is left.
        Posted& first = Take();
        first.carriesMessage = false;
        first.size = bytes - m_sendBuffer;
        Simulator::Schedule(start, [this, session, &first] { Post(session, first); });
        bytes = m_sendBuffer;
    }
    Posted& last = Take();
    last.carriesMessage = true;
    last.message = std::move(pending.message);
    last.size = bytes;
    Simulator::Schedule(start, [this, session, &last] { Post(session, last); });
}

void
CcloRdmaEngine::Post(uint32_t session, Posted& posted)
{
    posted.session = session;
    m_driver->GetHw().PostMessage(*m_sessions[session].queuePair, posted.size, posted);
}

void
CcloRdmaEngine::OnSent(uint64_t bytes)
{
    const bool wasDrained = IsDrained();
    m_unsentBytes -= bytes;
    NS_LOG_LOGIC("host " << m_host << " has " << m_unsentBytes << " bytes not acknowledged");
    if (!wasDrained && IsDrained() && m_listener)
    {
        m_listener->OnRoom();
    }
}

void
CcloRdmaEngine::OnDelivered(const Arrival& arrival)
{
    const uint32_t session = arrival.session;
    SessionAt(session).creditDelayPs = arrival.creditDelayPs;
    Simulator::Schedule(m_receiveLatency,
                        [this, session, message = std::move(*arrival.message)]() mutable {
                            if (m_listener)
                            {
                                m_listener->OnMessage(session, std::move(message));
                            }
                        });
}

void
CcloRdmaEngine::OnConsumed(uint32_t session, const CcloHeader& header)
{
    // The credit rides on an acknowledgement, which takes no frame of its own here.
    Simulator::Schedule(PicoSeconds(m_sessions[session].creditDelayPs),
                        &CcloRdmaEngine::OnCredit,
                        (*m_peers)[session],
                        m_host,
                        uint64_t{header.count});
}

void
CcloRdmaEngine::OnCredit(uint32_t session, uint64_t bytes)
{
    NS_LOG_LOGIC("host " << m_host << " may send host " << session << " " << bytes
                         << " bytes more");
    m_sessions[session].unplacedBytes -= bytes;
    if (m_listener)
    {
        m_listener->OnRoom();
    }
}

std::string
CcloRdmaEngine::DescribeSession(uint32_t session) const
{
    if (LacksPath(session))
    {
        return fmt::format("no path leads from host {} to host {}", m_host, session);
    }
    const uint64_t unplaced = session < m_sessions.size() ? m_sessions[session].unplacedBytes : 0;
    return fmt::format("host {} has yet to put {} bytes of eager data into rx buffers (EagerWindow "
                       "is {}); {} bytes wait for acknowledgement",
                       session,
                       unplaced,
                       m_eagerWindow,
                       m_unsentBytes);
}

} // namespace ns3
