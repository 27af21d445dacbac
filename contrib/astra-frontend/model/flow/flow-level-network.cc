/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FlowLevelFabric: messages and connections. Links that fail are in flow-level-links.cc, in-network
 * operations in flow-level-operations.cc.
 */
#include "flow-level-network.h"

#include "astra-frontend/model/collective/traffic-purpose.h"
#include "flow-level-operation.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

constexpr uint64_t BACKGROUND_LANE = 1ULL << 63;

/// Acknowledgements with a smaller share of the bytes than this pass among other flows' frames
/// whatever these do: they ask for less than they could have.
constexpr float SMALL_SHARE = 0.125;

// The note of a stream is the source port that its messages have, and so their path.

const void*
NoteOfSport(uint16_t sport)
{
    return reinterpret_cast<const void*>(uintptr_t{sport});
}

uint16_t
PortInNote(const void* note)
{
    return static_cast<uint16_t>(reinterpret_cast<uintptr_t>(note));
}

} // namespace

FlowLevelFabric::FlowLevelFabric(EventLoop& loop,
                                 const ns3::ClusterTopology& topology,
                                 FlowLevelConfig config)
    : m_loop(loop),
      m_config(std::move(config)),
      m_router(topology,
               m_config.ecmpSeed,
               m_config.networkFrames,
               m_config.nvlinkFrames,
               m_config.pathUse),
      m_transfers(loop)
{
    for (const auto& link : topology.links)
    {
        m_transfers.AddLink(link.rateBps);
        m_transfers.AddLink(link.rateBps);
    }
    MakeRanks(topology.hostCount);
    LookAtNics(topology);
    m_router.SetSpreading(m_config.spreading);
    ScheduleLinkEvents();
}

FlowLevelFabric::~FlowLevelFabric() = default;

// --- from a message to its parts

void
FlowLevelFabric::Send(uint32_t src, const SendRequest& request)
{
    Message* message = m_messages.Take();
    message->fabric = this;
    const auto [latency, wireBytes] = Accept(*message, src, request);
    message->wireBytes = wireBytes;
    message->lane = LaneOf(*message);
    // Never from inside the call: handlers of a message to oneself would run too early.
    if (latency > 0 || message->IsLocal())
    {
        m_loop.Schedule(
            latency,
            [](void* arg) {
                auto* late = static_cast<Message*>(arg);
                late->fabric->Launch(late);
            },
            message);
    }
    else
    {
        Launch(message);
    }
}

void
FlowLevelFabric::StartBackground(const Background& flow)
{
    Message* message = m_messages.Take();
    message->fabric = this;
    message->src = flow.src;
    message->dst = flow.dst;
    message->sent = flow.done;
    message->sentArg = flow.arg;
    message->bytes = flow.bytes;
    message->wireBytes = flow.bytes;
    message->dport = flow.dport;
    message->purpose = BACKGROUND_PURPOSE;
    message->hashesNic = true;
    message->lane =
        BACKGROUND_LANE | static_cast<uint64_t>(flow.priority) << 16 | uint64_t{flow.dport};
    Launch(message);
}

void
FlowLevelFabric::Launch(Message* message)
{
    if (message->IsLocal())
    {
        message->partsToDeliver = 1;
        message->partsToAcknowledge = 1;
        m_loop.Schedule(
            0,
            [](void* arg) {
                auto* local = static_cast<Message*>(arg);
                local->fabric->PartDelivered(*local);
                local->fabric->Acknowledge(local);
            },
            message);
        return;
    }
    const uint64_t frames = (message->wireBytes - 1) / m_config.networkFrames.mtuPayload + 1;
    const auto parts = static_cast<uint32_t>(std::min<uint64_t>(m_config.qpsPerConnection, frames));
    message->partsToDeliver = static_cast<uint16_t>(parts);
    message->partsToAcknowledge = static_cast<uint16_t>(parts);
    const uint64_t each = message->wireBytes / parts;
    for (uint32_t number = 0; number < parts; ++number)
    {
        LaunchPart(message,
                   number,
                   number + 1 == parts ? message->wireBytes - each * number : each);
    }
}

void
FlowLevelFabric::LaunchPart(Message* message, uint32_t number, uint64_t bytes)
{
    Part* part = m_parts.Take();
    part->fabric = this;
    part->message = message;
    part->number = number;
    part->bytes = bytes;
    part->startPs = m_loop.Now();
    const bool background = !message->IsMatched();
    const bool shared = m_config.persistentConnections ||
                        (!background && (message->rateCapBps > 0 ||
                                         m_router.SharesNvSwitch(message->src, message->dst)));
    if (shared)
    {
        auto& connection =
            m_connections[{message->src, message->dst, message->lane, number, message->rateCapBps}];
        if (!connection)
        {
            connection = std::make_unique<Connection>();
        }
        part->connection = connection.get();
    }
    else if (message->keepsOrder && message->partsToDeliver == 1)
    {
        part->connection = FollowStream(*message);
    }
    Post(part);
}

FlowLevelFabric::Connection*
FlowLevelFabric::FollowStream(const Message& message)
{
    Connection*& busy = m_busyStreams[message.stream];
    if (!busy)
    {
        busy = m_ownConnections.Take();
        busy->stream = message.stream;
        busy->sport = PortInNote(MessageMatcher::NoteOf(message));
        busy->nic = message.nic;
    }
    return busy->nic == message.nic ? busy : nullptr;
}

void
FlowLevelFabric::Post(Part* part)
{
    Connection* connection = part->connection;
    if (connection)
    {
        const bool busy = connection->first != nullptr;
        (busy ? connection->last->next : connection->first) = part;
        connection->last = part;
        part->next = nullptr;
        if (busy)
        {
            return;
        }
    }
    if (!Begin(part))
    {
        m_withoutPath.push_back(part);
    }
}

bool
FlowLevelFabric::Begin(Part* part)
{
    const Message& message = *part->message;
    Connection* connection = part->connection;
    const bool isOpen = connection ? connection->open : part->start.sport != 0;
    if (!isOpen)
    {
        const int64_t channel = message.hashesNic ? -1 : int64_t{message.nic} + part->number;
        const uint16_t sport = connection ? connection->sport : 0;
        const auto start = m_router.Open(message.src, message.dst, channel, message.dport, sport);
        if (!start)
        {
            return false;
        }
        if (connection)
        {
            connection->open = true;
            connection->start = *start;
            connection->rateCapBps = message.rateCapBps;
            if (connection->stream)
            {
                MessageMatcher::NoteOf(message) = NoteOfSport(start->sport);
            }
        }
        else
        {
            part->start = *start;
        }
    }
    if (connection)
    {
        part->start = connection->start;
    }
    const auto& topology = m_router.GetTopology();
    const auto& firstPort = topology.Ports(topology.NodeOfHost(message.src))[part->start.firstPort];
    const bool nvlink = topology.IsNvLink(firstPort.link);
    if (!m_router.Follow(message.src, message.dst, part->start, m_path, nvlink ? nullptr : &m_back))
    {
        return false;
    }
    if (m_use)
    {
        Count(*part, nvlink);
    }
    const ns3::FrameSizes& sizes = nvlink ? m_config.nvlinkFrames : m_config.networkFrames;
    FillUses(*part, nvlink, sizes);
    FluidTransfers::Request request;
    request.uses = m_uses;
    Time(*part, m_path, sizes, connection ? connection->rateCapBps : 0, request);
    request.onReached = [](void* arg) {
        auto* reached = static_cast<Part*>(arg);
        reached->fabric->m_loop.Schedule(
            reached->tail,
            [](void* arg) {
                auto* arrived = static_cast<Part*>(arg);
                arrived->fabric->OnPartDelivered(arrived);
            },
            reached);
    };
    request.onDrained = [](void* arg) {
        auto* left = static_cast<Part*>(arg);
        left->fabric->OnPartLeft(left);
    };
    request.owner = part;
    m_transfers.Start(request);
    return true;
}

void
FlowLevelFabric::Count(const Part& part, bool nvlink)
{
    const Message& message = *part.message;
    if (nvlink || !m_router.IsSpreading())
    {
        for (const ns3::PathHop& hop : m_path.hops)
        {
            m_use->Add(hop.node, hop.port, message.src, message.dst, part.bytes, message.purpose);
        }
        return;
    }
    m_router.Spread(message.src, message.dst, part.start.firstPort, part.start.hash, m_shares);
    for (const FlowRouter::Share& share : m_shares)
    {
        const auto& link = GetTopology().links[share.link / 2];
        const bool fromB = share.link % 2;
        m_use->Add(fromB ? link.b : link.a,
                   fromB ? link.portB : link.portA,
                   message.src,
                   message.dst,
                   static_cast<uint64_t>(std::llround(part.bytes * share.fraction)),
                   message.purpose);
    }
}

void
FlowLevelFabric::FillUses(Part& part, bool nvlink, const ns3::FrameSizes& sizes)
{
    m_uses.clear();
    const bool spreads = !nvlink && m_router.IsSpreading();
    const uint32_t src = part.message->src;
    const uint32_t dst = part.message->dst;
    if (spreads)
    {
        m_router.Spread(src, dst, part.start.firstPort, part.start.hash, m_shares);
        for (const FlowRouter::Share& share : m_shares)
        {
            m_uses.push_back({share.link, share.fraction});
        }
    }
    else
    {
        for (const ns3::PathHop& hop : m_path.hops)
        {
            m_uses.push_back({m_router.DirectedLink(hop), 1});
        }
    }
    if (!nvlink)
    {
        const uint64_t perAck = std::max<uint64_t>(sizes.mtuPayload, m_config.ackIntervalBytes);
        const uint64_t acks = (part.bytes - 1) / perAck + 1;
        const float share = static_cast<float>(acks * sizes.ackWireBytes) /
                            static_cast<float>(ns3::MessageWireBytes(part.bytes, sizes));
        if (spreads)
        {
            const auto& last = GetTopology().links[m_path.hops.back().link];
            const uint16_t port = last.a == GetTopology().NodeOfHost(dst) ? last.portA : last.portB;
            m_router.Spread(dst, src, port, ~part.start.hash, m_shares);
            for (const FlowRouter::Share& each : m_shares)
            {
                m_uses.push_back({each.link, each.fraction * share, share < SMALL_SHARE});
            }
        }
        else
        {
            for (const uint32_t link : m_back)
            {
                m_uses.push_back({link, share, share < SMALL_SHARE});
            }
        }
    }
    part.ackDelay = ns3::OneWayPs(m_path, sizes.ackWireBytes);
}

void
FlowLevelFabric::Time(Part& part,
                      const ns3::PathInfo& path,
                      const ns3::FrameSizes& sizes,
                      uint64_t rateCapBps,
                      FluidTransfers::Request& request) const
{
    const uint64_t wireBytes = ns3::MessageWireBytes(part.bytes, sizes);
    double rate = static_cast<double>(path.bottleneckBps) / PS_BITS_PER_BYTE;
    TimePs period = 0;
    if (rateCapBps > 0 && rateCapBps < path.hops.front().rateBps)
    {
        request.cap = static_cast<double>(rateCapBps) / PS_BITS_PER_BYTE;
        rate = std::min(rate, request.cap);
        period = static_cast<TimePs>(sizes.DataWireBytes(sizes.mtuPayload) * PS_BITS_PER_BYTE /
                                     static_cast<double>(rateCapBps));
    }
    request.bytes = static_cast<double>(wireBytes);
    request.framePs = sizes.DataWireBytes(sizes.mtuPayload) / rate;
    request.idleRate = rate;
    const TimePs idle = ns3::IdleDeliveryPs(path, part.bytes, sizes, period);
    part.tail = idle - ns3::RoundToPs(request.bytes / rate);
    if (part.tail < 0)
    {
        // Spaced frames: the last one arrives before the gap after it has passed.
        const uint64_t rest = part.bytes % sizes.mtuPayload;
        request.held =
            sizes.DataWireBytes(static_cast<uint32_t>(rest > 0 ? rest : sizes.mtuPayload));
        part.tail =
            std::max<TimePs>(idle - ns3::RoundToPs((request.bytes - request.held) / rate), 0);
    }
}

void
FlowLevelFabric::AdvanceConnection(Connection& connection)
{
    connection.first = connection.first->next;
    if (!connection.first)
    {
        connection.last = nullptr;
        if (connection.stream)
        {
            m_busyStreams.erase(connection.stream);
            m_ownConnections.GiveBack(&connection);
        }
    }
    else if (!Begin(connection.first))
    {
        m_withoutPath.push_back(connection.first);
    }
}

void
FlowLevelFabric::OnPartLeft(Part* part)
{
    part->left = true;
    if (part->connection)
    {
        AdvanceConnection(*part->connection);
    }
    Release(part);
}

void
FlowLevelFabric::OnPartDelivered(Part* part)
{
    m_loop.Schedule(
        part->ackDelay,
        [](void* arg) {
            auto* acknowledged = static_cast<Part*>(arg);
            acknowledged->fabric->OnPartAcknowledged(acknowledged);
        },
        part);
    PartDelivered(*part->message);
}

void
FlowLevelFabric::OnPartAcknowledged(Part* part)
{
    Message* message = part->message;
    if (m_observer)
    {
        m_observer({message->src,
                    message->dst,
                    part->start.sport,
                    message->dport,
                    part->bytes,
                    part->startPs});
    }
    part->acknowledged = true;
    Release(part);
    Acknowledge(message);
}

void
FlowLevelFabric::Release(Part* part)
{
    if (part->left && part->acknowledged)
    {
        m_parts.GiveBack(part);
    }
}

void
FlowLevelFabric::Acknowledge(Message* message)
{
    if (--message->partsToAcknowledge == 0)
    {
        End(m_messages, message);
    }
}

std::vector<std::string>
FlowLevelFabric::DescribeWaits(std::size_t limit) const
{
    std::vector<std::string> lines;
    for (const Part* part : m_withoutPath)
    {
        lines.push_back("rank " + std::to_string(part->message->src) + " has " +
                        std::to_string(part->bytes) + " bytes for rank " +
                        std::to_string(part->message->dst) + " and no path");
    }
    m_transfers.ForEach([&](const FluidTransfer& transfer) {
        const Part& part = *static_cast<const Part*>(transfer.owner);
        if (transfer.bundle->rate == 0 && part.message)
        {
            lines.push_back("rank " + std::to_string(part.message->src) + " has " +
                            std::to_string(part.bytes) + " bytes for rank " +
                            std::to_string(part.message->dst) +
                            " on their way, over a link that is down");
        }
    });
    const auto waits = DescribeReceives(limit);
    lines.insert(lines.end(), waits.begin(), waits.end());
    if (lines.size() > limit)
    {
        lines.resize(limit);
    }
    return lines;
}

} // namespace AstraSim
