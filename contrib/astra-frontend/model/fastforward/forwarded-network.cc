/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "forwarded-network.h"

#include <utility>

namespace AstraSim
{

ForwardedNetwork::ForwardedNetwork(uint32_t ranks,
                                   std::function<AstraNetworkAPI&(int)> inner,
                                   FastForward& forward,
                                   ShapeFinder& shapes)
    : m_inner(std::move(inner)),
      m_forward(forward),
      m_shapes(shapes)
{
    MakeRanks<ForwardedRankNetwork>(*this, ranks);
}

TimePs
ForwardedNetwork::Now() const
{
    return m_forward.Now();
}

void
ForwardedNetwork::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    m_inner(0).sim_schedule(MakeTimespec(delay), handler, arg);
}

bool
ForwardedNetwork::Supports(std::span<const int> members)
{
    return m_inner(members.front()).sim_in_network_supported(InNetworkOp::ReduceMulticast, members);
}

int
ForwardedNetwork::Join(const JoinCall&)
{
    return -1; // they belong to collectives, which are forwarded as a whole
}

void
ForwardedNetwork::Send(const SendCall& call)
{
    Message* message = m_messages.Take();
    Accept(*message, call);
    message->partsToDeliver = 1;
    if (message->IsLocal())
    {
        SendToSelf(message);
        return;
    }
    PartOperation what;
    what.isMessage = true;
    what.group.ranks = {static_cast<int>(call.src), static_cast<int>(call.dst)};
    what.request.op = CollectiveOp::SendRecv;
    what.request.bytes = call.bytes;
    if (call.request)
    {
        what.info = *call.request;
    }
    const OperationShape& shape = ShapeOf(what);
    auto& operation = m_forward.Open(std::move(what), shape, [this, message](uint32_t end) {
        if (end == 1)
        {
            PartDelivered(*message);
        }
        else
        {
            End(m_messages, message);
        }
    });
    m_forward.Begin(operation, 0);
    m_forward.Begin(operation, 1);
}

void
ForwardedNetwork::SendToSelf(Message* message)
{
    struct Arrival
    {
        ForwardedNetwork* network;
        Message* message;
    };

    Schedule(
        0,
        [](void* arg) {
            const std::unique_ptr<Arrival> arrival(static_cast<Arrival*>(arg));
            arrival->network->PartDelivered(*arrival->message);
            End(arrival->network->m_messages, arrival->message);
        },
        new Arrival{this, message});
}

const OperationShape&
ForwardedNetwork::ShapeOf(const PartOperation& what)
{
    const sim_request& info = what.info;
    auto& shape = m_known[{static_cast<uint32_t>(what.group.ranks[0]),
                           static_cast<uint32_t>(what.group.ranks[1]),
                           what.request.bytes,
                           info.channel,
                           info.sendLatency,
                           info.wireInflation,
                           info.rateCapBps}];
    if (!shape)
    {
        shape = std::make_unique<OperationShape>(m_shapes.Find(what, nullptr));
    }
    return *shape;
}

} // namespace AstraSim
