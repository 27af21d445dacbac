/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LOSS_RECOVERY_H
#define RDMA_LOSS_RECOVERY_H

#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/qbb-frame.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ns3
{

class RdmaQueuePair;
struct RdmaRxQueuePair;

/// Base of a loss recovery's state per queue pair, of either side.
struct RdmaRecoveryState
{
    virtual ~RdmaRecoveryState() = default;
};

/**
 * @ingroup rdma-qbb
 * @brief Repairs the losses of a connection: a plug-in, both sides of it.
 *
 * Each host has an object of its own; the two sides of a connection know each other by frames only.
 *
 * RdmaHw handles frames in order by itself and asks the plug-in only about others. State that a
 * plug-in keeps per queue pair it stores in RdmaQueuePair::recovery and RdmaRxQueuePair::recovery.
 *
 * Each hook that something brings about is told its time, in picoseconds: that may be before
 * Simulator::Now() where a port sends later than it could be told of. Each answer to
 * HasRetransmission(), GetFlightLimit() and GetTimeoutPs() follows from the state of the queue
 * pair, not from the time: it is asked when something happens to the pair.
 *
 * Where switches choose paths per frame, frames out of order are no sign of a loss
 * (ExpectReordering()). A receiver keeps them and waits (ReorderBuffer); only when a gap has lasted
 * ReorderTime, or a frame comes more than ReorderFrames ahead, does it ask for the missing ones.
 */
class RdmaLossRecovery : public Object
{
  public:
    /// A receiver's answer to a data frame that is not the one expected next.
    enum class Verdict
    {
        Silent,        ///< nothing
        Ack,           ///< acknowledge expectedSeq again
        Nack,          ///< ask for everything from expectedSeq
        SelectiveNack, ///< acknowledge expectedSeq and name the frame at rx.namedSeq as received
    };

    /// A receiver's tolerance for frames that others overtake.
    struct Reordering
    {
        uint32_t frames; ///< most frames kept beyond the expected one; 0: as many as come
        int64_t limitPs; ///< how long a gap may last before it counts as a loss; 0: for ever
    };

    static TypeId GetTypeId();

    /**
     * Expect frames to overtake each other: a gap is no sign of a loss. Call it before the first
     * connection.
     * @param lossTime least age of a gap that is taken for a loss, if ReorderTime is unset; 0: none
     */
    void ExpectReordering(Time lossTime)
    {
        m_reorders = true;
        m_lossTime = lossTime;
    }

    // --- receiver

    /// A connection to this host is new.
    virtual void OnReceiverInit(RdmaRxQueuePair& rx)
    {
    }

    /// A data frame with seq != rx.expectedSeq. May keep it, and may move expectedSeq.
    virtual Verdict OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) = 0;

    /**
     * A data frame came of which a switch has kept the header only (BufferPolicy), while others may
     * still be under way. A NACK names the frame: QBB_ANSWER_TRIMMED.
     * @return Ack, Nack or Silent; by default a NACK
     */
    virtual Verdict OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs);

    /// expectedSeq has advanced by a frame in order and may pass frames that were kept.
    virtual void OnInOrder(RdmaRxQueuePair& rx, int64_t nowPs)
    {
    }

    // --- sender

    /// A connection from this host is new. @param flightBytes bytes in flight that fill its paths
    /// while nothing queues; 0 if not known
    virtual void OnQpInit(RdmaQueuePair& qp, uint64_t flightBytes)
    {
    }

    /**
     * Compare the constants with a path.
     * @param qp a queue pair that is new
     * @param bdpBytes bandwidth-delay product of its paths
     * @param spreadPs most that a frame may be overtaken by on idle paths
     * @return why the pair cannot have the speed of an idle path, naming attribute and value; empty
     * if it can
     */
    virtual std::string DescribeMisfit([[maybe_unused]] const RdmaQueuePair& qp,
                                       [[maybe_unused]] uint64_t bdpBytes,
                                       [[maybe_unused]] int64_t spreadPs) const
    {
        return "";
    }

    /// A NACK: set the queue pair's sequence numbers to the next data to send.
    virtual void OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t nowPs) = 0;

    /// The acknowledged byte has moved to qp.sndUna.
    virtual void OnAck(RdmaQueuePair& qp, int64_t nowPs)
    {
    }

    /**
     * An acknowledgement or a NACK has come, after OnAck() and OnNack(). A recovery whose receiver
     * names what has come out of order reads that here.
     * @param newlyAcked bytes that qp.sndUna has moved by
     * @return bytes known to have arrived since the answer before, in order or not
     */
    virtual uint64_t OnAnswer([[maybe_unused]] RdmaQueuePair& qp,
                              [[maybe_unused]] const QbbFrame& answer,
                              uint64_t newlyAcked,
                              [[maybe_unused]] int64_t nowPs)
    {
        return newlyAcked;
    }

    /// Nothing was acknowledged for the retransmission timeout.
    virtual void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) = 0;

    /// @return whether NextRetransmission() has a frame to send before new data
    virtual bool HasRetransmission(const RdmaQueuePair& qp) const
    {
        return false;
    }

    /// @return offset of the frame to send again; called only after HasRetransmission()
    virtual uint64_t NextRetransmission(RdmaQueuePair& qp, int64_t nowPs)
    {
        return 0;
    }

    /// @return retransmission timeout in picoseconds as things are, before backing off
    virtual int64_t GetTimeoutPs(const RdmaQueuePair& qp) const = 0;

    /// @return whether a timeout lasts at least as long as a frame may wait in a full buffer on the
    /// path; asked when GetTimeoutPs() is over
    virtual bool AllowsForQueues([[maybe_unused]] const RdmaQueuePair& qp) const
    {
        return false;
    }

    /// @return bytes beyond qp.sndUna that have been sent and are not in flight: they have
    /// arrived, or are known to be lost. The window does not count them.
    virtual uint64_t GetResolved([[maybe_unused]] const RdmaQueuePair& qp) const
    {
        return 0;
    }

    /// @return most payload bytes in flight, beside the window; UINT64_MAX for no bound
    virtual uint64_t GetFlightLimit(const RdmaQueuePair& qp) const
    {
        return UINT64_MAX;
    }

  protected:
    /// @return a time limit for all that takes @p idlePs on an idle path: twice that, at least @p
    /// leastPs
    static int64_t LimitForPath(int64_t idlePs, int64_t leastPs);

    /// @return the attributes' limits; nothing where frames keep their order
    /// @param spreadPs most that a frame may be overtaken by on idle paths
    std::optional<Reordering> GetReordering(int64_t spreadPs) const;

    /// @return as DescribeMisfit(), which of the attributes does not fit
    /// @param aheadFrames how many frames get ahead of one in @p spreadPs
    std::string DescribeReordering(int64_t spreadPs, double aheadFrames) const;

    /// @return the answer to a frame that was kept: its marks and telemetry cannot wait
    static Verdict AnswerToKept(const QbbFrame& frame);

  private:
    uint32_t m_reorderFrames{0};
    Time m_reorderTime;
    Time m_lossTime;        ///< where m_reorderTime is 0
    bool m_reorders{false}; ///< frames may overtake each other
};

} // namespace ns3

#endif /* RDMA_LOSS_RECOVERY_H */
