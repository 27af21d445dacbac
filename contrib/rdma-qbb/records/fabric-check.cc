/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-check.h"

#include "rdma-qbb/fabric/pfc-watchdog.h"

#include "ns3/boolean.h"
#include "ns3/callback.h"
#include "ns3/simulator.h"
#include "ns3/trace-source.h"

#include <algorithm>
#include <fmt/format.h>

namespace ns3
{

// Each port has a list of the frames on its wire, with the time of arrival (Port::flights). OnTx()
// appends a frame; OnRx() at the far end must find it first in the list and due now; OnLost()
// removes it. Each queue pair (m_pairs, by its number at the sender) has a count of the payload
// that is under way: OnTx() at the sending host adds a data frame's, Arrived() takes it off where
// the frame arrives, is dropped or is lost. A frame carries the receiver's number of the pair, so
// m_names leads from that to the sender's number. Window and rate are those of the pair, or the
// higher ones that it had at its last frame, since a pair keeps its turn at the NIC. Buffers are
// compared with their queues once in FRAMES_BETWEEN_LOOKS frames, and all counters in Finish().

namespace
{

constexpr uint32_t FRAMES_BETWEEN_LOOKS = 1000; ///< at a switch's buffer
constexpr uint8_t IN_NETWORK = QBB_FLAG_REDUCE | QBB_FLAG_MULTICAST;

const char*
NameOf(QbbFrameKind kind)
{
    static constexpr const char* NAMES[] =
        {"data frame", "ACK", "NACK", "CNP", "PFC frame", "frame", "control frame", "ordered set"};
    return NAMES[static_cast<uint8_t>(kind)];
}

} // namespace

FabricCheck::FabricCheck(RdmaFabric& fabric, Report report)
    : m_fabric(fabric),
      m_report(std::move(report))
{
    const ClusterTopology& topology = fabric.GetTopology();
    m_bufferDrops.resize(topology.nodeCount);
    m_framesToLook.resize(topology.nodeCount, FRAMES_BETWEEN_LOOKS);
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        m_firstPort.push_back(static_cast<uint32_t>(m_ports.size()));
        const auto count = static_cast<uint16_t>(topology.Ports(node).size());
        for (uint16_t number = 0; number < count; ++number)
        {
            Port& port = m_ports.emplace_back();
            port.node = node;
            port.number = number;
        }
    }
    BooleanValue ignorePauses;
    m_fabric.GetHw(0).GetAttribute("AckIgnoresPause", ignorePauses);
    m_answersIgnorePauses = ignorePauses.Get();
    for (Port& port : m_ports)
    {
        const Ptr<QbbNetDevice> peer = m_fabric.GetDevice(port.node, port.number).GetPeer();
        port.peer = m_firstPort[m_fabric.NodeOf(*peer)] + peer->GetPort();
    }
    Attach(true);
}

FabricCheck::~FabricCheck()
{
    Attach(false);
}

void
FabricCheck::Attach(bool connect)
{
    const auto attach = [connect](auto& object, const auto& source, const auto& callback) {
        connect ? source.Connect(object, callback) : source.Disconnect(object, callback);
    };
    const TraceSource<QbbNetDevice> tx("FrameTx");
    const TraceSource<QbbNetDevice> rx("FrameRx");
    const TraceSource<QbbNetDevice> lost("FrameLost");
    const TraceSource<QbbNetDevice> pfc("Pfc");
    for (uint32_t index = 0; index < m_ports.size(); ++index)
    {
        const Port& port = m_ports[index];
        QbbNetDevice& device = m_fabric.GetDevice(port.node, port.number);
        attach(device, tx, MakeCallback(&FabricCheck::OnTx, this).Bind(index));
        attach(device, rx, MakeCallback(&FabricCheck::OnRx, this).Bind(index));
        attach(device, lost, MakeCallback(&FabricCheck::OnLost, this).Bind(index));
        attach(device, pfc, MakeCallback(&FabricCheck::OnPfc, this).Bind(index));
    }
    const TraceSource<SwitchNode> drop("Drop");
    const TraceSource<SwitchNode> trim("Trim");
    for (uint32_t node = 0; node < m_firstPort.size(); ++node)
    {
        if (SwitchNode* at = m_fabric.GetSwitch(node))
        {
            attach(*at, drop, MakeCallback(&FabricCheck::OnDrop, this).Bind(node));
            attach(*at, trim, MakeCallback(&FabricCheck::OnTrim, this));
        }
    }
    const TraceSource<RdmaHw> open("QpOpen");
    const TraceSource<RdmaHw> named("QpNamed");
    const TraceSource<RdmaHw> close("QpClose");
    for (uint32_t host = 0; host < m_fabric.GetTopology().hostCount; ++host)
    {
        attach(m_fabric.GetHw(host), open, MakeCallback(&FabricCheck::OnOpen, this));
        attach(m_fabric.GetHw(host), named, MakeCallback(&FabricCheck::OnNamed, this));
        attach(m_fabric.GetHw(host), close, MakeCallback(&FabricCheck::OnClose, this));
    }
}

void
FabricCheck::Fail(const std::string& what) const
{
    m_report(fmt::format("at {} ps: {}", Simulator::Now().GetTimeStep(), what));
}

void
FabricCheck::Tick()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    if (nowPs < m_lastPs)
    {
        Fail(fmt::format("the clock has run backwards, from {} ps", m_lastPs));
    }
    m_lastPs = nowPs;
}

std::string
FabricCheck::Name(const Port& port) const
{
    return fmt::format("port {} of node {}", port.number + 1, port.node);
}

FabricCheck::Pairs::iterator
FabricCheck::FindPair(const QbbFrame& frame)
{
    if (frame.kind != QbbFrameKind::Data || (frame.flags & IN_NETWORK))
    {
        return m_pairs.end();
    }
    PairKey key{uint64_t{frame.src} << 32 | frame.dst, frame.qpn};
    if (!(frame.flags & QBB_FLAG_FROM_AFAR))
    {
        const auto named = m_names.find(key);
        if (named == m_names.end())
        {
            return m_pairs.end();
        }
        key.qpn = named->second;
    }
    return m_pairs.find(key);
}

void
FabricCheck::Erase(Pairs::iterator pair)
{
    m_names.erase(pair->second.name);
    m_pairs.erase(pair);
}

// --- links

void
FabricCheck::OnTx(uint32_t index, Ptr<const QbbNetDevice> device, const QbbFrame& frame)
{
    Tick();
    Port& port = m_ports[index];
    if (m_lastPs < port.busyUntilPs)
    {
        Fail(fmt::format("{} begins a {} while it sends another until {} ps",
                         Name(port),
                         NameOf(frame.kind),
                         port.busyUntilPs));
    }
    port.busyUntilPs = m_lastPs + device->GetTxTimePs(frame.wireBytes);
    const bool isPfc = frame.kind == QbbFrameKind::Pfc;
    if (!isPfc || !device->Retries())
    {
        port.flights.push_back({&frame, frame, port.busyUntilPs + device->GetDelayPs()});
    }
    if (isPfc)
    {
        return;
    }
    ++port.sentFrames;
    port.sentBytes += frame.wireBytes;
    // Not port.paused: frames that wait for a resume leave before others are told of the resume.
    const bool waitedElsewhere = m_answersIgnorePauses && frame.kind != QbbFrameKind::Data &&
                                 frame.kind != QbbFrameKind::Other &&
                                 !m_fabric.GetSwitch(port.node);
    if (device->GetPausedMask() >> frame.priority & 1 && !waitedElsewhere)
    {
        Fail(fmt::format("{} sends a {} of priority {}, which is paused",
                         Name(port),
                         NameOf(frame.kind),
                         +frame.priority));
    }
    if (!m_fabric.GetSwitch(port.node))
    {
        CheckPairTx(port, frame);
    }
}

void
FabricCheck::OnRx(uint32_t index, Ptr<const QbbNetDevice> device, const QbbFrame& frame)
{
    Tick();
    const bool isRetried = device->Retries();
    if (isRetried && frame.kind == QbbFrameKind::Pfc)
    {
        return; // may overtake replays
    }
    const Port& receiver = m_ports[index];
    Port& port = m_ports[receiver.peer];
    if (port.flights.empty() || !port.flights.front().Is(frame, isRetried))
    {
        Fail(fmt::format("{} receives a {} that is not the oldest on the wire",
                         Name(receiver),
                         NameOf(frame.kind)));
        return;
    }
    const int64_t duePs = port.flights.front().duePs;
    port.flights.pop_front();
    if (isRetried ? duePs > m_lastPs : duePs != m_lastPs)
    {
        Fail(fmt::format("{} receives a {} that is due at {} ps",
                         Name(receiver),
                         NameOf(frame.kind),
                         duePs));
    }
    if (frame.kind == QbbFrameKind::Pfc)
    {
        return;
    }
    ++port.arrivedFrames;
    if (!m_fabric.GetSwitch(receiver.node))
    {
        NoteRate(frame);
        Arrived(frame);
    }
    else if (--m_framesToLook[receiver.node] == 0)
    {
        m_framesToLook[receiver.node] = FRAMES_BETWEEN_LOOKS;
        CheckBuffer(receiver.node);
    }
}

void
FabricCheck::OnLost(uint32_t index, Ptr<const QbbNetDevice> device, const QbbFrame& frame)
{
    Tick();
    // A frame lost in the queue was not on the wire, so no flight matches it.
    auto& flights = m_ports[index].flights;
    const bool isRetried = device->Retries();
    const auto lost = std::ranges::find_if(flights, [&frame, isRetried](const Flight& flight) {
        return flight.Is(frame, isRetried);
    });
    if (lost != flights.end())
    {
        flights.erase(lost);
    }
    Arrived(frame);
}

void
FabricCheck::OnPfc(uint32_t index, Ptr<const QbbNetDevice>, uint8_t priority, bool paused)
{
    Tick();
    Port& port = m_ports[index];
    const auto bit = static_cast<uint8_t>(1U << priority);
    if (static_cast<bool>(port.paused & bit) == paused)
    {
        Fail(fmt::format("priority {} of {} is {} twice",
                         +priority,
                         Name(port),
                         paused ? "paused" : "resumed"));
    }
    port.paused = paused ? port.paused | bit : port.paused & ~bit;
}

// --- queue pairs

void
FabricCheck::OnOpen(const RdmaQueuePair& qp)
{
    if (qp.contribution)
    {
        return;
    }
    m_pairs[{uint64_t{qp.src} << 32 | qp.dst, qp.qpn}].open = &qp;
    if (qp.KnowsPeer())
    {
        OnNamed(qp);
    }
}

void
FabricCheck::OnNamed(const RdmaQueuePair& qp)
{
    const uint64_t hosts = uint64_t{qp.src} << 32 | qp.dst;
    m_pairs[{hosts, qp.qpn}].name = {hosts, qp.peerQpn};
    m_names[{hosts, qp.peerQpn}] = qp.qpn;
}

void
FabricCheck::OnClose(const RdmaQueuePair& qp)
{
    const auto found = m_pairs.find({uint64_t{qp.src} << 32 | qp.dst, qp.qpn});
    if (qp.contribution || found == m_pairs.end())
    {
        return;
    }
    found->second.open = nullptr;
    if (found->second.underWay == 0)
    {
        Erase(found);
    }
}

void
FabricCheck::NoteRate(const QbbFrame& answer)
{
    const auto found = m_pairs.find({uint64_t{answer.dst} << 32 | answer.src, answer.qpn});
    if (answer.kind == QbbFrameKind::Data || found == m_pairs.end() || !found->second.open)
    {
        return;
    }
    Pair& pair = found->second;
    pair.lastRateBps = std::max(pair.lastRateBps, pair.open->GetRate());
}

void
FabricCheck::CheckPairTx(const Port& port, const QbbFrame& frame)
{
    const auto found = FindPair(frame);
    if (found == m_pairs.end() || !found->second.open)
    {
        if (frame.kind == QbbFrameKind::Data && !(frame.flags & IN_NETWORK))
        {
            Fail(fmt::format("{} sends data of a queue pair that is not open", Name(port)));
        }
        return;
    }
    Pair* pair = &found->second;
    pair->underWay += frame.payloadBytes;
    const RdmaQueuePair& qp = *pair->open;
    const bool isNew = frame.seq >= pair->nextSeq;
    if (frame.seq > pair->nextSeq)
    {
        Fail(fmt::format("queue pair {} skips from byte {} to {}",
                         qp.Describe(),
                         pair->nextSeq,
                         frame.seq));
    }
    pair->nextSeq = std::max(pair->nextSeq, frame.seq + frame.payloadBytes);
    // A pair keeps its turn at the NIC although its window or rate falls meanwhile.
    const uint64_t window = std::max(pair->lastWindow, qp.GetEffectiveWindow());
    const uint64_t resolved = qp.hw->GetResolved(qp);
    if (isNew && window < UINT64_MAX - qp.mtu - resolved &&
        frame.seq >= qp.sndUna + resolved + window + qp.mtu)
    {
        Fail(fmt::format("queue pair {} has {} bytes under way and sends more; its window is {}",
                         qp.Describe(),
                         frame.seq - qp.sndUna,
                         window));
    }
    const uint64_t rateBps = std::max(pair->lastRateBps, qp.GetRate());
    const auto gapPs = static_cast<int64_t>(pair->lastBytes * 8e12 / static_cast<double>(rateBps));
    if (pair->lastBytes && qp.IsPaced() && !qp.lossless && m_lastPs + 1 < pair->lastPs + gapPs)
    {
        Fail(
            fmt::format("queue pair {} sends {} ps after the frame before; at {} bit/s it is {} ps",
                        qp.Describe(),
                        m_lastPs - pair->lastPs,
                        rateBps,
                        gapPs));
    }
    pair->lastPs = m_lastPs;
    pair->lastBytes = frame.wireBytes;
    pair->lastRateBps = qp.GetRate();
    pair->lastWindow = qp.GetEffectiveWindow();
}

void
FabricCheck::Arrived(const QbbFrame& frame)
{
    const auto found = FindPair(frame);
    if (found == m_pairs.end())
    {
        return;
    }
    Pair* pair = &found->second;
    if (pair->underWay < frame.payloadBytes)
    {
        Fail(fmt::format("host {} gets {} bytes of host {} that were not sent",
                         frame.dst,
                         frame.payloadBytes - pair->underWay,
                         frame.src));
        return;
    }
    pair->underWay -= frame.payloadBytes;
    if (!pair->open && pair->underWay == 0)
    {
        Erase(found);
    }
}

// --- switches

void
FabricCheck::OnDrop(uint32_t node, Ptr<const SwitchNode> at, const QbbFrame& frame)
{
    Tick();
    Arrived(frame);
    const bool hadNoRoom = at->GetBufferDrops() > m_bufferDrops[node];
    m_bufferDrops[node] = at->GetBufferDrops();
    if (hadNoRoom && frame.priority > 0 && at->GetMmu()->GetLimits().IsLossless(frame.priority) &&
        !m_fabric.GetPfcWatchdog().HasIgnoredPauses(frame.priority))
    {
        Fail(fmt::format("switch {} has no room for a {} of priority {}, which is lossless",
                         node,
                         NameOf(frame.kind),
                         +frame.priority));
    }
}

void
FabricCheck::OnTrim(Ptr<const SwitchNode>, const QbbFrame& frame)
{
    Tick();
    Arrived(frame); // its payload ends here
}

void
FabricCheck::CheckBuffer(uint32_t node)
{
    const SwitchNode& at = *m_fabric.GetSwitch(node);
    const BufferCounts& counts = at.GetMmu()->GetCounts();
    const uint64_t buffer = at.GetMmu()->GetLimits().GetBufferBytes();
    uint64_t ingress = 0;
    uint64_t egress = 0;
    for (uint16_t port = 0; port < at.GetPortCount(); ++port)
    {
        for (uint8_t priority = 0; priority < SwitchMmu::PRIORITIES; ++priority)
        {
            uint64_t queued = 0;
            at.GetPort(port).ForEachQueued(priority, [&queued](const QbbFrame& frame) {
                // The switch's own frames come from no ingress and are not in the buffer.
                queued += frame.inPort == UINT16_MAX ? 0 : frame.wireBytes;
            });
            if (queued != counts.GetEgressBytes(port, priority))
            {
                Fail(fmt::format("switch {} has {} bytes of priority {} for port {}, and counts {}",
                                 node,
                                 queued,
                                 +priority,
                                 port + 1,
                                 counts.GetEgressBytes(port, priority)));
            }
            if (priority > 0)
            {
                egress += queued;
                ingress += counts.GetIngressBytes(port, priority) +
                           counts.GetHeadroomBytes(port, priority);
            }
        }
    }
    if (ingress != egress || ingress != counts.GetTotalBytes())
    {
        Fail(fmt::format("switch {} has {} bytes waiting, counts {} by ingress and {} in all",
                         node,
                         egress,
                         ingress,
                         counts.GetTotalBytes()));
    }
    const uint64_t held = counts.GetTotalBytes() + counts.GetControlBytes();
    if (held > buffer)
    {
        Fail(fmt::format("switch {} holds {} bytes in a buffer of {}", node, held, buffer));
    }
}

// --- the end

void
FabricCheck::CheckCounters(const Port& port, bool drained)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const QbbNetDevice& device = m_fabric.GetDevice(port.node, port.number);
    const QbbPortCounters counters = device.GetCounters(nowPs);
    if (counters.txFrames != port.sentFrames || device.GetTxBytes() != port.sentBytes)
    {
        Fail(fmt::format("{} has sent {} frames and {} bytes, and counts {} and {}",
                         Name(port),
                         port.sentFrames,
                         port.sentBytes,
                         counters.txFrames,
                         device.GetTxBytes()));
    }
    const Port& peer = m_ports[port.peer];
    const uint64_t received =
        m_fabric.GetDevice(peer.node, peer.number).GetCounters(nowPs).rxFrames;
    if (received != port.arrivedFrames)
    {
        Fail(fmt::format("{} has received {} frames, and counts {}",
                         Name(peer),
                         port.arrivedFrames,
                         received));
    }
    if (!drained)
    {
        return;
    }
    if (!port.flights.empty())
    {
        Fail(fmt::format("{} has sent {} frames that never arrived",
                         Name(port),
                         port.flights.size()));
    }
    if (port.paused)
    {
        Fail(fmt::format("{} stays paused, priorities {:#x}", Name(port), port.paused));
    }
}

void
FabricCheck::Finish(bool drained)
{
    for (const Port& port : m_ports)
    {
        CheckCounters(port, drained);
    }
    for (uint32_t node = 0; node < m_firstPort.size(); ++node)
    {
        if (m_fabric.GetSwitch(node))
        {
            CheckBuffer(node);
        }
    }
    if (!drained)
    {
        return;
    }
    for (const auto& [key, pair] : m_pairs)
    {
        if (pair.underWay)
        {
            Fail(fmt::format("{} bytes of host {} never arrived at host {}",
                             pair.underWay,
                             key.hosts >> 32,
                             static_cast<uint32_t>(key.hosts)));
        }
    }
    const FabricTotals totals = m_fabric.GetTotals();
    if (!totals.ConservesPayload())
    {
        Fail(fmt::format("bytes are not conserved: sent {}, received {}, lost {}; taken in by "
                         "switches {}, sent by them {}; {} frames left",
                         totals.dataPayloadSent,
                         totals.dataPayloadReceived,
                         totals.payloadLost,
                         totals.payloadTaken,
                         totals.payloadMade,
                         totals.framesInUse));
    }
}

} // namespace ns3
