/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_H
#define RDMA_NIC_H

#include "paced-queue.h"
#include "qbb-net-device.h"
#include "qbb-port-handler.h"
#include "rdma-queue-pair.h"

#include <array>
#include <cstdint>

namespace ns3
{

// Hot path: PullFrame and Activate run once per data frame; neither depends on the number of pairs.

/**
 * @brief The transmit scheduler of one NIC port: which queue pair sends next.
 *
 * Queue pairs that may send now stand in a ring per priority and take turns, one frame each. Pairs
 * held back by their rate wait in a queue ordered by time; pairs with nothing to send or a full
 * window stand in neither and come back through Activate().
 */
class RdmaNic : public QbbFrameSource
{
  public:
    /// @param hw the engine that builds the frames
    /// @param device the port
    RdmaNic(RdmaHw* hw, QbbNetDevice* device);
    ~RdmaNic() override;

    /// A queue pair may have become able to send.
    void Activate(RdmaQueuePair& qp, int64_t nowPs);

    /// A queue pair that was to send again has nothing to send after all (rare, linear in the
    /// ring).
    void Deactivate(RdmaQueuePair& qp);

    /// A queue pair's rate, and so its next sending time, has changed.
    void OnPacingChange(RdmaQueuePair& qp);

    QbbFrame* PullFrame(uint8_t priority, int64_t nowPs) override;

    /// @return the port
    QbbNetDevice& GetDevice() const
    {
        return *m_device;
    }

  private:
    /// First in, first out list of queue pairs.
    struct Ring
    {
        RdmaQueuePair* head{nullptr};
        RdmaQueuePair* tail{nullptr};
    };

    void PushReady(RdmaQueuePair& qp);
    void PushPaced(RdmaQueuePair& qp);
    /// Put a pair where it belongs, if it may send at @p freePs, when the port is free again.
    void Place(RdmaQueuePair& qp, int64_t freePs);

    /// Wake up at the time of the earliest paced pair.
    void ArmPacing(int64_t nowPs)
    {
        if (m_paced.NextPs() < m_armedPs)
        {
            SchedulePacing(nowPs);
        }
    }

    void SchedulePacing(int64_t nowPs);
    void OnPacingEvent(int64_t nowPs);

    using PacingEvent = QbbPortEvent<RdmaNic, &RdmaNic::OnPacingEvent>;

    RdmaHw* m_hw;
    QbbNetDevice* m_device;
    uint8_t m_readyMask{0};
    std::array<Ring, QbbNetDevice::PRIORITIES> m_rings;
    PacedQueue m_paced;
    int64_t m_armedPs{INT64_MAX}; ///< earliest pacing expiry in the event list
    Ptr<PacingEvent> m_pacingEvent;
};

} // namespace ns3

#endif /* RDMA_NIC_H */
