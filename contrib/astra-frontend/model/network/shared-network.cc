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

void
SharedNetwork::MakeRanks(uint32_t first, uint32_t count, uint32_t size)
{
    m_first = static_cast<int>(first);
    m_size = static_cast<int>(size);
    m_ranks.reserve(count);
    for (uint32_t rank = first; rank < first + count; ++rank)
    {
        m_ranks.push_back(std::make_unique<SharedRankNetwork>(static_cast<int>(rank), *this));
    }
}

SharedNetwork::Demand
SharedNetwork::Accept(NetworkMessage& message, uint32_t src, const SendRequest& request)
{
    MessageInfo* info = request.info;
    m_matcher.AddSend(message,
                      src,
                      static_cast<uint32_t>(request.dst),
                      request.tag,
                      request.bytes,
                      info ? info->stream : nullptr);
    if (info)
    {
        info->stream = message.stream;
    }
    return Describe(message, src, request);
}

SharedNetwork::Demand
SharedNetwork::Describe(NetworkMessage& message, uint32_t src, const SendRequest& request)
{
    message.src = src;
    message.dst = static_cast<uint32_t>(request.dst);
    message.sent = request.handler;
    message.sentArg = request.arg;
    const MessageInfo* info = request.info;
    if (!info)
    {
        return {0, request.bytes};
    }
    message.keepsOrder = info->collective > 0;
    message.channel = info->channel;
    message.nic = static_cast<uint16_t>(info->nic);
    message.purpose = info->purpose;
    message.rateCapBps = info->rateCapBps;
    const double inflation = info->wireInflation;
    return {info->sendLatency,
            inflation == 1
                ? request.bytes
                : static_cast<uint64_t>(std::ceil(static_cast<double>(request.bytes) * inflation))};
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
SharedNetwork::Receive(uint32_t dst, const ReceiveRequest& request)
{
    MessageStream* stream = request.info ? request.info->stream : nullptr;
    const bool isComplete = m_matcher.AddReceive(static_cast<uint32_t>(request.src),
                                                 dst,
                                                 request.tag,
                                                 request.bytes,
                                                 request.handler,
                                                 request.arg,
                                                 stream);
    if (request.info)
    {
        request.info->stream = stream;
    }
    if (isComplete && request.handler)
    {
        Schedule(0, request.handler, request.arg);
    }
}

// --- one rank

int
SharedRankNetwork::GetSize() const
{
    return m_network.GetSize();
}

TimePs
SharedRankNetwork::Now() const
{
    return m_network.Now();
}

void
SharedRankNetwork::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    m_network.Schedule(delay, handler, arg);
}

void
SharedRankNetwork::Send(const SendRequest& request)
{
    m_network.Send(static_cast<uint32_t>(GetRank()), request);
}

void
SharedRankNetwork::Receive(const ReceiveRequest& request)
{
    m_network.Receive(static_cast<uint32_t>(GetRank()), request);
}

bool
SharedRankNetwork::Supports(std::span<const int> members) const
{
    return m_network.Supports(members);
}

bool
SharedRankNetwork::Join(const JoinRequest& request)
{
    return m_network.Join(GetRank(), request);
}

bool
SharedRankNetwork::IsNear(int rank) const
{
    return m_network.AreNear(GetRank(), rank);
}

void
SharedRankNetwork::EndStream(MessageStream* stream, bool isSender)
{
    m_network.EndStream(stream, isSender);
}

TimePs
SharedRankNetwork::GetSentTime() const
{
    return m_network.GetSentTime();
}

} // namespace AstraSim
