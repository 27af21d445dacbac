/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RENDEZVOUS_NETWORK_H
#define RENDEZVOUS_NETWORK_H

#include "ns3/astra-network-api.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @brief A rank's network on which a message waits for its receive.
 *
 * Each receive first sends a small message back, and each send waits for one before its data leaves
 * (--rendezvous-protocol). A send therefore needs a receive of its own: sizes do not split or join.
 */
class RendezvousNetwork : public AstraNetworkAPI
{
  public:
    /// Bytes of the message that says the receiver is ready.
    static constexpr uint64_t READY_BYTES = 64;

    /// @param network what carries the messages; borrowed
    explicit RendezvousNetwork(AstraNetworkAPI& network)
        : AstraNetworkAPI(network.sim_comm_get_rank()),
          m_network(network)
    {
    }

    BackendType get_backend_type() const override
    {
        return m_network.get_backend_type();
    }

    int sim_comm_get_size() const override
    {
        return m_network.sim_comm_get_size();
    }

    timespec_t sim_get_time() override
    {
        return m_network.sim_get_time();
    }

    void sim_schedule(timespec_t delta, MessageHandler handler, void* arg) override
    {
        m_network.sim_schedule(delta, handler, arg);
    }

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

    bool sim_in_network_supported(InNetworkOp op, std::span<const int> members) const override
    {
        return m_network.sim_in_network_supported(op, members);
    }

    int sim_in_network(InNetworkOp op,
                       std::span<const int> members,
                       int root,
                       uint64_t count,
                       int tag,
                       sim_request* request,
                       MessageHandler handler,
                       void* arg) override
    {
        return m_network.sim_in_network(op, members, root, count, tag, request, handler, arg);
    }

    int sim_notify_finished() override
    {
        return m_network.sim_notify_finished();
    }

    double get_BW_at_dimension(int dim) override
    {
        return m_network.get_BW_at_dimension(dim);
    }

  private:
    AstraNetworkAPI& m_network;
};

} // namespace AstraSim

#endif /* RENDEZVOUS_NETWORK_H */
