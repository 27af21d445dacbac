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
 * @ingroup astra-frontend
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

    void Send(const SendRequest& request) override;
    void Receive(const ReceiveRequest& request) override;
};

} // namespace AstraSim

#endif /* RENDEZVOUS_NETWORK_H */
