/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ana-sim.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

template <typename T>
T*
AnaSim::Pool<T>::Take()
{
    constexpr std::size_t SLAB = 256;
    if (!free)
    {
        slabs.push_back(std::make_unique<T[]>(SLAB));
        for (std::size_t i = 0; i < SLAB; ++i)
        {
            GiveBack(&slabs.back()[i]);
        }
    }
    T* item = free;
    free = item->next;
    *item = T();
    return item;
}

AnaSim::AnaSim(std::unique_ptr<MessagePaths> paths)
    : m_paths(std::move(paths)),
      m_portFree(m_paths->GetPortCount(), 0)
{
    const auto ranks = static_cast<int>(m_paths->GetRankCount());
    m_networks.reserve(m_paths->GetRankCount());
    for (int rank = 0; rank < ranks; ++rank)
    {
        m_networks.push_back(std::make_unique<AnaSimNetwork>(rank, *this));
    }
}

AnaSim::~AnaSim() = default;

AstraNetworkAPI&
AnaSim::GetNetwork(int rank)
{
    return *m_networks[static_cast<std::size_t>(rank)];
}

void
AnaSim::Send(uint32_t src,
             uint32_t dst,
             int tag,
             uint64_t bytes,
             const sim_request* request,
             MessageHandler handler,
             void* arg)
{
    Message* message = m_messages.Take();
    message->network = this;
    message->send = m_matcher.AddSend(src, dst, tag, bytes);
    message->src = src;
    message->dst = dst;
    message->wireBytes = bytes;
    message->sent = handler;
    message->sentArg = arg;
    TimePs latency = 0;
    if (request)
    {
        message->channel = request->channel;
        message->rateCapBps = request->rateCapBps;
        message->wireBytes =
            static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * request->wireInflation));
        latency = request->sendLatency;
    }
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
    if (message.src == message.dst || message.wireBytes == 0)
    {
        message.partsToDeliver = 1;
        self.m_loop.Schedule(0, &AnaSim::PartDelivered, &message);
        return;
    }
    const uint32_t parts = self.m_paths->CountParts(message.src, message.dst, message.wireBytes);
    message.partsToDeliver = parts;
    const uint64_t each = message.wireBytes / parts;
    for (uint32_t part = 0; part < parts; ++part)
    {
        self.LaunchPart(message, part, part + 1 == parts ? message.wireBytes - each * part : each);
    }
}

void
AnaSim::LaunchPart(Message& message, uint32_t number, uint64_t bytes)
{
    const uint32_t channel = message.channel + number;
    const auto path = m_paths->Find(message.src, message.dst, channel, bytes, message.rateCapBps);
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
    TimePs& laneFree = m_laneFree[{message.src, message.dst, channel}];
    const TimePs turn = std::max(now, laneFree);
    laneFree = turn + path->egressTime + path->limited - path->alone;
    if (turn == now)
    {
        EnterPorts(message, *path);
        return;
    }
    // A port gets its work when it could begin with it: lanes fill it side by side.
    Part* part = m_parts.Take();
    part->message = &message;
    part->path = *path;
    m_loop.Schedule(turn - now, &AnaSim::TakeTurn, part);
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
    // Messages that are sent together share both ports from the start, as their packets would
    // alternate; so what a message waits for at one port does not keep the other from its work.
    const TimePs now = m_loop.Now();
    TimePs& egressFree = m_portFree[path.egress];
    egressFree = std::max(now, egressFree) + path.egressTime;
    TimePs& ingressFree = m_portFree[path.ingress];
    ingressFree = std::max(now + path.alone - path.ingressTime, ingressFree) + path.ingressTime;
    const TimePs delivered =
        std::max({egressFree + path.alone - path.egressTime, ingressFree, now + path.limited});
    m_loop.Schedule(delivered - now, &AnaSim::PartDelivered, &message);
}

void
AnaSim::PartDelivered(void* argument)
{
    Message* message = static_cast<Message*>(argument);
    AnaSim& self = *message->network;
    if (--message->partsToDeliver > 0)
    {
        return;
    }
    ++self.m_deliveredCount;
    MessageMatcher::Send* send = message->send;
    self.m_loop.Schedule(message->acknowledgement, &AnaSim::Acknowledged, message);
    // Handlers may deliver more; what is complete now is taken out first.
    std::vector<MessageMatcher::Completion> completions;
    completions.swap(self.m_completions);
    self.m_matcher.Deliver(send, completions);
    for (const auto& completion : completions)
    {
        if (completion.handler)
        {
            completion.handler(completion.arg);
        }
    }
    completions.clear();
    self.m_completions.swap(completions);
}

void
AnaSim::Acknowledged(void* argument)
{
    Message* message = static_cast<Message*>(argument);
    const MessageHandler sent = message->sent;
    void* sentArg = message->sentArg;
    message->network->m_messages.GiveBack(message);
    if (sent)
    {
        sent(sentArg);
    }
}

void
AnaSim::Receive(uint32_t src,
                uint32_t dst,
                int tag,
                uint64_t bytes,
                MessageHandler handler,
                void* arg)
{
    if (m_matcher.AddReceive(src, dst, tag, bytes, handler, arg) && handler)
    {
        m_loop.Schedule(0, handler, arg);
    }
}

void
AnaSim::JoinInNetwork(int rank,
                      InNetworkOp op,
                      std::span<const int> members,
                      int root,
                      uint64_t bytes,
                      int tag,
                      const sim_request* request,
                      MessageHandler handler,
                      void* arg)
{
    const std::vector<int> group(members.begin(), members.end());
    Turns& turns = m_turns[{group, tag}];
    turns.nextOf.resize(group.size(), 0);
    const auto member =
        static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
    const OperationKey key{group, tag, turns.nextOf[member]++};
    Operation& operation = m_operations[key];
    operation.handlers.emplace_back(handler, arg);
    if (operation.handlers.size() < group.size())
    {
        return;
    }
    const double inflation = request ? request->wireInflation : 1;
    const auto wireBytes = static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * inflation));
    const TimePs time = InNetworkTime(op, members, root, wireBytes, request);
    for (const auto& [done, doneArg] : operation.handlers)
    {
        if (done)
        {
            m_loop.Schedule(time, done, doneArg);
        }
    }
    m_operations.erase(key);
    const auto isSame = [&turns](uint64_t turn) { return turn == turns.nextOf.front(); };
    if (std::all_of(turns.nextOf.begin(), turns.nextOf.end(), isSame))
    {
        m_turns.erase({group, tag});
    }
}

TimePs
AnaSim::InNetworkTime(InNetworkOp op,
                      std::span<const int> members,
                      int root,
                      uint64_t wireBytes,
                      const sim_request* request)
{
    if (wireBytes == 0 || members.size() < 2)
    {
        return 0;
    }
    const TimePs now = m_loop.Now();
    const uint32_t channel = request ? request->channel : 0;
    const uint64_t rateCapBps = request ? request->rateCapBps : 0;
    TimePs end = now;
    for (std::size_t i = 0; i < members.size(); ++i)
    {
        const auto self = static_cast<uint32_t>(members[i]);
        const auto other = static_cast<uint32_t>(members[i == 0 ? 1 : 0]);
        // Up to the switch and down from it: as far as to another member.
        const auto up = m_paths->Find(self, other, channel, wireBytes, rateCapBps);
        const auto down = m_paths->Find(other, self, channel, wireBytes, rateCapBps);
        end = std::max(end, now + up->limited);
        if (op != InNetworkOp::Multicast || members[i] == root)
        {
            TimePs& free = m_portFree[up->egress];
            free = std::max(now, free) + up->egressTime;
            end = std::max(end, free + up->alone - up->egressTime);
        }
        if (op != InNetworkOp::Reduce || members[i] == root)
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
    const auto waits = m_matcher.DescribeWaits(limit);
    lines.insert(lines.end(), waits.begin(), waits.end());
    if (lines.size() > limit)
    {
        lines.resize(limit);
    }
    return lines;
}

// --- one rank

AnaSimNetwork::AnaSimNetwork(int rank, AnaSim& network)
    : AstraNetworkAPI(rank),
      m_network(network)
{
}

int
AnaSimNetwork::sim_comm_get_size() const
{
    return m_network.GetSize();
}

timespec_t
AnaSimNetwork::sim_get_time()
{
    return MakeTimespec(m_network.m_loop.Now());
}

void
AnaSimNetwork::sim_schedule(timespec_t delta, MessageHandler handler, void* arg)
{
    m_network.m_loop.Schedule(ToPicoseconds(delta), handler, arg);
}

int
AnaSimNetwork::sim_send(void*,
                        uint64_t count,
                        int,
                        int dst,
                        int tag,
                        sim_request* request,
                        MessageHandler handler,
                        void* arg)
{
    m_network.Send(static_cast<uint32_t>(sim_comm_get_rank()),
                   static_cast<uint32_t>(dst),
                   tag,
                   count,
                   request,
                   handler,
                   arg);
    return 0;
}

int
AnaSimNetwork::sim_recv(void*,
                        uint64_t count,
                        int,
                        int src,
                        int tag,
                        sim_request*,
                        MessageHandler handler,
                        void* arg)
{
    m_network.Receive(static_cast<uint32_t>(src),
                      static_cast<uint32_t>(sim_comm_get_rank()),
                      tag,
                      count,
                      handler,
                      arg);
    return 0;
}

bool
AnaSimNetwork::sim_in_network_supported(InNetworkOp, std::span<const int> members) const
{
    return m_network.m_paths->ShareReducingSwitch(members);
}

int
AnaSimNetwork::sim_in_network(InNetworkOp op,
                              std::span<const int> members,
                              int root,
                              uint64_t count,
                              int tag,
                              sim_request* request,
                              MessageHandler handler,
                              void* arg)
{
    if (!sim_in_network_supported(op, members))
    {
        return -1;
    }
    m_network
        .JoinInNetwork(sim_comm_get_rank(), op, members, root, count, tag, request, handler, arg);
    return 0;
}

} // namespace AstraSim
