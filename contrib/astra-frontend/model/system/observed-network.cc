/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "observed-network.h"

#include <memory>

namespace AstraSim
{

ObservedNetwork::Flow*
ObservedNetwork::Begin(int dst,
                       uint64_t bytes,
                       const MessageInfo* info,
                       MessageHandler handler,
                       void* arg)
{
    FlowRecord record;
    record.src = GetRank();
    record.dst = dst;
    record.bytes = bytes;
    record.start = Now();
    if (info)
    {
        record.channel = info->channel;
        record.collective = info->collective;
    }
    return new Flow{this, record, handler, arg};
}

void
ObservedNetwork::Ended(void* argument)
{
    const std::unique_ptr<Flow> flow(static_cast<Flow*>(argument));
    flow->record.end = flow->network->Now();
    flow->network->m_observer.FlowEnded(flow->record);
    if (flow->handler)
    {
        flow->handler(flow->arg);
    }
}

void
ObservedNetwork::Send(const SendRequest& request)
{
    SendRequest watched = request;
    watched.handler = &Ended;
    watched.arg = Begin(request.dst, request.bytes, request.info, request.handler, request.arg);
    GetNetwork().Send(watched);
}

bool
ObservedNetwork::Join(const JoinRequest& request)
{
    JoinRequest watched = request;
    Flow* flow =
        Begin(FlowRecord::IN_NETWORK, request.bytes, request.info, request.handler, request.arg);
    watched.handler = &Ended;
    watched.arg = flow;
    if (!GetNetwork().Join(watched))
    {
        delete flow;
        return false;
    }
    return true;
}

} // namespace AstraSim
