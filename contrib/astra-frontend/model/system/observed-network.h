/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OBSERVED_NETWORK_H
#define OBSERVED_NETWORK_H

#include "run-observer.h"

#include "ns3/forwarding-network.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief A rank's network that tells an observer of each flow the rank sends, when it ends.
 *
 * An in-network operation counts as one flow of each rank that takes part.
 */
class ObservedNetwork : public ForwardingNetwork
{
  public:
    /// @param network carries the flows @param observer gets their records; both borrowed
    ObservedNetwork(RankNetwork& network, RunObserver& observer)
        : ForwardingNetwork(network),
          m_observer(observer)
    {
    }

    void Send(const SendRequest& request) override;
    bool Join(const JoinRequest& request) override;

  private:
    /// A flow under way.
    struct Flow
    {
        ObservedNetwork* network;
        FlowRecord record;
        MessageHandler handler;
        void* arg;
    };

    Flow* Begin(int dst,
                uint64_t bytes,
                const MessageInfo* info,
                MessageHandler handler,
                void* arg);
    static void Ended(void* flow);

    RunObserver& m_observer;
};

} // namespace AstraSim

#endif /* OBSERVED_NETWORK_H */
