/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "shared-network.h"

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
    for (uint32_t rank = first; rank < first + count; ++rank)
    {
        m_ranks.emplace_back(static_cast<int>(rank), *this);
    }
}

SharedNetwork::Demand
SharedNetwork::Accept(NetworkMessage& message,
                      uint32_t src,
                      const SendRequest& request,
                      const StreamKey& key)
{
    MessageInfo* info = request.info;
    message.stream = &m_streams.AddSend(key, info ? info->stream : nullptr, message.number);
    message.bytes = request.bytes;
    message.src = src;
    message.dst = static_cast<uint32_t>(request.dst);
    message.sent = request.handler;
    message.sentArg = request.arg;
    if (!info)
    {
        return {0, request.bytes};
    }
    info->stream = message.stream;
    message.keepsOrder = info->collective > 0;
    message.channel = info->channel;
    message.plane = info->plane;
    message.purpose = info->purpose;
    message.rateCapBps = info->rateCapBps;
    const double inflation = info->wireInflation;
    return {info->sendLatency,
            inflation == 1
                ? request.bytes
                : static_cast<uint64_t>(std::ceil(static_cast<double>(request.bytes) * inflation))};
}

void
SharedNetwork::PartDelivered(NetworkMessage& message)
{
    if (--message.partsToDeliver > 0 || !message.IsMatched())
    {
        return;
    }
    ++m_deliveredCount;
    m_streams.Arrive(*message.stream, {.number = message.number, .bytes = message.bytes});
}

void
SharedNetwork::Receive(uint32_t dst, const ReceiveRequest& request)
{
    const auto src = static_cast<uint32_t>(request.src);
    if (AddReceive(StreamKey::OfTag(src, dst, request.tag), request.bytes, request) &&
        request.handler)
    {
        Schedule(0, request.handler, request.arg);
    }
}

bool
SharedNetwork::AddReceive(const StreamKey& key, uint64_t bytes, const ReceiveRequest& request)
{
    MessageStream* stream = request.info ? request.info->stream : nullptr;
    const bool isComplete = m_streams.AddReceive(key, bytes, request.handler, request.arg, stream);
    if (request.info)
    {
        request.info->stream = stream;
    }
    return isComplete;
}

namespace
{

/// A rank's wait for all parts of an operation.
struct WaitForParts
{
    std::size_t left;
    MessageHandler handler;
    void* arg;

    static void Ended(void* self)
    {
        auto* wait = static_cast<WaitForParts*>(self);
        if (--wait->left > 0)
        {
            return;
        }
        const WaitForParts ended = *wait;
        delete wait;
        if (ended.handler)
        {
            ended.handler(ended.arg);
        }
    }
};

} // namespace

bool
SharedNetwork::JoinParts(int rank, const JoinRequest& request)
{
    if (!request.info || request.bytes == 0 || request.members.size() < 2)
    {
        return Join(rank, request);
    }
    const auto parts = Cut(static_cast<uint32_t>(request.members.front()),
                           static_cast<uint32_t>(request.members.back()),
                           request.bytes,
                           request.info->channel,
                           MessageInfo::ALL_PLANES);
    if (parts.size() == 1)
    {
        return Join(rank, request);
    }
    // All members cut an operation into the same parts, so their n-th parts belong together.
    MessageInfo info = *request.info;
    JoinRequest joined = request;
    joined.info = &info;
    joined.handler = &WaitForParts::Ended;
    auto wait =
        std::make_unique<WaitForParts>(WaitForParts{parts.size(), request.handler, request.arg});
    joined.arg = wait.get();
    for (const ns3::MessagePart& part : parts)
    {
        joined.bytes = part.bytes;
        info.channel = part.port;
        info.rateCapBps = part.ShareOf(request.info->rateCapBps);
        if (!Join(rank, joined))
        {
            return false;
        }
    }
    static_cast<void>(wait.release()); // the last part to end deletes it
    return true;
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
    return m_network.JoinParts(GetRank(), request);
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

std::optional<std::vector<uint32_t>>
SharedRankNetwork::FindLinks(int dst, uint32_t channel)
{
    return m_network.FindLinks(GetRank(), dst, channel);
}

TimePs
SharedRankNetwork::GetSentTime() const
{
    return m_network.GetSentTime();
}

} // namespace AstraSim
