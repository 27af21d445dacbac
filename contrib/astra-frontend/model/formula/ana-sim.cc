/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ana-sim.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace AstraSim
{

// A message waits at two ports: its source's and its destination's. Launch() collects the
// messages of one moment, and SharePorts() computes their times just before the clock goes on.
// At each port, Serve() shares the time equally among connections, smallest work first: with n
// connections left, each needs n times the difference to the one before (processor sharing). The
// messages of one connection queue, so their work adds up (QueueConnections). The port is then
// busy until the last ends, and later messages begin after that. A message arrives at the latest
// of three times: the end at its egress plus the way, the end at its ingress, and its time alone
// at its own speed limit. So a message costs one event each for its send latency, arrival and
// acknowledgement.

AnaSim::AnaSim(std::shared_ptr<MessagePaths> paths)
    : m_paths(std::move(paths)),
      m_portFree(m_paths->GetPortCount(), 0)
{
    MakeRanks(m_paths->GetRankCount());
    m_loop.SetBeforeAdvance([](void* self) { static_cast<AnaSim*>(self)->SharePorts(); }, this);
}

UnusedNetwork
AnaSim::MakeUnused() const
{
    const auto network = std::make_shared<AnaSim>(m_paths);
    EventLoop& loop = network->GetLoop();
    return {network,
            [&loop] {
                loop.Run();
                return !loop.IsInterrupted();
            },
            [&loop] { loop.Interrupt(); }};
}

void
AnaSim::StartChecks(AnaCheck::Report report)
{
    m_check = std::make_unique<AnaCheck>(m_paths->GetPortCount(), std::move(report));
}

void
AnaSim::FinishChecks(bool drained)
{
    if (m_check)
    {
        m_check->Finish(m_loop.Now(), drained);
    }
}

void
AnaSim::Send(uint32_t src, const SendRequest& request)
{
    Message* message = m_messages.Take();
    message->network = this;
    const auto [latency, wireBytes] = Accept(*message, src, request);
    message->wireBytes = wireBytes;
    if (latency > 0)
    {
        m_loop.Schedule(latency, &AnaSim::Launch, message);
    }
    else
    {
        Launch(message);
    }
}

void
AnaSim::Launch(void* argument)
{
    Message& message = *static_cast<Message*>(argument);
    AnaSim& self = *message.network;
    if (message.IsLocal())
    {
        message.partsToDeliver = 1;
        self.m_loop.Schedule(0, &AnaSim::Delivered, &message);
        return;
    }
    const auto parts =
        self.Cut(message.src, message.dst, message.wireBytes, message.channel, message.plane);
    message.partsToDeliver = static_cast<uint16_t>(parts.size());
    for (uint32_t number = 0; number < parts.size(); ++number)
    {
        self.LaunchPart(message, number, parts[number]);
    }
}

void
AnaSim::LaunchPart(Message& message, uint32_t number, const ns3::MessagePart& part)
{
    const auto path = m_paths->Find(message.src,
                                    message.dst,
                                    part.port,
                                    part.bytes,
                                    part.ShareOf(message.rateCapBps));
    if (!path)
    {
        m_withoutPath.emplace_back(message.src, message.dst);
        return;
    }
    message.acknowledgement = std::max(message.acknowledgement, path->acknowledgement);
    if (!message.rateCapBps)
    {
        EnterPorts(message, *path);
        return;
    }
    const TimePs now = m_loop.Now();
    TimePs& laneFree = m_laneFree[{message.src, message.dst, message.channel, number}];
    const TimePs turn = std::max(now, laneFree);
    laneFree = ns3::AddPs(ns3::AddPs(turn, path->egressTime), path->limited - path->alone);
    if (turn == now)
    {
        EnterPorts(message, *path);
        return;
    }
    // It enters its ports when its turn comes, as several lanes fill a port side by side.
    Part* waiting = m_parts.Take();
    waiting->message = &message;
    waiting->path = *path;
    m_loop.Schedule(turn - now, &AnaSim::TakeTurn, waiting);
}

void
AnaSim::TakeTurn(void* argument)
{
    Part* part = static_cast<Part*>(argument);
    AnaSim& self = *part->message->network;
    self.EnterPorts(*part->message, part->path);
    self.m_parts.GiveBack(part);
}

void
AnaSim::EnterPorts(Message& message, const MessagePath& path)
{
    m_entering.push_back({&message, path, path.egressTime, path.ingressTime, 0, 0, true});
}

void
AnaSim::QueueConnections(std::span<uint32_t> entries)
{
    const auto connection = [this](uint32_t index) {
        const Entering& entry = m_entering[index];
        const Message& message = *entry.message;
        return std::tuple(entry.path.ingress, message.src, message.dst, message.channel);
    };
    std::ranges::sort(entries, [&](uint32_t a, uint32_t b) {
        return std::tuple(connection(a), a) < std::tuple(connection(b), b);
    });
    for (std::size_t i = 1; i < entries.size(); ++i)
    {
        if (connection(entries[i - 1]) == connection(entries[i]))
        {
            Entering& before = m_entering[entries[i - 1]];
            Entering& entry = m_entering[entries[i]];
            before.isLast = false;
            entry.egressWork = ns3::AddPs(entry.egressWork, before.egressWork);
            entry.ingressWork = ns3::AddPs(entry.ingressWork, before.ingressWork);
        }
    }
}

TimePs
AnaSim::Serve(std::span<uint32_t> entries,
              TimePs begin,
              TimePs Entering::*work,
              TimePs Entering::*end)
{
    std::ranges::sort(entries, [&](uint32_t a, uint32_t b) {
        return std::tuple(m_entering[a].*work, a) < std::tuple(m_entering[b].*work, b);
    });
    auto connections = static_cast<uint64_t>(std::ranges::count_if(entries, [this](uint32_t index) {
        return m_entering[index].isLast;
    }));
    TimePs now = begin;
    TimePs taken = 0;
    for (const uint32_t index : entries)
    {
        Entering& entry = m_entering[index];
        // All connections left have had `taken` each; they share the port until this one's work is
        // done.
        now = ns3::AddPs(now, ns3::TimesPs(entry.*work - taken, connections));
        taken = entry.*work;
        connections -= entry.isLast ? 1 : 0;
        entry.*end = now;
    }
    return now;
}

void
AnaSim::ShareEgress(std::span<uint32_t> entries)
{
    QueueConnections(entries);
    TimePs& free = m_portFree[m_entering[entries.front()].path.egress];
    free =
        Serve(entries, std::max(m_loop.Now(), free), &Entering::egressWork, &Entering::egressEnd);
}

void
AnaSim::ShareIngress(std::span<uint32_t> entries)
{
    const TimePs now = m_loop.Now();
    const auto firstBit = [this](uint32_t index) {
        const MessagePath& path = m_entering[index].path;
        return path.alone - path.ingressTime;
    };
    const TimePs first =
        firstBit(*std::ranges::min_element(entries, [&firstBit](uint32_t a, uint32_t b) {
            return firstBit(a) < firstBit(b);
        }));
    TimePs& free = m_portFree[m_entering[entries.front()].path.ingress];
    free = Serve(entries,
                 std::max(ns3::AddPs(now, first), free),
                 &Entering::ingressWork,
                 &Entering::ingressEnd);
    for (const uint32_t index : entries)
    {
        Entering& entry = m_entering[index];
        entry.ingressEnd = std::max(entry.ingressEnd, ns3::AddPs(now, entry.path.alone));
    }
}

void
AnaSim::ForEachPort(uint32_t MessagePath::*port, void (AnaSim::*share)(std::span<uint32_t>))
{
    const auto number = [&](uint32_t index) { return m_entering[index].path.*port; };
    m_order.resize(m_entering.size());
    std::iota(m_order.begin(), m_order.end(), 0);
    std::ranges::sort(m_order, [&](uint32_t a, uint32_t b) { return number(a) < number(b); });
    for (auto begin = m_order.begin(); begin != m_order.end();)
    {
        const auto end = std::find_if(begin, m_order.end(), [&](uint32_t index) {
            return number(index) != number(*begin);
        });
        (this->*share)({begin, end});
        begin = end;
    }
}

void
AnaSim::SharePorts()
{
    if (m_entering.empty())
    {
        return;
    }
    // Messages that are sent together share both ports from the start, as their packets would
    // alternate; so a message that waits at one port does not block the other.
    ForEachPort(&MessagePath::egress, &AnaSim::ShareEgress);
    ForEachPort(&MessagePath::ingress, &AnaSim::ShareIngress);
    const TimePs now = m_loop.Now();
    for (const Entering& entry : m_entering)
    {
        const MessagePath& path = entry.path;
        const TimePs delivered = std::max(
            {entry.egressEnd + path.alone - path.egressTime, entry.ingressEnd, now + path.limited});
        if (m_check)
        {
            m_check->Placed(now, path, {entry.egressEnd, entry.ingressEnd, delivered});
        }
        m_loop.Schedule(delivered - now, &AnaSim::Delivered, entry.message);
    }
    m_entering.clear();
}

void
AnaSim::Delivered(void* argument)
{
    Message* message = static_cast<Message*>(argument);
    AnaSim& self = *message->network;
    if (self.m_check && !message->IsLocal())
    {
        self.m_check->Arrived(self.Now());
    }
    if (message->partsToDeliver == 1)
    {
        self.m_loop.Schedule(message->acknowledgement, &AnaSim::Acknowledged, message);
    }
    self.PartDelivered(*message);
}

void
AnaSim::Acknowledged(void* argument)
{
    Message* message = static_cast<Message*>(argument);
    End(message->network->m_messages, message);
}

bool
AnaSim::Join(int rank, const JoinRequest& request)
{
    const MemberSet& set = m_memberSets.Find(request.members);
    const auto place = set.places.find(rank);
    if (place == set.places.end() || !set.places.contains(request.root) ||
        !Supports(request.members))
    {
        return false;
    }
    const auto operation = m_operations.Join(set, request.tag, place->second, [] {
        return std::make_shared<Operation>();
    });
    operation->emplace_back(request.handler, request.arg);
    if (operation->size() < request.members.size())
    {
        return true;
    }
    const TimePs latency = request.info ? request.info->sendLatency : 0;
    const TimePs time = latency + InNetworkTime(request);
    for (const auto& [done, arg] : *operation)
    {
        if (done)
        {
            m_loop.Schedule(time, done, arg);
        }
    }
    return true;
}

TimePs
AnaSim::InNetworkTime(const JoinRequest& request)
{
    const MessageInfo info = request.info ? *request.info : MessageInfo();
    const auto wireBytes =
        static_cast<uint64_t>(std::ceil(static_cast<double>(request.bytes) * info.wireInflation));
    const auto& members = request.members;
    if (wireBytes == 0 || members.size() < 2)
    {
        return 0;
    }
    const TimePs now = m_loop.Now();
    TimePs end = now;
    for (std::size_t i = 0; i < members.size(); ++i)
    {
        const auto self = static_cast<uint32_t>(members[i]);
        const auto other = static_cast<uint32_t>(members[i == 0 ? 1 : 0]);
        // Up to the switch and down from it: as far as to another member.
        const auto up = m_paths->Find(self, other, info.channel, wireBytes, info.rateCapBps);
        const auto down = m_paths->Find(other, self, info.channel, wireBytes, info.rateCapBps);
        end = std::max(end, now + up->limited);
        if (request.op != InNetworkOp::Multicast || members[i] == request.root)
        {
            TimePs& free = m_portFree[up->egress];
            free = std::max(now, free) + up->egressTime;
            end = std::max(end, free + up->alone - up->egressTime);
        }
        if (request.op != InNetworkOp::Reduce || members[i] == request.root)
        {
            TimePs& free = m_portFree[down->ingress];
            free = std::max(now + down->alone - down->ingressTime, free) + down->ingressTime;
            end = std::max(end, free);
        }
    }
    return end - now;
}

std::vector<std::string>
AnaSim::DescribeWaits(std::size_t limit) const
{
    std::vector<std::string> lines;
    for (const auto& [src, dst] : m_withoutPath)
    {
        lines.push_back("rank " + std::to_string(src) + " has a message for rank " +
                        std::to_string(dst) + " and no path");
    }
    const auto waits = DescribeReceives(limit);
    lines.insert(lines.end(), waits.begin(), waits.end());
    if (lines.size() > limit)
    {
        lines.resize(limit);
    }
    return lines;
}

} // namespace AstraSim
