/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FlowLevelFabric: messages and connections, links that fail, and in-network operations.
 */
#include "flow-level-network.h"

#include "collectives/model/collective/divide-up.h"
#include "collectives/model/collective/traffic-purpose.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

// A message is cut into parts, one per connection (Launch). A connection carries its parts one
// after the other: Begin() starts the first as a transfer (FluidTransfers) over the links of its
// path, with its acknowledgements as followers on the way back; when its last byte has left,
// OnPartLeft() begins the next. Delays are outside the transfer: the time of a frame's way is
// added between the last byte's departure and the delivery (Part::tail), and from there to the
// acknowledgement (ackDelay). Where switches spread frames, a part uses all links of the
// shortest paths by its share of each (TimeSpread). A part without a path waits for routes to
// change; a cut link has rate 0, and UpdateRoutes() moves its transfers to other paths. An
// in-network operation is a transfer for all members that join at one time, over the link of each
// to its switch and up from the switches that wait for nobody else, and one back over the links to
// all receivers, which begins as the first frame of the last contribution is at the root.

/// An in-network operation in progress; members are in the order of the call that opened it.
struct FlowLevelFabric::Operation
{
    struct Member
    {
        uint32_t host{0};
        MessageHandler handler{nullptr};
        void* arg{nullptr};
        TimePs joinPs{std::numeric_limits<TimePs>::max()}; ///< when it joins, once it has asked
        uint32_t contribution{0};                          ///< number of that which holds its own
        bool joined{false};
        bool complete{false}; ///< it has all that it receives
        bool isTold{false};   ///< and knows it
    };

    FlowLevelFabric* fabric{nullptr};
    InNetworkOp kind{InNetworkOp::ReduceMulticast};
    uint32_t root{0}; ///< index in members
    uint64_t bytes{0};
    uint64_t rateCapBps{0};
    ns3::FrameSizes frames{};
    uint16_t purpose{0};
    std::vector<Member> members;
    std::shared_ptr<const ns3::InNetworkTree> tree;
    std::vector<uint32_t> awaited; ///< by switch: those below that are to send and do not yet
    bool asked{false};             ///< it waits for places at its switches, or has them
    bool hasPlaces{false};
    TimePs joiningPs{-1};      ///< of the event made last for members that join
    uint32_t contributions{0}; ///< transfers that have begun
    uint32_t toJoin{0};        ///< senders that have not joined
    uint32_t contributing{0};  ///< senders with a contribution that has not wholly arrived
    uint32_t unfinished{0};    ///< members that have not been told
    TimePs lastFramePs{0};     ///< from the sending of a result's last frame to its arrival
    bool resultsCame{false};   ///< they have, up to the bytes contributed so far
    bool isTelling{false};     ///< members that joined after that are told next

    bool Sends(uint32_t member) const
    {
        return kind != InNetworkOp::Multicast || member == root;
    }

    bool Receives(uint32_t member) const
    {
        return kind != InNetworkOp::Reduce || member == root;
    }
};

namespace
{

constexpr uint64_t BACKGROUND_LANE = 1ULL << 63;

/// Acknowledgements with a smaller share of the bytes than this pass among other flows' frames at
/// full rate: they ask for less than their share.
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
    : FlowLevelFabric(loop, topology, std::move(config), nullptr)
{
    for (const auto& link : topology.links)
    {
        AddLink(link.a, link.portA, link.rateBps);
        AddLink(link.b, link.portB, link.rateBps);
    }
    ScheduleLinkEvents();
}

FlowLevelFabric::FlowLevelFabric(EventLoop& loop,
                                 const ns3::ClusterTopology& topology,
                                 FlowLevelConfig config,
                                 const FlowLevelFabric* like)
    : m_loop(loop),
      m_config(std::move(config)),
      m_backgroundCut(std::vector<uint64_t>(m_config.queuePairs, 1)),
      m_router(topology,
               m_config.ecmpSeed,
               m_config.networkFrames,
               m_config.nvlinkFrames,
               m_config.pathUse,
               m_config.queuePairs,
               like ? &like->m_router : nullptr),
      m_transfers(loop),
      m_inNetwork(like ? like->m_inNetwork
                       : std::make_shared<ns3::InNetworkPlanner>(
                             topology,
                             m_config.inNetwork,
                             [this](uint32_t link) { return IsFitToReduce(link); })),
      m_places(m_config.inNetworkOperations)
{
    if (like)
    {
        m_links.emplace();
    }
    MakeRanks(topology.hostCount);
    m_router.SetSpreading(m_config.spreading);
}

FlowLevelFabric::~FlowLevelFabric() = default;

UnusedNetwork
FlowLevelFabric::MakeUnused(TimePs limit) const
{
    struct Unused
    {
        explicit Unused(const FlowLevelFabric& like)
            : fabric(loop, like.GetTopology(), like.m_config, &like)
        {
        }

        EventLoop loop;
        FlowLevelFabric fabric;
    };

    const auto unused = std::make_shared<Unused>(*this);
    Unused& self = *unused;
    return {std::shared_ptr<SharedNetwork>(unused, &self.fabric),
            [&self, limit] {
                const bool isEmpty = self.loop.Run(limit);
                if (self.loop.IsInterrupted())
                {
                    return false;
                }
                if (isEmpty)
                {
                    self.fabric.EndsBeyondClock(limit); // throws if nothing limits the time
                }
                return true;
            },
            [&self] { self.loop.Interrupt(); },
            [&self] { return self.fabric.FindDoubtPs(); },
            [&self] { return self.fabric.GetPacketHops(); }};
}

void
FlowLevelFabric::CatchUp(TimePs from, const std::function<void()>& begin)
{
    m_transfers.Settle(); // changes that wait are of now
    m_loop.RunAside(from, begin);
    m_transfers.Settle();
}

void
FlowLevelFabric::CountHops(const Part& part, const ns3::FrameSizes& sizes, bool nvlink)
{
    // On NVLink, an acknowledgement is due for a MiB, or a message.
    const uint64_t perAck = std::max<uint64_t>(sizes.mtuPayload, m_config.ackIntervalBytes);
    const uint64_t acks =
        nvlink ? m_path.hops.size() : DivideUp(part.bytes, perAck) * m_back.size();
    m_packetHops += DivideUp(part.bytes, sizes.mtuPayload) * m_path.hops.size() + acks;
}

TimePs
FlowLevelFabric::FindDoubtPs() const
{
    return m_transfers.HasLongQueues() ? NO_BOUND : m_transfers.GetUncertainPs();
}

bool
FlowLevelFabric::EndsBeyondClock(TimePs limit) const
{
    const bool ends = m_transfers.IsBeyondClock();
    if (ends && limit == EventLoop::NO_LIMIT)
    {
        ns3::RefuseBeyondClock("time", "messages over links this slow arrive");
    }
    return ends;
}

uint32_t
FlowLevelFabric::LinkOf(uint32_t directedLink)
{
    if (!m_links)
    {
        return directedLink;
    }
    const auto [link, isNew] = m_links->try_emplace(directedLink);
    if (isNew)
    {
        const auto& both = GetTopology().links[directedLink / 2];
        link->second = directedLink % 2 ? AddLink(both.b, both.portB, both.rateBps)
                                        : AddLink(both.a, both.portA, both.rateBps);
    }
    return link->second;
}

uint32_t
FlowLevelFabric::AddLink(uint32_t node, uint16_t port, uint64_t rateBps)
{
    return m_config.quietBytes ? m_transfers.AddLink(rateBps, m_config.quietBytes(node, port))
                               : m_transfers.AddLink(rateBps);
}

// --- from a message to its parts

void
FlowLevelFabric::Send(uint32_t src, const SendRequest& request)
{
    Message* message = m_messages.Take();
    message->fabric = this;
    const auto [latency, wireBytes] = Accept(*message, src, request);
    message->wireBytes = wireBytes;
    message->lane = message->channel;
    // Never from inside the call: handlers of a message to oneself would run too early.
    if (latency > 0 || message->IsLocal())
    {
        m_loop.ScheduleFor(*message, latency, [](Message& late) { late.fabric->Launch(&late); });
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
        m_loop.ScheduleFor(*message, 0, [](Message& local) {
            local.fabric->PartDelivered(local);
            local.fabric->Acknowledge(&local);
        });
        return;
    }
    const auto parts =
        message->hashesNic
            ? m_backgroundCut.Divide(message->wireBytes, m_config.networkFrames.mtuPayload, 0)
            : Cut(message->src, message->dst, message->wireBytes, message->channel, message->plane);
    message->partsToDeliver = static_cast<uint16_t>(parts.size());
    message->partsToAcknowledge = static_cast<uint16_t>(parts.size());
    for (uint32_t number = 0; number < parts.size(); ++number)
    {
        LaunchPart(message, number, parts[number]);
    }
}

void
FlowLevelFabric::LaunchPart(Message* message, uint32_t number, const ns3::MessagePart& cut)
{
    Part* part = m_parts.Take();
    part->fabric = this;
    part->message = message;
    part->number = number;
    part->port = cut.port;
    part->rateCapBps = cut.ShareOf(message->rateCapBps);
    part->bytes = cut.bytes;
    part->startPs = m_loop.Now();
    const bool background = !message->IsMatched();
    const bool shared = m_config.persistentConnections ||
                        (!background && (message->rateCapBps > 0 ||
                                         m_router.SharesNvSwitch(message->src, message->dst)));
    if (shared)
    {
        auto& connection =
            m_connections[{message->src, message->dst, message->lane, number, part->rateCapBps}];
        if (!connection)
        {
            connection = std::make_unique<Connection>();
        }
        part->connection = connection.get();
    }
    else if (message->keepsOrder)
    {
        part->connection = FollowStream(*message, number);
    }
    Post(part);
}

FlowLevelFabric::Connection*
FlowLevelFabric::FollowStream(const Message& message, uint32_t number)
{
    Connection*& busy = m_busyStreams[{message.stream, number}];
    if (!busy)
    {
        busy = m_ownConnections.Take();
        busy->stream = message.stream;
        busy->number = number;
        const uint16_t first = PortInNote(message.stream->note);
        busy->sport = first ? ns3::ConnectionPlanner::SourcePortOf(first, number) : 0;
    }
    return busy;
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
    if (!Begin(part, false))
    {
        m_withoutPath.push_back(part);
    }
}

bool
FlowLevelFabric::Begin(Part* part, bool keepsTurn)
{
    const Message& message = *part->message;
    Connection* connection = part->connection;
    const bool isOpen = connection ? connection->open : part->start.sport != 0;
    if (!isOpen)
    {
        const int64_t channel = message.hashesNic ? -1 : int64_t{part->port};
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
            connection->rateCapBps = part->rateCapBps;
            if (connection->stream && part->number == 0)
            {
                message.stream->note = NoteOfSport(start->sport);
            }
        }
        else
        {
            part->start = *start;
        }
    }
    else if (connection && !m_router.Move(message.src, message.dst, connection->start))
    {
        return false; // routes have changed since the part before it
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
    FluidTransfers::Request request;
    Plan(*part, nvlink, sizes, request);
    CountHops(*part, sizes, nvlink);
    request.keepsTurn = keepsTurn;
    request.onReached = [](void* arg) {
        auto* reached = static_cast<Part*>(arg);
        reached->fabric->m_loop.ScheduleFor(*reached, reached->tail, [](Part& arrived) {
            arrived.fabric->OnPartDelivered(&arrived);
        });
    };
    request.onDrained = [](void* arg) {
        auto* left = static_cast<Part*>(arg);
        left->fabric->OnPartLeft(left);
    };
    request.owner = part;
    m_transfers.Start(request);
    return true;
}

bool
FlowLevelFabric::IsSpread(const Part& part, bool nvlink) const
{
    return !nvlink && m_router.IsSpreading() && part.bytes > m_config.networkFrames.mtuPayload;
}

void
FlowLevelFabric::Count(const Part& part, bool nvlink)
{
    const Message& message = *part.message;
    if (!IsSpread(part, nvlink))
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
FlowLevelFabric::Plan(Part& part,
                      bool nvlink,
                      const ns3::FrameSizes& sizes,
                      FluidTransfers::Request& request)
{
    const uint64_t rateCapBps = part.connection ? part.connection->rateCapBps : 0;
    const std::optional<SpreadTiming> spread = FillUses(part, nvlink, sizes);
    request.uses = m_uses;
    if (spread)
    {
        TimeSpread(part, *spread, sizes, rateCapBps, request);
    }
    else
    {
        Time(part, m_path, sizes, rateCapBps, request);
    }
}

std::optional<FlowLevelFabric::SpreadTiming>
FlowLevelFabric::FillUses(Part& part, bool nvlink, const ns3::FrameSizes& sizes)
{
    m_uses.clear();
    const bool spreads = !nvlink && m_router.IsSpreading();
    const uint32_t src = part.message->src;
    const uint32_t dst = part.message->dst;
    std::optional<SpreadTiming> timing;
    if (IsSpread(part, nvlink))
    {
        const TimePs latest =
            m_router.Spread(src, dst, part.start.firstPort, part.start.hash, m_shares);
        for (const FlowRouter::Share& share : m_shares)
        {
            m_uses.push_back({LinkOf(share.link), share.fraction});
        }
        if (std::ranges::any_of(m_shares, [](const auto& share) { return share.fraction < 1; }))
        {
            timing = {latest, m_router.RateOf(m_shares) / PS_BITS_PER_BYTE};
        }
    }
    else
    {
        for (const ns3::PathHop& hop : m_path.hops)
        {
            m_uses.push_back({LinkOf(m_router.DirectedLink(hop)), 1});
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
                m_uses.push_back({LinkOf(each.link), each.fraction * share, share < SMALL_SHARE});
            }
        }
        else
        {
            for (const uint32_t link : m_back)
            {
                m_uses.push_back({LinkOf(link), share, share < SMALL_SHARE});
            }
        }
    }
    part.ackDelay = ns3::OneWayPs(m_path, sizes.ackWireBytes);
    return timing;
}

// Each path has its part of the frames, so the message is complete when the slowest path has handed
// over its last one: a frame's time there after all others have gone.
void
FlowLevelFabric::TimeSpread(Part& part,
                            const SpreadTiming& timing,
                            const ns3::FrameSizes& sizes,
                            uint64_t rateCapBps,
                            FluidTransfers::Request& request) const
{
    const uint32_t frame = sizes.DataWireBytes(sizes.mtuPayload);
    const double cap = static_cast<double>(rateCapBps) / PS_BITS_PER_BYTE;
    const bool isCapped = rateCapBps > 0 && cap < timing.rate;
    const double rate = isCapped ? cap : timing.rate;
    request.cap = isCapped ? cap : request.cap;
    request.bytes = static_cast<double>(ns3::MessageWireBytes(part.bytes, sizes));
    request.frameBytes = frame;
    request.idleRate = rate;
    part.tail = std::max<TimePs>(0, timing.latest - ns3::RoundToPs(frame / rate));
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
    request.frameBytes = sizes.DataWireBytes(sizes.mtuPayload);
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
            m_busyStreams.erase({connection.stream, connection.number});
            m_ownConnections.GiveBack(&connection);
        }
    }
    else if (!Begin(connection.first, true))
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
    m_loop.ScheduleFor(*part, part->ackDelay, [](Part& acknowledged) {
        acknowledged.fabric->OnPartAcknowledged(&acknowledged);
    });
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
FlowLevelFabric::DescribeCutOff(std::size_t limit) const
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
    if (lines.size() > limit)
    {
        lines.resize(limit);
    }
    return lines;
}

// --- FlowLevelFabric: links that fail, come back or change their rate. A cut link stops its
// transfers at once;
//     routes follow after routeUpdateDelay, and the transfers then continue from the byte that they
//     stood at.

void
FlowLevelFabric::ScheduleLinkEvents()
{
    if (!m_config.linkChanges.empty())
    {
        for (const auto& link : m_router.GetTopology().links)
        {
            m_linkRates.push_back(link.rateBps);
        }
    }
    for (const ns3::LinkChange& change : m_config.linkChanges)
    {
        m_loop.Schedule(change.timePs, [this, change] {
            for (const uint32_t link : change.links)
            {
                change.rateBps ? SetLinkRate(link, change.rateBps) : SetLinkUp(link, change.up);
            }
            if (change.rateBps)
            {
                return; // routes do not depend on rates
            }
            m_loop.Schedule(m_config.routeUpdateDelay, [this] { UpdateRoutes(); });
        });
    }
}

void
FlowLevelFabric::SetLinkUp(uint32_t link, bool up)
{
    m_router.SetLinkUp(link, up);
    ApplyLinkRate(link);
}

void
FlowLevelFabric::SetLinkRate(uint32_t link, uint64_t rateBps)
{
    m_linkRates[link] = rateBps;
    ApplyLinkRate(link);
}

void
FlowLevelFabric::ApplyLinkRate(uint32_t link)
{
    const uint64_t rate = m_router.IsLinkUp(link) ? m_linkRates[link] : 0;
    m_transfers.SetLinkRate(2 * link, rate);
    m_transfers.SetLinkRate(2 * link + 1, rate);
}

void
FlowLevelFabric::UpdateRoutes()
{
    m_router.Recompute();
    m_trees.clear();
    m_supported.clear();
    std::vector<FluidTransfer*> underWay;
    m_transfers.ForEach([&](FluidTransfer& transfer) { underWay.push_back(&transfer); });
    for (FluidTransfer* transfer : underWay)
    {
        Reroute(*transfer);
    }
    std::vector<Part*> waiting;
    waiting.swap(m_withoutPath);
    for (Part* part : waiting)
    {
        if (!Begin(part, false))
        {
            m_withoutPath.push_back(part);
        }
    }
}

void
FlowLevelFabric::Reroute(FluidTransfer& transfer)
{
    Part& part = *static_cast<Part*>(transfer.owner);
    if (part.operation)
    {
        return; // an operation stays with its NVSwitch
    }
    const Message& message = *part.message;
    const bool reachable = m_router.Move(message.src, message.dst, part.start);
    if (part.connection)
    {
        part.connection->start = part.start;
    }
    if (!reachable || !m_router.Follow(message.src, message.dst, part.start, m_path, &m_back))
    {
        return; // it stays on its dead links, at rate 0
    }
    const bool nvlink = m_router.GetTopology().IsNvLink(m_path.hops.front().link);
    const ns3::FrameSizes& sizes = nvlink ? m_config.nvlinkFrames : m_config.networkFrames;
    FluidTransfers::Request request;
    const TimePs tail = part.tail;
    Plan(part, nvlink, sizes, request);
    if (transfer.reached)
    {
        part.tail = tail; // its delivery is under way
    }
    m_transfers.Move(transfer, m_uses, request.cap);
}

// --- FlowLevelFabric: operations that switches carry out. Contributions and results are transfers
//     over links of several members. Results begin when the last contribution reaches the root,
//     and end when both they and the slowest contribution have passed.

bool
FlowLevelFabric::IsFitToReduce(uint32_t link) const
{
    return m_router.IsLinkUp(link) && !(m_config.losesFrames && m_config.losesFrames(link));
}

const FlowLevelFabric::Tree&
FlowLevelFabric::FindTree(const MemberSet& set, std::span<const int> members, uint32_t stripe)
{
    const auto [it, isNew] = m_trees.try_emplace(uint64_t{set.number} << 32 | stripe);
    if (isNew)
    {
        it->second = m_inNetwork->Plan({{members.begin(), members.end()}, stripe});
    }
    return it->second;
}

bool
FlowLevelFabric::Supports(std::span<const int> members)
{
    const auto [it, isNew] = m_supported.try_emplace(m_memberSets.Find(members).number);
    if (isNew)
    {
        it->second = m_inNetwork->CanServe({members.begin(), members.end()});
    }
    return it->second;
}

FlowLevelFabric::Operation*
FlowLevelFabric::OpenOperation(const JoinRequest& request, const Tree& tree, uint32_t root)
{
    Operation* operation;
    if (m_freeOperations.empty())
    {
        m_allOperations.push_back(std::make_unique<Operation>());
        operation = m_allOperations.back().get();
    }
    else
    {
        operation = m_freeOperations.back();
        m_freeOperations.pop_back();
    }
    std::vector<Operation::Member> members = std::move(operation->members); // for their memory
    std::vector<uint32_t> awaited = std::move(operation->awaited);
    *operation = Operation();
    members.assign(tree->members.size(), {});
    awaited.assign(tree->switches.size(), 0);
    operation->members = std::move(members);
    operation->awaited = std::move(awaited);
    operation->tree = tree;
    operation->fabric = this;
    operation->kind = request.op;
    operation->root = root;
    operation->bytes = request.bytes;
    operation->frames = FramesOf(*tree);
    if (request.info)
    {
        operation->rateCapBps = request.info->rateCapBps;
        operation->purpose = request.info->purpose;
        operation->frames.dataOverhead += static_cast<uint32_t>(
            std::lround((request.info->wireInflation - 1) * operation->frames.mtuPayload));
    }
    for (uint32_t member = 0; member < tree->members.size(); ++member)
    {
        operation->members[member].host = tree->members[member].host;
        operation->toJoin += operation->Sends(member);
        operation->awaited[tree->members[member].at] += operation->Sends(member);
    }
    for (std::size_t at = tree->switches.size() - 1; at > 0; --at)
    {
        operation->awaited[tree->switches[at].parent] += operation->awaited[at] > 0;
    }
    operation->contributing = operation->toJoin;
    operation->unfinished = static_cast<uint32_t>(tree->members.size());
    return operation;
}

bool
FlowLevelFabric::Join(int rank, const JoinRequest& request)
{
    const MemberSet& set = m_memberSets.Find(request.members);
    const auto place = set.places.find(rank);
    const auto root = set.places.find(request.root);
    const Tree& tree = FindTree(set, request.members, request.info ? request.info->channel : 0);
    if (!tree || place == set.places.end() || root == set.places.end())
    {
        return false;
    }
    Operation& operation = *m_operations.Join(set, request.tag, place->second, [&] {
        return OpenOperation(request, tree, root->second);
    });
    Operation::Member& member = operation.members[place->second];
    member.handler = request.handler;
    member.arg = request.arg;
    const TimePs latency = request.info ? request.info->sendLatency : 0;
    member.joinPs = ns3::AddPs(m_loop.Now(), latency);
    if (operation.joiningPs != member.joinPs)
    {
        operation.joiningPs = member.joinPs;
        m_loop.ScheduleFor(operation, latency, [](Operation& joined) {
            joined.fabric->JoinMembers(joined);
        });
    }
    return true;
}

void
FlowLevelFabric::JoinMembers(Operation& operation)
{
    operation.joiningPs = -1; // those that ask later in this picosecond have an event of their own
    if (!HasPlaces(operation))
    {
        return;
    }
    m_members.clear();
    for (uint32_t index = 0; index < operation.members.size(); ++index)
    {
        Operation::Member& member = operation.members[index];
        if (member.joined || member.joinPs > m_loop.Now())
        {
            continue;
        }
        member.joined = true;
        if (operation.Sends(index))
        {
            member.contribution = operation.contributions;
            m_members.push_back(index);
        }
        else if (member.complete && !operation.isTelling)
        {
            operation.isTelling = true;
            m_loop.Schedule(
                0,
                [](void* arg) {
                    auto* late = static_cast<Operation*>(arg);
                    late->fabric->TellLateMembers(*late);
                },
                &operation);
        }
    }
    if (m_members.empty())
    {
        return;
    }
    Part* part = Stream(operation, m_members, false, [](void* arg) {
        auto* reached = static_cast<Part*>(arg);
        reached->fabric->m_loop.ScheduleFor(*reached, reached->tail, [](Part& arrived) {
            arrived.fabric->OnContributionsArrived(&arrived);
        });
    });
    part->number = operation.contributions++;
    operation.toJoin -= static_cast<uint32_t>(m_members.size());
    if (operation.toJoin == 0)
    {
        const auto first =
            static_cast<uint32_t>(std::min<uint64_t>(operation.bytes, operation.frames.mtuPayload));
        m_loop.ScheduleFor(operation,
                           ns3::OneWayPs(m_path, operation.frames.DataWireBytes(first)),
                           [](Operation& begun) { begun.fabric->StartResults(begun); });
    }
}

bool
FlowLevelFabric::HasPlaces(Operation& operation)
{
    if (!m_places.IsLimited() || operation.tree->nvlink || operation.hasPlaces)
    {
        return true;
    }
    const bool allAsk = std::ranges::all_of(operation.members, [this](const auto& member) {
        return member.joinPs <= m_loop.Now();
    });
    if (allAsk && !operation.asked)
    {
        operation.asked = true;
        m_places.Enter(operation.tree->ListNodes(), [this, &operation] {
            operation.hasPlaces = true;
            JoinMembers(operation);
        });
    }
    return false;
}

FlowLevelFabric::Part*
FlowLevelFabric::Stream(Operation& operation,
                        std::span<const uint32_t> members,
                        bool isResult,
                        FluidTransfer::Handler onReached)
{
    m_uses.clear();
    m_levels.clear();
    if (isResult)
    {
        TakeLinksDown(operation, members);
    }
    else
    {
        TakeLinksUp(operation, members);
    }
    m_path = {.hops = std::move(m_path.hops)};
    m_path.hops.clear();
    for (const ns3::PathHop& level : m_levels)
    {
        if (level.rateBps > 0)
        {
            m_path.hops.push_back(level);
            m_path.delayPs += level.delayPs;
            m_path.bottleneckBps = m_path.hops.size() == 1
                                       ? level.rateBps
                                       : std::min(m_path.bottleneckBps, level.rateBps);
        }
    }
    if (!isResult)
    {
        std::ranges::reverse(m_path.hops);
    }
    Part* part = m_parts.Take();
    part->fabric = this;
    part->operation = &operation;
    part->bytes = operation.bytes;
    FluidTransfers::Request request;
    request.uses = m_uses;
    request.startsOnAll = true;
    Time(*part, m_path, operation.frames, operation.rateCapBps, request);
    part->ackDelay = ns3::OneWayPs(m_path, operation.frames.ackWireBytes);
    m_packetHops += (DivideUp(part->bytes, operation.frames.mtuPayload) + 1) * m_uses.size();
    request.onReached = onReached;
    request.onDrained = [](void* arg) {
        auto* left = static_cast<Part*>(arg);
        left->left = true;
        left->fabric->Release(left);
    };
    request.owner = part;
    m_transfers.Start(request);
    return part;
}

void
FlowLevelFabric::TakeLinksUp(Operation& operation, std::span<const uint32_t> members)
{
    const ns3::InNetworkTree& tree = *operation.tree;
    const uint32_t root = operation.members[operation.root].host;
    for (const uint32_t index : members)
    {
        const ns3::InNetworkTree::Member& member = tree.members[index];
        uint32_t level = tree.DepthOf(member.at);
        const uint32_t node = GetTopology().NodeOfHost(member.host);
        TakeLink(operation, node, member.nic, level, member.host, root);
        // A switch sends once all below it do.
        for (uint32_t at = member.at; --operation.awaited[at] == 0 && at != 0;)
        {
            const ns3::InNetworkTree::Switch& here = tree.switches[at];
            TakeLink(operation, here.node, here.upPort, --level, member.host, root);
            at = here.parent;
        }
    }
}

void
FlowLevelFabric::TakeLinksDown(const Operation& operation, std::span<const uint32_t> members)
{
    const ns3::InNetworkTree& tree = *operation.tree;
    const uint32_t root = operation.members[operation.root].host;
    m_reached.assign(tree.switches.size(), false);
    for (const uint32_t index : members)
    {
        const ns3::InNetworkTree::Member& member = tree.members[index];
        uint32_t level = tree.DepthOf(member.at);
        const uint32_t node = tree.switches[member.at].node;
        TakeLink(operation, node, member.switchPort, level, root, member.host);
        for (uint32_t at = member.at; at != 0 && !m_reached[at]; at = tree.switches[at].parent)
        {
            m_reached[at] = true;
            const ns3::InNetworkTree::Switch& here = tree.switches[at];
            const uint32_t above = tree.switches[here.parent].node;
            TakeLink(operation, above, here.parentPort, --level, root, member.host);
        }
    }
}

void
FlowLevelFabric::TakeLink(const Operation& operation,
                          uint32_t node,
                          uint16_t port,
                          uint32_t level,
                          uint32_t src,
                          uint32_t dst)
{
    const uint32_t index = GetTopology().Ports(node)[port].link;
    const auto& link = GetTopology().links[index];
    const ns3::PathHop hop{node, port, index, link.rateBps, link.delayPs};
    m_uses.push_back({LinkOf(m_router.DirectedLink(hop)), 1});
    m_levels.resize(std::max<std::size_t>(m_levels.size(), level + 1));
    ns3::PathHop& slowest = m_levels[level];
    const TimePs longest = std::max(slowest.delayPs, hop.delayPs);
    if (slowest.rateBps == 0 || hop.rateBps < slowest.rateBps)
    {
        slowest = hop;
    }
    slowest.delayPs = longest;
    if (m_use)
    {
        // The bytes of messages are those on the wire, so the protocol's overhead counts here, too.
        const uint64_t mtu = operation.frames.mtuPayload;
        const uint64_t added =
            (operation.bytes + mtu - 1) / mtu *
            (operation.frames.dataOverhead - FramesOf(*operation.tree).dataOverhead);
        m_use->Add(hop.node, hop.port, src, dst, operation.bytes + added, operation.purpose);
    }
}

void
FlowLevelFabric::StartResults(Operation& operation)
{
    m_members.clear();
    for (uint32_t index = 0; index < operation.members.size(); ++index)
    {
        if (operation.Receives(index))
        {
            m_members.push_back(index);
        }
    }
    Stream(operation, m_members, true, [](void* arg) {
        auto* part = static_cast<Part*>(arg);
        part->fabric->m_loop.ScheduleFor(*part, part->tail, [](Part& arrived) {
            arrived.fabric->OnResultsArrived(&arrived);
        });
    });
    const uint64_t rest = operation.bytes % operation.frames.mtuPayload;
    const auto last = static_cast<uint32_t>(rest ? rest : operation.frames.mtuPayload);
    operation.lastFramePs = ns3::OneWayPs(m_path, operation.frames.DataWireBytes(last));
}

void
FlowLevelFabric::OnContributionsArrived(Part* part)
{
    Operation& operation = *part->operation;
    const uint32_t number = part->number;
    const auto isSender = [&operation, number](uint32_t index) {
        const Operation::Member& member = operation.members[index];
        return operation.Sends(index) && member.joined && member.contribution == number;
    };
    const TimePs ackDelay = part->ackDelay;
    part->acknowledged = true;
    Release(part);
    bool isAwaited = false; // by a member that receives nothing: its operation is not over
    for (uint32_t index = 0; index < operation.members.size(); ++index)
    {
        operation.contributing -= isSender(index);
        isAwaited |= isSender(index) && !operation.Receives(index);
    }
    if (isAwaited)
    {
        m_loop.Schedule(ackDelay, [this, &operation, isSender] {
            FinishMembers(operation, [&operation, &isSender](uint32_t index) {
                return isSender(index) && !operation.Receives(index);
            });
        });
    }
    if (operation.contributing == 0 && operation.resultsCame)
    {
        // Results that were held up by this contribution follow its last frame.
        m_loop.ScheduleFor(operation, operation.lastFramePs, [](Operation& ended) {
            ended.fabric->FinishReceivers(ended);
        });
    }
}

void
FlowLevelFabric::OnResultsArrived(Part* part)
{
    Operation& operation = *part->operation;
    part->acknowledged = true;
    Release(part);
    operation.resultsCame = true;
    if (operation.contributing == 0)
    {
        FinishReceivers(operation);
    }
}

template <typename Function>
void
FlowLevelFabric::FinishMembers(Operation& operation, Function f)
{
    bool isLast = false; // then the next operation may have its memory
    for (uint32_t index = 0; !isLast && index < operation.members.size(); ++index)
    {
        isLast = f(index) && FinishMember(operation, index);
    }
}

void
FlowLevelFabric::FinishReceivers(Operation& operation)
{
    FinishMembers(operation, [&operation](uint32_t index) { return operation.Receives(index); });
}

void
FlowLevelFabric::TellLateMembers(Operation& operation)
{
    operation.isTelling = false;
    FinishMembers(operation, [&operation](uint32_t index) {
        const Operation::Member& member = operation.members[index];
        return member.joined && member.complete && !member.isTold;
    });
}

bool
FlowLevelFabric::FinishMember(Operation& operation, uint32_t index)
{
    Operation::Member& member = operation.members[index];
    member.complete = true;
    if (!member.joined)
    {
        return false; // it has not asked yet
    }
    member.isTold = true;
    const MessageHandler handler = member.handler;
    void* arg = member.arg;
    const bool isLast = --operation.unfinished == 0;
    if (isLast)
    {
        m_freeOperations.push_back(&operation);
        if (operation.hasPlaces)
        {
            m_places.Leave(operation.tree->ListNodes());
        }
    }
    if (handler)
    {
        handler(arg);
    }
    return isLast;
}

} // namespace AstraSim
