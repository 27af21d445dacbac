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
                       const sim_request* request,
                       MessageHandler handler,
                       void* arg)
{
    FlowRecord record;
    record.src = sim_comm_get_rank();
    record.dst = dst;
    record.bytes = bytes;
    record.start = ToPicoseconds(sim_get_time());
    if (request)
    {
        record.channel = request->channel;
        record.collective = request->collective;
    }
    return new Flow{this, record, handler, arg};
}

void
ObservedNetwork::Ended(void* argument)
{
    const std::unique_ptr<Flow> flow(static_cast<Flow*>(argument));
    flow->record.end = ToPicoseconds(flow->network->sim_get_time());
    flow->network->m_observer.FlowEnded(flow->record);
    if (flow->handler)
    {
        flow->handler(flow->arg);
    }
}

int
ObservedNetwork::sim_send(void* buffer,
                          uint64_t count,
                          int type,
                          int dst,
                          int tag,
                          sim_request* request,
                          MessageHandler handler,
                          void* arg)
{
    Flow* flow = Begin(dst, count, request, handler, arg);
    return GetNetwork().sim_send(buffer, count, type, dst, tag, request, &Ended, flow);
}

int
ObservedNetwork::sim_in_network(InNetworkOp op,
                                std::span<const int> members,
                                int root,
                                uint64_t count,
                                int tag,
                                sim_request* request,
                                MessageHandler handler,
                                void* arg)
{
    Flow* flow = Begin(FlowRecord::IN_NETWORK, count, request, handler, arg);
    const int result =
        GetNetwork().sim_in_network(op, members, root, count, tag, request, &Ended, flow);
    if (result != 0)
    {
        delete flow;
    }
    return result;
}

} // namespace AstraSim
