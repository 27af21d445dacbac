/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rendezvous-network.h"

#include <limits>
#include <memory>

namespace AstraSim
{

namespace
{

/// Tags of collectives and messages are positive; those of the ready messages mirror them.
int
ReadyTag(int tag)
{
    return std::numeric_limits<int>::min() + tag;
}

/// A send that waits for its receiver.
struct WaitingSend
{
    AstraNetworkAPI* network;
    void* buffer;
    uint64_t count;
    int type;
    int dst;
    int tag;
    sim_request request;
    MessageHandler handler;
    void* arg;
};

void
ReceiverIsReady(void* argument)
{
    const std::unique_ptr<WaitingSend> send(static_cast<WaitingSend*>(argument));
    send->network->sim_send(send->buffer,
                            send->count,
                            send->type,
                            send->dst,
                            send->tag,
                            &send->request,
                            send->handler,
                            send->arg);
}

} // namespace

int
RendezvousNetwork::sim_send(void* buffer,
                            uint64_t count,
                            int type,
                            int dst,
                            int tag,
                            sim_request* request,
                            MessageHandler handler,
                            void* arg)
{
    sim_request ready;
    ready.srcRank = static_cast<uint32_t>(dst);
    ready.dstRank = static_cast<uint32_t>(sim_comm_get_rank());
    ready.reqCount = READY_BYTES;
    auto* send =
        new WaitingSend{&GetNetwork(), buffer, count, type, dst, tag, *request, handler, arg};
    return GetNetwork()
        .sim_recv(nullptr, READY_BYTES, UINT8, dst, ReadyTag(tag), &ready, &ReceiverIsReady, send);
}

int
RendezvousNetwork::sim_recv(void* buffer,
                            uint64_t count,
                            int type,
                            int src,
                            int tag,
                            sim_request* request,
                            MessageHandler handler,
                            void* arg)
{
    sim_request ready;
    ready.srcRank = static_cast<uint32_t>(sim_comm_get_rank());
    ready.dstRank = static_cast<uint32_t>(src);
    ready.tag = static_cast<uint32_t>(ReadyTag(tag));
    ready.reqCount = READY_BYTES;
    GetNetwork()
        .sim_send(nullptr, READY_BYTES, UINT8, src, ReadyTag(tag), &ready, nullptr, nullptr);
    return GetNetwork().sim_recv(buffer, count, type, src, tag, request, handler, arg);
}

} // namespace AstraSim
