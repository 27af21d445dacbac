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

// The note of a stream is one number: the address of a Connection, which is even, or an odd number
// with the queue pair of its own that its messages used last.
static_assert(sizeof(uintptr_t) == 8);

const void*
NoteOfOwn(const ns3::RdmaQueuePair& qp)
{
    return reinterpret_cast<const void*>(uintptr_t{qp.qpn} << 17 | uintptr_t{qp.sport} << 1 | 1);
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
}

AstraSimFabric::AstraSimFabric(ns3::RdmaFabric& fabric, uint32_t server, const Servers& servers)
    : AstraSimFabric(fabric,
                     &servers,
                     server * fabric.GetTopology().gpusPerServer,
                     RanksOf(fabric.GetTopology(), server),
                     fabric.GetHw(server * fabric.GetTopology().gpusPerServer).GetNodeId())
{
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
    const auto dst = static_cast<uint32_t>(request.dst);
    const bool isFar = GoesFar(src, dst, request.info);
    const StreamKey key = isFar ? StreamKey::OfCollective(src, dst, request.tag, request.info)
                                : StreamKey::OfTag(src, dst, request.tag);
    if (key.IsCredit())
    {
        SendCredit(key);
        return;
    }
    Message* message = m_messages.Take();
    message->fabric = this;
    message->isFar = isFar;
    message->sentPs = Now();
    Start(message, Accept(*message, src, request, key));
}

void
AstraSimFabric::Start(Message* message, const Demand& demand)
{
    message->WireBytes() = demand.wireBytes;
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
    const auto parts =
        Cut(message->src, message->dst, message->WireBytes(), message->channel, message->plane);
    message->partsToDeliver = static_cast<uint16_t>(parts.size());
    message->partsToAcknowledge = static_cast<uint16_t>(parts.size());
    for (uint32_t number = 0; number < parts.size(); ++number)
    {
        LaunchPart(message, number, parts[number]);
    }
}

ns3::MessageCut::Parts
AstraSimFabric::Cut(uint32_t src, uint32_t dst, uint64_t bytes, uint32_t channel, uint16_t plane)
{
    return m_fabric.FindCut(src, dst).Divide(bytes, m_fabric.GetHw(src).GetMtu(), channel, plane);
}

bool
AstraSimFabric::HasOwnQueuePair(const Message& message) const
{
    return !m_fabric.HasPersistentQueuePairs() && !message.rateCapBps &&
           !m_fabric.GetTopology().ShareNvLink(message.src, message.dst);
}

ns3::RdmaQueuePair*
AstraSimFabric::Connect(const Message& message,
                        const ns3::MessagePart& part,
                        bool closeWhenDone,
                        uint16_t sport)
{
    ns3::RdmaConnectionOptions options;
    options.channel = static_cast<int32_t>(part.port);
    options.rateCapBps = part.ShareOf(message.rateCapBps);
    options.closeWhenDone = closeWhenDone;
    options.sport = sport;
    return m_fabric.GetDriver(message.src)->Connect(message.dst, options);
}

ns3::RdmaQueuePair*
AstraSimFabric::FindLastQueuePair(const Message& message) const
{
    const void* note = message.stream->note;
    const auto* last = IsOfOwn(note) ? nullptr : static_cast<const Connection*>(note);
    return last && last->channel == message.channel && last->rateCapBps == message.rateCapBps
               ? last->qp
               : nullptr;
}

ns3::RdmaQueuePair*
AstraSimFabric::FollowStream(const Message& message, uint32_t number, const ns3::MessagePart& part)
{
    const void*& note = message.stream->note;
    const uint16_t first = IsOfOwn(note) ? SportIn(note) : 0;
    const uint16_t sport = first ? ns3::ConnectionPlanner::SourcePortOf(first, number) : 0;
    // Only the queue pair of the first part has its number in the note.
    uint32_t* other = number && sport ? &m_otherParts[{message.src, sport}] : nullptr;
    ns3::RdmaQueuePair* qp =
        sport ? m_fabric.GetHw(message.src).GetSender().Find(other ? *other : NumberIn(note))
              : nullptr;
    if (qp && qp->dst == message.dst && qp->sport == sport && qp->GetSndNxt() < qp->endSeq)
    {
        return qp;
    }
    qp = Connect(message, part, true, sport);
    if (qp && other)
    {
        *other = qp->qpn;
    }
    else if (qp && number == 0)
    {
        note = NoteOfOwn(*qp);
    }
    return qp;
}

ns3::RdmaQueuePair*
AstraSimFabric::FindQueuePair(const Message& message, uint32_t number, const ns3::MessagePart& part)
{
    if (ns3::RdmaQueuePair* last = part.share == 1 ? FindLastQueuePair(message) : nullptr)
    {
        return last;
    }
    if (HasOwnQueuePair(message))
    {
        return message.keepsOrder ? FollowStream(message, number, part)
                                  : Connect(message, part, true);
    }
    Connection*& connection = m_connections
        [{message.src, message.dst, message.channel, number, part.ShareOf(message.rateCapBps)}];
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
        connection->channel = message.channel;
    }
    if (part.share == 1)
    {
        message.stream->note = connection;
    }
    return connection->qp;
}

void
AstraSimFabric::LaunchPart(Message* message, uint32_t number, const ns3::MessagePart& part)
{
    ns3::RdmaQueuePair* qp = FindQueuePair(*message, number, part);
    if (!qp)
    {
        m_withoutPath.push_back({message, number, part});
        return;
    }
    if (m_counter)
    {
        m_counter->Count(*qp, part.bytes, message->purpose);
    }
    if (number == 0)
    {
        qp->hw->PostMessage(*qp, part.bytes, *message);
        return;
    }
    Part* other = m_parts.Take();
    other->whole = message;
    qp->hw->PostMessage(*qp, part.bytes, *other);
}

void
AstraSimFabric::OnRoutesChanged()
{
    m_inNetwork.Forget();
    std::vector<PendingPart> pending;
    pending.swap(m_withoutPath);
    for (const PendingPart& each : pending)
    {
        LaunchPart(each.message, each.number, each.part);
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
    End(m_messages, message);
}

std::vector<std::string>
AstraSimFabric::DescribePending() const
{
    std::vector<std::string> lines;
    for (const PendingPart& each : m_withoutPath)
    {
        lines.push_back("rank " + std::to_string(each.message->src) + " has " +
                        std::to_string(each.part.bytes) + " bytes for rank " +
                        std::to_string(each.message->dst) + " and no path");
    }
    return lines;
}

} // namespace AstraSim
