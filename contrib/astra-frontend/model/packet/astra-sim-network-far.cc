/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * AstraSimFabric: messages to ranks that are not near, as those of other servers are in a run on
 * several threads.
 */
#include "astra-sim-network.h"

#include "ns3/qbb-partitions.h"

#include <memory>

namespace AstraSim
{

namespace
{

// To those who send and receive, a stream is a stream, whoever knows it.
template <typename Stream>
Stream*
AsFar(MessageStream* stream)
{
    return reinterpret_cast<Stream*>(stream);
}

template <typename Stream>
MessageStream*
AsStream(Stream* stream)
{
    return reinterpret_cast<MessageStream*>(stream);
}

/// The handler of a receive whose message was there before it.
struct LateReceive
{
    FarStreams& streams;
    TimePs sentPs;
    MessageHandler handler;
    void* arg;

    static void Run(void* self)
    {
        const std::unique_ptr<LateReceive> late(static_cast<LateReceive*>(self));
        late->streams.SetSentPs(late->sentPs);
        late->handler(late->arg);
    }
};

} // namespace

/// A message without bytes goes there, and back.
struct AstraSimFabric::FarLocalEnd
{
    uint64_t message; ///< the sender's address of it

    void operator()(AstraSimFabric&) const
    {
        reinterpret_cast<Message*>(message)->OnSent();
    }
};

struct AstraSimFabric::FarLocalArrival
{
    FarArrival arrival;
    uint64_t message; ///< see FarLocalEnd

    void operator()(AstraSimFabric& there) const
    {
        there.OnFarArrival(arrival);
        const uint32_t src = arrival.stream.src;
        ns3::QbbPartitions::CallAt(there.NodeIdOf(src), there.NetworkOf(src), FarLocalEnd{message});
    }
};

/// The receiver of a stream gives its sender room for more.
struct AstraSimFabric::FarCredit
{
    FarStreamKey stream;
    TimePs sentPs;

    void operator()(AstraSimFabric& there) const
    {
        there.m_far.ArriveInOrder(stream, 1, sentPs);
    }
};

uint32_t
AstraSimFabric::NodeIdOf(uint32_t rank) const
{
    return m_fabric.GetHw(rank).GetNodeId();
}

bool
AstraSimFabric::AreNear(int rank, int other) const
{
    const ns3::ClusterTopology& topology = m_fabric.GetTopology();
    return !m_servers || topology.Server(static_cast<uint32_t>(rank)) ==
                             topology.Server(static_cast<uint32_t>(other));
}

bool
AstraSimFabric::GoesFar(uint32_t src, uint32_t dst, const MessageInfo* info) const
{
    // Messages of no collective are matched alike wherever they go, as nobody asks for them by
    // name.
    return m_servers && (!info || info->collective == 0 ||
                         !AreNear(static_cast<int>(src), static_cast<int>(dst)));
}

TimePs
AstraSimFabric::GetSentTime() const
{
    return m_servers ? m_far.GetSentPs() : Now();
}

const void*&
AstraSimFabric::NoteOf(const Message& message)
{
    return message.isFar ? static_cast<const FarMessage&>(message).out->note
                         : MessageMatcher::NoteOf(message);
}

void
AstraSimFabric::SendFar(uint32_t src, const SendRequest& request)
{
    MessageInfo* info = request.info;
    if (info && info->isCredit)
    {
        SendCredit(src, request);
        return;
    }
    FarMessage* message = m_farMessages.Take();
    message->fabric = this;
    message->isFar = true;
    message->MessageMatcher::Send::bytes = request.bytes;
    message->sentPs = Now();
    message->out = &m_far.FindOutgoing(
        FarStreamKey::Of(src, static_cast<uint32_t>(request.dst), request.tag, info),
        info ? AsFar<FarStreams::Outgoing>(info->stream) : nullptr);
    message->number = message->out->sent++;
    if (info)
    {
        info->stream = AsStream(message->out);
    }
    Start(message, Describe(*message, src, request));
}

void
AstraSimFabric::SendCredit(uint32_t src, const SendRequest& request)
{
    const auto dst = static_cast<uint32_t>(request.dst);
    const FarStreamKey key = FarStreamKey::Of(src, dst, request.tag, request.info);
    ns3::QbbPartitions::CallAt(NodeIdOf(dst), NetworkOf(dst), FarCredit{key, Now()});
}

void
AstraSimFabric::LaunchLocal(Message* message)
{
    const auto deliver = [](void* arg) { static_cast<Message*>(arg)->GetDeliveryCall()(); };
    const auto end = [](void* arg) { static_cast<Message*>(arg)->OnSent(); };
    if (message->src == message->dst ||
        AreNear(static_cast<int>(message->src), static_cast<int>(message->dst)))
    {
        m_events.Schedule(0, deliver, message);
        m_events.Schedule(0, end, message);
        return;
    }
    const FarMessage* far = static_cast<FarMessage*>(message);
    ns3::QbbPartitions::CallAt(
        NodeIdOf(far->dst),
        NetworkOf(far->dst),
        FarLocalArrival{far->GetArrival(), reinterpret_cast<uintptr_t>(message)});
}

void
AstraSimFabric::OnFarArrival(const FarArrival& part)
{
    if (m_far.Arrive(part.stream, part.arrival))
    {
        ++m_deliveredCount;
    }
}

void
AstraSimFabric::Receive(uint32_t dst, const ReceiveRequest& request)
{
    const auto src = static_cast<uint32_t>(request.src);
    MessageInfo* info = request.info;
    if (!GoesFar(src, dst, info))
    {
        SharedNetwork::Receive(dst, request);
        return;
    }
    auto* stream = info ? AsFar<FarStreams::Incoming>(info->stream) : nullptr;
    const bool isComplete = m_far.AddReceive(FarStreamKey::Of(src, dst, request.tag, info),
                                             info && info->isCredit ? 1 : request.bytes,
                                             request.handler,
                                             request.arg,
                                             stream);
    if (info)
    {
        info->stream = AsStream(stream);
    }
    if (isComplete && request.handler)
    {
        m_events.Schedule(0,
                          &LateReceive::Run,
                          new LateReceive{m_far, m_far.GetSentPs(), request.handler, request.arg});
    }
}

void
AstraSimFabric::EndStream(MessageStream* stream, bool isSender)
{
    if (isSender)
    {
        m_far.End(*AsFar<FarStreams::Outgoing>(stream));
    }
    else
    {
        m_far.End(*AsFar<FarStreams::Incoming>(stream));
    }
}

std::vector<std::string>
AstraSimFabric::DescribeReceives(std::size_t limit) const
{
    std::vector<std::string> lines = SharedNetwork::DescribeReceives(limit);
    for (std::string& line : m_far.DescribeWaits(limit - lines.size()))
    {
        lines.push_back(std::move(line));
    }
    return lines;
}

} // namespace AstraSim
