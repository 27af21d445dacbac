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
    RankNetwork* network;
    SendRequest request;
    MessageInfo info; ///< of the request
};

void
ReceiverIsReady(void* argument)
{
    const std::unique_ptr<WaitingSend> send(static_cast<WaitingSend*>(argument));
    send->request.info = &send->info;
    send->network->Send(send->request);
}

} // namespace

void
RendezvousNetwork::Send(const SendRequest& request)
{
    const MessageInfo info = request.info ? *request.info : MessageInfo();
    GetNetwork().Receive({.src = request.dst,
                          .tag = ReadyTag(request.tag),
                          .bytes = READY_BYTES,
                          .handler = &ReceiverIsReady,
                          .arg = new WaitingSend{&GetNetwork(), request, info}});
}

void
RendezvousNetwork::Receive(const ReceiveRequest& request)
{
    GetNetwork().Send({.dst = request.src, .tag = ReadyTag(request.tag), .bytes = READY_BYTES});
    GetNetwork().Receive(request);
}

} // namespace AstraSim
