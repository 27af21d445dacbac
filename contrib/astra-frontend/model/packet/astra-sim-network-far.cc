/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * AstraSimFabric: messages to ranks that are not near, as those of other servers are where the
 * network is divided.
 */
#include "astra-sim-network.h"

#include "ns3/qbb-mail.h"

#include <memory>

namespace AstraSim
{

namespace
{

/// The handler of a receive that came after its message.
struct LateReceive
{
    MessageStreams& streams;
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

/// The way back of a message without bytes, which goes to the receiver as a FarLocalArrival and not
/// over the network: the sender's handler is called.
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
        ns3::QbbMail::Post(there.NodeIdOf(src), there.NetworkOf(src), FarLocalEnd{message});
    }
};

/// The receiver of a stream gives its sender room for more.
struct AstraSimFabric::FarCredit
{
    StreamKey stream;
    TimePs sentPs;

    void operator()(AstraSimFabric& there) const
    {
        there.m_streams.ArriveInOrder(stream, 1, sentPs);
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
    // Messages without a collective always go this way: no rank looks them up by a collective's
    // key.
    return m_servers && (!info || info->collective == 0 ||
                         !AreNear(static_cast<int>(src), static_cast<int>(dst)));
}

TimePs
AstraSimFabric::GetSentTime() const
{
    return m_servers ? m_streams.GetSentPs() : Now();
}

void
AstraSimFabric::SendCredit(const StreamKey& stream)
{
    ns3::QbbMail::Post(NodeIdOf(stream.dst), NetworkOf(stream.dst), FarCredit{stream, Now()});
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
    ns3::QbbMail::Post(
        NodeIdOf(message->dst),
        NetworkOf(message->dst),
        FarLocalArrival{message->GetFarArrival(), reinterpret_cast<uintptr_t>(message)});
}

void
AstraSimFabric::OnFarArrival(const FarArrival& part)
{
    if (m_streams.Arrive(part.stream, part.message))
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
    const StreamKey key = StreamKey::OfCollective(src, dst, request.tag, info);
    if (AddReceive(key, key.IsCredit() ? 1 : request.bytes, request) && request.handler)
    {
        m_events.Schedule(
            0,
            &LateReceive::Run,
            new LateReceive{m_streams, m_streams.GetSentPs(), request.handler, request.arg});
    }
}

void
AstraSimFabric::EndStream(MessageStream* stream, bool isSender)
{
    m_streams.End(*stream, isSender);
}

} // namespace AstraSim
