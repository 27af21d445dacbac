/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FORWARDING_NETWORK_H
#define FORWARDING_NETWORK_H

#include "astra-network-api.h"

namespace AstraSim
{

/**
 * @brief A rank's network that leaves everything to another one; those that change or watch a part
 * of it derive from this class.
 */
class ForwardingNetwork : public AstraNetworkAPI
{
  public:
    /// @param network what carries the messages; borrowed
    explicit ForwardingNetwork(AstraNetworkAPI& network)
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
                 void* arg) override
    {
        return m_network.sim_send(buffer, count, type, dst, tag, request, handler, arg);
    }

    int sim_recv(void* buffer,
                 uint64_t count,
                 int type,
                 int src,
                 int tag,
                 sim_request* request,
                 MessageHandler handler,
                 void* arg) override
    {
        return m_network.sim_recv(buffer, count, type, src, tag, request, handler, arg);
    }

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

    timespec_t sim_get_sent_time() override
    {
        return m_network.sim_get_sent_time();
    }

    int sim_notify_finished() override
    {
        return m_network.sim_notify_finished();
    }

    double get_BW_at_dimension(int dim) override
    {
        return m_network.get_BW_at_dimension(dim);
    }

  protected:
    AstraNetworkAPI& GetNetwork() const
    {
        return m_network;
    }

  private:
    AstraNetworkAPI& m_network;
};

} // namespace AstraSim

#endif /* FORWARDING_NETWORK_H */
