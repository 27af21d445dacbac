/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_H
#define RDMA_NIC_H

#include "paced-queue.h"
#include "rdma-queue-pair.h"

#include "ns3/qbb-late-work.h"
#include "ns3/qbb-net-device.h"
#include "ns3/qbb-port-handler.h"

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
 *
 * That a pair's time has come, or that the port is free again, is late work (QbbLateWork): nobody
 * notices before the frame that is sent then arrives at the far end, or something happens to one of
 * the port's queue pairs. The engine settles the port before it touches one.
 */
class alignas(64) RdmaNic final : public QbbLateWork, public QbbFrameSource
{
  public:
    /// @param hw the engine that builds the frames
    /// @param device the port
    RdmaNic(RdmaHw* hw, QbbNetDevice* device);

    /// A queue pair may have become able to send.
    void Activate(RdmaQueuePair& qp, int64_t nowPs);

    /// A queue pair that was to send again has nothing to send after all (rare, linear in the
    /// ring).
    void Deactivate(RdmaQueuePair& qp);

    /// What decides when a queue pair sends its next frame, or the frame, has changed.
    void OnChange(RdmaQueuePair& qp);

    QbbFrame* PullFrame(uint8_t priority, int64_t nowPs) override;

    // --- QbbLateWork
    void AddEnd(uint16_t port) override;
    void Await(const QbbNetDevice& device) override;
    void AwaitNext(int64_t nowPs) override;

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

    /// @return whether the pair may send now, and nothing else wants to
    bool CanSendAtOnce(const RdmaQueuePair& qp, int64_t nowPs) const;
    /// Send the next frame of a pair past the ring: what that comes to after CanSendAtOnce().
    void SendAtOnce(RdmaQueuePair& qp, int64_t nowPs);

    /// Ask for an answer to the frame that a pair has just built if it waits for one.
    static void RequestAnswer(const RdmaQueuePair& qp, QbbFrame& frame)
    {
        if (qp.m_place == RdmaQueuePair::Place::Idle)
        {
            // The window is full: without an answer nothing would move until the timeout.
            frame.flags |= QBB_FLAG_ACK_REQUEST;
        }
    }

    /// Note that work is due at @p timePs.
    void AddDue(int64_t timePs)
    {
        if (timePs < m_duePs)
        {
            SetDue(timePs);
        }
    }

    /// Set when the first work is due.
    void SetDue(int64_t timePs)
    {
        m_duePs = timePs;
        m_device->SetLateWorkDue(timePs);
    }

    /// Let the pairs go whose time has come. @param timePs that time
    void ReleasePaced(int64_t timePs);
    void SettleDue(int64_t nowPs) override;

    // hot, with the bases'
    RdmaHw* m_hw;
    QbbNetDevice* m_device;
    int64_t m_endPs{NEVER};          ///< when the frame being sent ends, if another one waits
    int64_t m_doubtfulPs{INT64_MIN}; ///< up to then, entries of m_paced may be out of date
    uint8_t m_readyMask{0};
    bool m_settling{false};
    PacedQueue m_paced;
    std::array<Ring, QbbNetDevice::PRIORITIES> m_rings;
    int64_t m_lastPs{INT64_MIN}; ///< when work has last been put behind all else
};

} // namespace ns3

#endif /* RDMA_NIC_H */
