/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SILENT_NETWORK_H
#define SILENT_NETWORK_H

#include "ns3/rank-network.h"

#include <cstdint>

namespace AstraSim
{

/// Takes messages and never delivers them; runs what is scheduled when told.
class SilentNetwork : public RankNetwork
{
  public:
    SilentNetwork()
        : RankNetwork(0)
    {
    }

    int GetSize() const override
    {
        return 1;
    }

    TimePs Now() const override
    {
        return 0;
    }

    void Schedule(TimePs, MessageHandler handler, void* arg) override
    {
        m_handler = handler;
        m_arg = arg;
    }

    void Send(const SendRequest&) override
    {
        ++m_sends;
    }

    void Receive(const ReceiveRequest&) override
    {
        ++m_receives;
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
