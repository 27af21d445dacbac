/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-sim-network.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace AstraSim
{

using ns3::PicoSeconds;
using ns3::Simulator;

namespace
{

// The note of a stream is a Connection or, in an odd number, which no Connection's address is, the
// queue pair of its own that its messages had last.
static_assert(sizeof(uintptr_t) == 8);

constexpr uint16_t NIC_MASK = 0x7fff;

const void*
NoteOfOwn(const ns3::RdmaQueuePair& qp, uint16_t nic)
{
    return reinterpret_cast<const void*>(uintptr_t{nic} << 49 | uintptr_t{qp.qpn} << 17 |
                                         uintptr_t{qp.sport} << 1 | 1);
}

bool
IsOfOwn(const void* note)
{
    return reinterpret_cast<uintptr_t>(note) & 1;
}

uint16_t
SportIn(const void* note)
{
    return static_cast<uint16_t>(reinterpret_cast<uintptr_t>(note) >> 1);
}

uint16_t
NicIn(const void* note)
{
    return static_cast<uint16_t>(reinterpret_cast<uintptr_t>(note) >> 49);
}

uint32_t
NumberIn(const void* note)
{
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(note) >> 17);
}

/// @return how many ranks a server has; the last may have fewer than the others
uint32_t
RanksOf(const ns3::ClusterTopology& topology, uint32_t server)
{
    return std::min(topology.gpusPerServer, topology.hostCount - server * topology.gpusPerServer);
}

} // namespace

AstraSimFabric::AstraSimFabric(ns3::RdmaFabric& fabric)
    // Handlers of several ranks share an event: it is of no node.
    : AstraSimFabric(fabric, nullptr, 0, fabric.GetTopology().hostCount, Simulator::NO_CONTEXT)
{
    LookAtNics(fabric.GetTopology());
}

AstraSimFabric::AstraSimFabric(ns3::RdmaFabric& fabric, uint32_t server, const Servers& servers)
    : AstraSimFabric(fabric,
                     &servers,
                     server * fabric.GetTopology().gpusPerServer,
                     RanksOf(fabric.GetTopology(), server),
                     fabric.GetHw(server * fabric.GetTopology().gpusPerServer).GetNodeId())
{
    if (server == 0)
    {
        LookAtNics(fabric.GetTopology());
    }
    else
    {
        SetNicsAs(*servers.front());
    }
}

AstraSimFabric::AstraSimFabric(ns3::RdmaFabric& fabric,
                               const Servers* servers,
                               uint32_t firstRank,
                               uint32_t rankCount,
                               uint32_t context)
    : m_fabric(fabric),
      m_deliversOnAck(fabric.DeliversOnAck()),
      m_servers(servers),
      m_firstRank(firstRank),
      m_rankCount(rankCount),
      m_events(context),
      m_inNetwork(fabric, firstRank)
{
    MakeRanks(firstRank, rankCount, fabric.GetTopology().hostCount);
    m_fabric.TraceConnectWithoutContext("RoutesChanged",
                                        ns3::MakeCallback(&AstraSimFabric::OnRoutesChanged, this));
}

AstraSimFabric::~AstraSimFabric()
{
    m_fabric.TraceDisconnectWithoutContext(
        "RoutesChanged",
        ns3::MakeCallback(&AstraSimFabric::OnRoutesChanged, this));
}

void
AstraSimFabric::CountIn(ns3::LinkUse& use)
{
    m_counter.emplace(use, m_fabric, m_firstRank, m_rankCount);
    m_inNetwork.CountIn(use);
}

TimePs
AstraSimFabric::Now() const
{
    return Simulator::Now().GetPicoSeconds();
}

void
AstraSimFabric::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    m_events.Schedule(delay, handler, arg);
}

void
AstraSimFabric::Send(uint32_t src, const SendRequest& request)
{
    if (GoesFar(src, static_cast<uint32_t>(request.dst), request.info))
    {
        SendFar(src, request);
        return;
    }
    Message* message = m_messages.Take();
    message->fabric = this;
    Start(message, Accept(*message, src, request));
}

void
AstraSimFabric::Start(Message* message, const Demand& demand)
{
    message->WireBytes() = demand.wireBytes;
    message->qp = FindLastQueuePair(*message);
    // Never from inside the call: handlers of a message to oneself would run too early.
    if (demand.latency > 0 || message->IsLocal())
    {
        m_events.Schedule(
            demand.latency,
            [](void* arg) {
                auto* message = static_cast<Message*>(arg);
                message->fabric->Launch(message);
            },
            message);
    }
    else
    {
        Launch(message);
    }
}

bool
AstraSimFabric::Join(int rank, const JoinRequest& request)
{
    return m_inNetwork.Join(rank, request);
}

void
AstraSimFabric::Launch(Message* message)
{
    if (message->IsLocal())
    {
        message->partsToDeliver = 1;
        message->partsToAcknowledge = 1;
        LaunchLocal(message);
        return;
    }
    const uint64_t bytes = message->WireBytes();
    uint32_t parts = m_fabric.GetQpsPerConnection();
    if (parts > 1)
    {
        const uint64_t frames = (bytes - 1) / m_fabric.GetHw(message->src).GetMtu() + 1;
        parts = static_cast<uint32_t>(std::min<uint64_t>(parts, frames));
    }
    message->partsToDeliver = static_cast<uint16_t>(parts);
    message->partsToAcknowledge = static_cast<uint16_t>(parts);
    if (message->isFar)
    {
        static_cast<FarMessage*>(message)->parts = parts;
    }
    if (parts == 1)
    {
        LaunchPart(message, 0, bytes);
        return;
    }
    const uint64_t each = bytes / parts;
    for (uint32_t part = 0; part < parts; ++part)
    {
        LaunchPart(message, part, part + 1 == parts ? bytes - each * part : each);
    }
}

bool
AstraSimFabric::HasOwnQueuePair(const Message& message) const
{
    return !m_fabric.HasPersistentQueuePairs() && !message.rateCapBps &&
           !m_fabric.GetTopology().ShareNvSwitch(message.src, message.dst);
}

ns3::RdmaQueuePair*
AstraSimFabric::Connect(const Message& message, uint32_t part, bool closeWhenDone, uint16_t sport)
{
    ns3::RdmaConnectionOptions options;
    options.channel = static_cast<int32_t>(message.nic + part);
    options.rateCapBps = message.rateCapBps;
    options.closeWhenDone = closeWhenDone;
    options.sport = sport;
    return m_fabric.GetDriver(message.src)->Connect(message.dst, options);
}

ns3::RdmaQueuePair*
AstraSimFabric::FindLastQueuePair(const Message& message) const
{
    const void* note = NoteOf(message);
    const auto* last = IsOfOwn(note) ? nullptr : static_cast<const Connection*>(note);
    return last && last->lane == LaneOf(message) && last->rateCapBps == message.rateCapBps
               ? last->qp
               : nullptr;
}

ns3::RdmaQueuePair*
AstraSimFabric::FollowStream(const Message& message)
{
    const void*& note = NoteOf(message);
    const uint16_t nic = message.nic & NIC_MASK;
    ns3::RdmaQueuePair* qp = nullptr;
    uint16_t sport = 0;
    if (IsOfOwn(note) && NicIn(note) == nic)
    {
        qp = m_fabric.GetHw(message.src).FindQueuePair(NumberIn(note));
        sport = SportIn(note);
    }
    if (qp && qp->dst == message.dst && qp->GetSndNxt() < qp->endSeq)
    {
        return qp;
    }
    qp = Connect(message, 0, true, sport);
    if (qp)
    {
        note = NoteOfOwn(*qp, nic);
    }
    return qp;
}

ns3::RdmaQueuePair*
AstraSimFabric::FindQueuePair(const Message& message, uint32_t part)
{
    if (part == 0 && message.qp)
    {
        return message.qp;
    }
    if (HasOwnQueuePair(message))
    {
        const bool follows = message.keepsOrder && message.partsToDeliver == 1;
        return follows ? FollowStream(message) : Connect(message, part, true);
    }
    Connection*& connection =
        m_connections[{message.src, message.dst, LaneOf(message), part, message.rateCapBps}];
    if (!connection)
    {
        ns3::RdmaQueuePair* qp = Connect(message, part, false);
        if (!qp)
        {
            return nullptr;
        }
        connection = m_connectionPool.Take();
        connection->qp = qp;
        connection->rateCapBps = message.rateCapBps;
        connection->lane = LaneOf(message);
    }
    if (part == 0)
    {
        NoteOf(message) = connection;
    }
    return connection->qp;
}

void
AstraSimFabric::LaunchPart(Message* message, uint32_t part, uint64_t bytes)
{
    ns3::RdmaQueuePair* qp = FindQueuePair(*message, part);
    if (!qp)
    {
        m_withoutPath.push_back({message, part, bytes});
        return;
    }
    if (m_counter)
    {
        m_counter->Count(*qp, bytes, message->purpose);
    }
    if (part == 0)
    {
        qp->hw->PostMessage(*qp, bytes, *message);
        return;
    }
    Part* other = m_parts.Take();
    other->whole = message;
    qp->hw->PostMessage(*qp, bytes, *other);
}

void
AstraSimFabric::OnRoutesChanged()
{
    m_inNetwork.Forget();
    std::vector<PendingPart> pending;
    pending.swap(m_withoutPath);
    for (const PendingPart& each : pending)
    {
        LaunchPart(each.message, each.part, each.bytes);
    }
}

void
AstraSimFabric::PartSent(Message* message)
{
    if (m_deliversOnAck)
    {
        PartDelivered(*message);
    }
    PartAcknowledged(message);
}

void
AstraSimFabric::PartAcknowledged(Message* message)
{
    if (--message->partsToAcknowledge > 0)
    {
        return;
    }
    if (message->isFar)
    {
        End(m_farMessages, static_cast<FarMessage*>(message));
    }
    else
    {
        End(m_messages, message);
    }
}

std::vector<std::string>
AstraSimFabric::DescribePending() const
{
    std::vector<std::string> lines;
    for (const PendingPart& each : m_withoutPath)
    {
        lines.push_back("rank " + std::to_string(each.message->src) + " has " +
                        std::to_string(each.bytes) + " bytes for rank " +
                        std::to_string(each.message->dst) + " and no path");
    }
    return lines;
}

} // namespace AstraSim
