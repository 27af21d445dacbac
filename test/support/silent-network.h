/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SILENT_NETWORK_H
#define SILENT_NETWORK_H

#include "ns3/astra-network-api.h"

#include <cstdint>

namespace AstraSim
{

/// Takes messages and never delivers them; runs what is scheduled when told.
class SilentNetwork : public AstraNetworkAPI
{
  public:
    SilentNetwork()
        : AstraNetworkAPI(0)
    {
    }

    int sim_comm_get_size() const override
    {
        return 1;
    }

    timespec_t sim_get_time() override
    {
        return MakeTimespec(0);
    }

    void sim_schedule(timespec_t, MessageHandler handler, void* arg) override
    {
        m_handler = handler;
        m_arg = arg;
    }

    int sim_send(void*, uint64_t, int, int, int, sim_request*, MessageHandler, void*) override
    {
        ++m_sends;
        return 0;
    }

    int sim_recv(void*, uint64_t, int, int, int, sim_request*, MessageHandler, void*) override
    {
        ++m_receives;
        return 0;
    }

    void RunScheduled()
    {
        m_handler(m_arg);
    }

    uint64_t GetSends() const
    {
        return m_sends;
    }

    uint64_t GetReceives() const
    {
        return m_receives;
    }

  private:
    MessageHandler m_handler{nullptr};
    void* m_arg{nullptr};
    uint64_t m_sends{0};
    uint64_t m_receives{0};
};

} // namespace AstraSim

#endif /* SILENT_NETWORK_H */
