/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "forwarded-network.h"

#include <utility>

namespace AstraSim
{

ForwardedNetwork::ForwardedNetwork(uint32_t ranks,
                                   std::function<RankNetwork&(int)> inner,
                                   FastForward& forward,
                                   ShapeFinder& shapes)
    : m_inner(std::move(inner)),
      m_forward(forward),
      m_shapes(shapes)
{
    MakeRanks(ranks);
}

TimePs
ForwardedNetwork::Now() const
{
    return m_forward.Now();
}

void
ForwardedNetwork::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    m_inner(0).Schedule(delay, handler, arg);
}

std::optional<std::vector<uint32_t>>
ForwardedNetwork::FindLinks(int src, int dst, uint32_t channel)
{
    return m_shapes.FindLinks(src, dst, channel);
}

bool
ForwardedNetwork::Supports(std::span<const int> members)
{
    return m_inner(members.front()).Supports(members);
}

bool
ForwardedNetwork::Join(int, const JoinRequest&)
{
    return false; // they belong to collectives, which are forwarded as a whole
}

void
ForwardedNetwork::Send(uint32_t src, const SendRequest& request)
{
    Message* message = m_messages.Take();
    const TimePs latency = Accept(*message, src, request).latency;
    message->partsToDeliver = 1;
    if (message->IsLocal())
    {
        SendToSelf(message, latency);
        return;
    }
    PartOperation what;
    what.isMessage = true;
    what.group.ranks = {static_cast<int>(src), request.dst};
    what.request.op = CollectiveOp::SendRecv;
    what.request.bytes = request.bytes;
    if (request.info)
    {
        what.info = *request.info;
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
ForwardedNetwork::SendToSelf(Message* message, TimePs latency)
{
    struct Arrival
    {
        ForwardedNetwork* network;
        Message* message;
    };

    Schedule(
        latency,
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
    const MessageInfo& info = what.info;
    auto& shape = m_known[{static_cast<uint32_t>(what.group.ranks[0]),
                           static_cast<uint32_t>(what.group.ranks[1]),
                           what.request.bytes,
                           info.channel,
                           info.sendLatency,
                           info.wireInflation,
                           info.rateCapBps}];
    if (!shape)
    {
        shape = std::make_unique<OperationShape>(m_shapes.Find(what, {}));
    }
    return *shape;
}

} // namespace AstraSim
