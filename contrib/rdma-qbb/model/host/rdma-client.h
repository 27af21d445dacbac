/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CLIENT_H
#define RDMA_CLIENT_H

#include "rdma-driver.h"

#include "ns3/application.h"
#include "ns3/traced-callback.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief An application that sends one message to another host when it starts.
 *
 * Needs an RdmaDriver on its node. Stopping it ends the connection; data not acknowledged by
 * then is lost.
 */
class RdmaClient : public Application
{
  public:
    static TypeId GetTypeId();

    RdmaClient();
    ~RdmaClient() override;

    /// @return whether the last byte has been acknowledged
    bool IsComplete() const
    {
        return m_complete;
    }

    /// Signature of "Complete": bytes and the time from start to the last acknowledgement.
    typedef void (*CompleteCallback)(uint64_t bytes, Time duration);

  protected:
    void DoDispose() override;

  private:
    void StartApplication() override;
    void StopApplication() override;
    /// Send the message, unless no path leads to its destination.
    void Send();
    void OnRoutesChanged();
    void OnSent();

    uint32_t m_remote{0};
    uint64_t m_bytes{0};
    uint8_t m_priority{3};
    uint16_t m_remotePort{100};
    bool m_complete{false};
    bool m_waitsForPath{false};
    Time m_started;
    RdmaQueuePair* m_qp{nullptr};
    TracedCallback<uint64_t, Time> m_completeTrace;
};

} // namespace ns3

#endif /* RDMA_CLIENT_H */
