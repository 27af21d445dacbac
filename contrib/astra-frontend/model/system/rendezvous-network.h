/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RENDEZVOUS_NETWORK_H
#define RENDEZVOUS_NETWORK_H

#include "ns3/forwarding-network.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @brief A rank's network on which a message waits for its receive.
 *
 * Each receive first sends a small message back, and each send waits for one before its data leaves
 * (--rendezvous-protocol). A send therefore needs a receive of its own: sizes do not split or join.
 */
class RendezvousNetwork : public ForwardingNetwork
{
  public:
    /// Bytes of the message that says the receiver is ready.
    static constexpr uint64_t READY_BYTES = 64;

    using ForwardingNetwork::ForwardingNetwork;

    int sim_send(void* buffer,
                 uint64_t count,
                 int type,
                 int dst,
                 int tag,
                 sim_request* request,
                 MessageHandler handler,
                 void* arg) override;

    int sim_recv(void* buffer,
                 uint64_t count,
                 int type,
                 int src,
                 int tag,
                 sim_request* request,
                 MessageHandler handler,
                 void* arg) override;
};

} // namespace AstraSim

#endif /* RENDEZVOUS_NETWORK_H */
