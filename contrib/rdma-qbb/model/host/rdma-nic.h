/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_H
#define RDMA_NIC_H

#include "paced-queue.h"
#include "rdma-queue-pair.h"

#include "ns3/link-port.h"

#include <array>
#include <cstdint>

namespace ns3
{

class RdmaSender;

// Hot path: PullFrame and Activate run once per data frame; neither depends on the number of pairs.

/**
 * @ingroup rdma-qbb
 * @brief The transmit scheduler of one NIC port: which queue pair sends next.
 *
 * Queue pairs that may send now stand in a ring per priority and take turns, one frame each. Pairs
 * held back by their rate wait in a queue ordered by time; pairs with nothing to send or a full
 * window stand in neither and come back through Activate().
 */
class RdmaNic final : public LinkSource
{
  public:
    /// @param sender builds the frames
    /// @param port the port
    RdmaNic(RdmaSender& sender, LinkPort* port);

    /// A queue pair may have become able to send.
    void Activate(RdmaQueuePair& qp, int64_t nowPs);

    /// A queue pair that was to send again has nothing to send after all (rare, linear in the
    /// ring).
    void Deactivate(RdmaQueuePair& qp);

    /// The time of a queue pair's next frame, or the frame, has changed.
    void OnChange(RdmaQueuePair& qp);

    // --- LinkSource
    QbbFrame* PullFrame(uint8_t priority, int64_t nowPs) override;
    void OnTimer(int64_t nowPs) override;
    uint32_t GetLeastBytes() const override;

    /// @return the port
    LinkPort& GetPort() const
    {
        return *m_port;
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
    /// Put a pair in the list of ready pairs, or of those that wait for their rate beyond
    /// @p freePs, when the port is free again; in none if it may not send.
    void Place(RdmaQueuePair& qp, int64_t freePs);

    /// @return whether the pair may send now, and no other pair waits
    bool CanSendAtOnce(const RdmaQueuePair& qp, int64_t nowPs) const;
    /// Send the next frame of a pair past the ring, after CanSendAtOnce().
    void SendAtOnce(RdmaQueuePair& qp, int64_t nowPs);

    /// Ask for an answer to the frame that a pair has just built if it waits for one.
    static void RequestAnswer(RdmaQueuePair& qp, QbbFrame& frame)
    {
        if (qp.m_place == RdmaQueuePair::Place::Idle)
        {
            // The window is full: without an answer nothing would move until the timeout.
            frame.flags |= QBB_FLAG_ACK_REQUEST;
            qp.m_unrequestedBytes = 0;
        }
    }

    /// Have the port call at the time of the first pair that waits for its time.
    void SetTimer(int64_t nowPs)
    {
        m_port->SetTimer(m_paced.NextPs(), nowPs);
    }

    // hot, with the base's
    RdmaSender& m_sender;
    LinkPort* m_port;
    int64_t m_doubtfulPs{INT64_MIN}; ///< up to then, entries of m_paced may be out of date
    uint8_t m_readyMask{0};
    PacedQueue m_paced;
    std::array<Ring, LinkPort::PRIORITIES> m_rings;
};

} // namespace ns3

#endif /* RDMA_NIC_H */
