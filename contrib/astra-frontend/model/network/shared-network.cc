/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "shared-network.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

SharedNetwork::SharedNetwork() = default;
SharedNetwork::~SharedNetwork() = default;

SharedNetwork::Demand
SharedNetwork::Accept(NetworkMessage& message, const SendCall& call)
{
    message.src = call.src;
    message.dst = call.dst;
    message.sent = call.handler;
    message.sentArg = call.arg;
    m_matcher.AddSend(message,
                      call.src,
                      call.dst,
                      call.tag,
                      call.bytes,
                      call.request ? call.request->stream : nullptr);
    if (!call.request)
    {
        return {0, call.bytes};
    }
    call.request->stream = message.stream;
    message.keepsOrder = call.request->collective > 0;
    message.channel = call.request->channel;
    message.nic = static_cast<uint16_t>(call.request->nic);
    message.purpose = call.request->purpose;
    message.rateCapBps = call.request->rateCapBps;
    const double inflation = call.request->wireInflation;
    return {call.request->sendLatency,
            inflation == 1
                ? call.bytes
                : static_cast<uint64_t>(std::ceil(static_cast<double>(call.bytes) * inflation))};
}

void
SharedNetwork::LookAtNics(const ns3::ClusterTopology& topology)
{
    for (uint32_t host = 0; host < topology.hostCount && !m_severalNics; ++host)
    {
        const auto ports = topology.Ports(topology.NodeOfHost(host));
        m_severalNics = std::count_if(ports.begin(), ports.end(), [&](const auto& port) {
                            return !topology.IsNvLink(port.link);
                        }) > 1;
    }
}

void
SharedNetwork::PartDelivered(NetworkMessage& message)
{
    if (--message.partsToDeliver > 0 || !message.IsMatched())
    {
        return;
    }
    ++m_deliveredCount;
    MessageMatcher::Send* ended = m_matcher.Deliver(message);
    while (ended)
    {
        auto& each = static_cast<NetworkMessage&>(*ended);
        ended = ended->sentNext;
        Forget(each);
    }
}

void
SharedNetwork::Receive(uint32_t src,
                       uint32_t dst,
                       int tag,
                       uint64_t bytes,
                       sim_request* request,
                       MessageHandler handler,
                       void* arg)
{
    MessageStream* stream = request ? request->stream : nullptr;
    const bool isComplete = m_matcher.AddReceive(src, dst, tag, bytes, handler, arg, stream);
    if (request)
    {
        request->stream = stream;
    }
    if (isComplete && handler)
    {
        Schedule(0, handler, arg);
    }
}

// --- one rank

int
RankNetwork::sim_comm_get_size() const
{
    return m_network.GetSize();
}

timespec_t
RankNetwork::sim_get_time()
{
    return MakeTimespec(m_network.Now());
}

void
RankNetwork::sim_schedule(timespec_t delta, MessageHandler handler, void* arg)
{
    m_network.Schedule(ToPicoseconds(delta), handler, arg);
}

int
RankNetwork::sim_send(void*,
                      uint64_t count,
                      int,
                      int dst,
                      int tag,
                      sim_request* request,
                      MessageHandler handler,
                      void* arg)
{
    m_network.Send({static_cast<uint32_t>(sim_comm_get_rank()),
                    static_cast<uint32_t>(dst),
                    tag,
                    count,
                    request,
                    handler,
                    arg});
    return 0;
}

int
RankNetwork::sim_recv(void*,
                      uint64_t count,
                      int,
                      int src,
                      int tag,
                      sim_request* request,
                      MessageHandler handler,
                      void* arg)
{
    m_network.Receive(static_cast<uint32_t>(src),
                      static_cast<uint32_t>(sim_comm_get_rank()),
                      tag,
                      count,
                      request,
                      handler,
                      arg);
    return 0;
}

bool
RankNetwork::sim_in_network_supported(InNetworkOp, std::span<const int> members) const
{
    return m_network.Supports(members);
}

int
RankNetwork::sim_in_network(InNetworkOp op,
                            std::span<const int> members,
                            int root,
                            uint64_t count,
                            int tag,
                            sim_request* request,
                            MessageHandler handler,
                            void* arg)
{
    return m_network.Join(
        {sim_comm_get_rank(), op, members, root, count, tag, request, handler, arg});
}

} // namespace AstraSim
