/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-sim-network.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

using ns3::PicoSeconds;
using ns3::Simulator;

AstraSimFabric::AstraSimFabric(ns3::RdmaFabric& fabric)
    : m_fabric(fabric),
      m_inNetwork(fabric)
{
    const auto hosts = static_cast<int>(fabric.GetTopology().hostCount);
    m_networks.reserve(static_cast<std::size_t>(hosts));
    for (int rank = 0; rank < hosts; ++rank)
    {
        m_networks.push_back(std::make_unique<ASTRASimNetwork>(rank, *this));
    }
    m_fabric.TraceConnectWithoutContext("RoutesChanged",
                                        ns3::MakeCallback(&AstraSimFabric::OnRoutesChanged, this));
}

AstraSimFabric::~AstraSimFabric()
{
    m_fabric.TraceDisconnectWithoutContext(
        "RoutesChanged",
        ns3::MakeCallback(&AstraSimFabric::OnRoutesChanged, this));
}

AstraNetworkAPI&
AstraSimFabric::GetNetwork(int rank)
{
    return *m_networks[static_cast<std::size_t>(rank)];
}

int
AstraSimFabric::GetSize() const
{
    return static_cast<int>(m_networks.size());
}

AstraSimFabric::Message*
AstraSimFabric::TakeMessage()
{
    constexpr std::size_t SLAB = 256;
    if (!m_freeMessages)
    {
        m_slabs.push_back(std::make_unique<Message[]>(SLAB));
        for (std::size_t i = 0; i < SLAB; ++i)
        {
            m_slabs.back()[i].next = m_freeMessages;
            m_freeMessages = &m_slabs.back()[i];
        }
    }
    Message* message = m_freeMessages;
    m_freeMessages = message->next;
    *message = Message();
    message->fabric = this;
    return message;
}

void
AstraSimFabric::Send(uint32_t src,
                     uint32_t dst,
                     int tag,
                     uint64_t bytes,
                     const sim_request* request,
                     MessageHandler handler,
                     void* arg)
{
    Message* message = TakeMessage();
    message->src = src;
    message->dst = dst;
    message->sent = handler;
    message->sentArg = arg;
    message->send = m_matcher.AddSend(src, dst, tag, bytes);
    message->wireBytes = bytes;
    ++m_sentCount;
    TimePs latency = 0;
    if (request)
    {
        message->channel = request->channel;
        message->rateCapBps = request->rateCapBps;
        message->wireBytes =
            static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * request->wireInflation));
        latency = request->sendLatency;
    }
    // Never from inside the call: handlers of a message to oneself would run too early.
    if (latency > 0 || src == dst)
    {
        Simulator::Schedule(PicoSeconds(latency), &AstraSimFabric::Launch, this, message);
    }
    else
    {
        Launch(message);
    }
}

void
AstraSimFabric::Launch(Message* message)
{
    if (message->src == message->dst || message->wireBytes == 0)
    {
        message->partsToDeliver = 1;
        message->partsToAcknowledge = 1;
        Simulator::ScheduleNow(&AstraSimFabric::OnPartDelivered, this, message);
        Simulator::ScheduleNow(&AstraSimFabric::OnPartAcknowledged, this, message);
        return;
    }
    const uint64_t frames = (message->wireBytes - 1) / m_fabric.GetConf().payloadBytes + 1;
    const auto parts =
        static_cast<uint32_t>(std::min<uint64_t>(m_fabric.GetConf().qpsPerConnection, frames));
    message->partsToDeliver = parts;
    message->partsToAcknowledge = parts;
    const uint64_t each = message->wireBytes / parts;
    for (uint32_t part = 0; part < parts; ++part)
    {
        LaunchPart(message, part, part + 1 == parts ? message->wireBytes - each * part : each);
    }
}

ns3::RdmaQueuePair*
AstraSimFabric::FindQueuePair(const Message& message, uint32_t part)
{
    using ns3::FabricConf;
    ns3::RdmaDriver* driver = m_fabric.GetDriver(message.src);
    ns3::RdmaConnectionOptions options;
    options.channel = static_cast<int32_t>(message.channel + part);
    options.rateCapBps = message.rateCapBps;
    const bool nvlink = m_fabric.GetTopology().ShareNvSwitch(message.src, message.dst);
    if (!nvlink && !message.rateCapBps && m_fabric.GetConf().qpMode == FabricConf::QpMode::PerFlow)
    {
        options.closeWhenDone = true;
        return driver->Connect(message.dst, options);
    }
    auto& qp = m_connections[{message.src, message.dst, message.channel, part, message.rateCapBps}];
    if (!qp)
    {
        qp = driver->Connect(message.dst, options);
    }
    return qp;
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
    m_fabric.GetHw(message->src)
        .PostMessage(
            *qp,
            bytes,
            [message] { message->fabric->OnPartAcknowledged(message); },
            [message] { message->fabric->OnPartDelivered(message); });
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
AstraSimFabric::OnPartDelivered(Message* message)
{
    if (--message->partsToDeliver > 0)
    {
        return;
    }
    ++m_deliveredCount;
    // Handlers may deliver more; what is complete now is taken out first.
    std::vector<MessageMatcher::Completion> completions;
    completions.swap(m_completions);
    m_matcher.Deliver(message->send, completions);
    for (const auto& completion : completions)
    {
        if (completion.handler)
        {
            completion.handler(completion.arg);
        }
    }
    completions.clear();
    m_completions.swap(completions);
}

void
AstraSimFabric::OnPartAcknowledged(Message* message)
{
    if (--message->partsToAcknowledge > 0)
    {
        return;
    }
    const MessageHandler sent = message->sent;
    void* arg = message->sentArg;
    message->next = m_freeMessages;
    m_freeMessages = message;
    if (sent)
    {
        sent(arg);
    }
}

void
AstraSimFabric::Receive(uint32_t src,
                        uint32_t dst,
                        int tag,
                        uint64_t bytes,
                        MessageHandler handler,
                        void* arg)
{
    if (m_matcher.AddReceive(src, dst, tag, bytes, handler, arg) && handler)
    {
        Simulator::ScheduleNow(handler, arg);
    }
}

std::vector<std::string>
AstraSimFabric::DescribeObstacles(std::size_t limit) const
{
    std::vector<std::string> lines;
    for (const PendingPart& each : m_withoutPath)
    {
        lines.push_back("rank " + std::to_string(each.message->src) + " has " +
                        std::to_string(each.bytes) + " bytes for rank " +
                        std::to_string(each.message->dst) + " and no path");
    }
    const auto cutOff = m_fabric.DescribeCutOff();
    lines.insert(lines.end(), cutOff.begin(), cutOff.end());
    if (lines.size() > limit)
    {
        const std::size_t more = lines.size() - limit;
        lines.resize(limit);
        lines.push_back("and " + std::to_string(more) + " more without a path");
    }
    return lines;
}

std::vector<std::string>
AstraSimFabric::DescribeWaits(std::size_t limit) const
{
    return m_matcher.DescribeWaits(limit);
}

// --- one rank

ASTRASimNetwork::ASTRASimNetwork(int rank, AstraSimFabric& fabric)
    : AstraNetworkAPI(rank),
      m_fabric(fabric)
{
}

int
ASTRASimNetwork::sim_comm_get_size() const
{
    return m_fabric.GetSize();
}

timespec_t
ASTRASimNetwork::sim_get_time()
{
    return MakeTimespec(Simulator::Now().GetPicoSeconds());
}

void
ASTRASimNetwork::sim_schedule(timespec_t delta, MessageHandler handler, void* arg)
{
    Simulator::Schedule(PicoSeconds(ToPicoseconds(delta)), handler, arg);
}

int
ASTRASimNetwork::sim_send(void*,
                          uint64_t count,
                          int,
                          int dst,
                          int tag,
                          sim_request* request,
                          MessageHandler handler,
                          void* arg)
{
    m_fabric.Send(static_cast<uint32_t>(sim_comm_get_rank()),
                  static_cast<uint32_t>(dst),
                  tag,
                  count,
                  request,
                  handler,
                  arg);
    return 0;
}

int
ASTRASimNetwork::sim_recv(void*,
                          uint64_t count,
                          int,
                          int src,
                          int tag,
                          sim_request*,
                          MessageHandler handler,
                          void* arg)
{
    m_fabric.Receive(static_cast<uint32_t>(src),
                     static_cast<uint32_t>(sim_comm_get_rank()),
                     tag,
                     count,
                     handler,
                     arg);
    return 0;
}

bool
ASTRASimNetwork::sim_in_network_supported(InNetworkOp, std::span<const int> members) const
{
    return m_fabric.m_inNetwork.IsSupported(members);
}

int
ASTRASimNetwork::sim_in_network(InNetworkOp op,
                                std::span<const int> members,
                                int root,
                                uint64_t count,
                                int tag,
                                sim_request* request,
                                MessageHandler handler,
                                void* arg)
{
    return m_fabric.m_inNetwork
        .Join(sim_comm_get_rank(), op, members, root, count, tag, request, handler, arg);
}

} // namespace AstraSim
