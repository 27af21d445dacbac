/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONGESTION_OPS_H
#define RDMA_CONGESTION_OPS_H

#include "ns3/object.h"

#include <cstdint>
#include <string>

namespace ns3
{

class RdmaQueuePair;
struct QbbTelemetry;

/// Base of a congestion control's state per queue pair; each algorithm derives its own.
struct RdmaCongestionState
{
    virtual ~RdmaCongestionState() = default;
};

/// An acknowledgement, as a congestion control gets it.
struct RdmaAckView
{
    int64_t nowPs;                 ///< current time
    uint64_t ackSeq;               ///< next byte the receiver expects
    uint64_t newlyAcked;           ///< bytes acknowledged for the first time
    bool ecnEcho;                  ///< the acknowledged frame had CE
    const QbbTelemetry* telemetry; ///< null unless GetTelemetry() asked for it
    uint64_t newlyArrived{0}; ///< bytes reported as arrived for the first time, in order or not
};

/**
 * @ingroup rdma-qbb
 * @brief A congestion control: decides rate and window of queue pairs from acknowledgements.
 *
 * One object serves all queue pairs of a host; it stores its state per queue pair in
 * RdmaQueuePair::congestion. Set rate and window with RdmaQueuePair::SetRate() and SetWindow(); one
 * that sets windows calls SetVariableWindow(false) first, or they are scaled by the rate as well.
 * Each hook that something brings about is told its time, in picoseconds. A new algorithm is a new
 * pair of files with a TypeId and its own attributes; nothing else changes. The design follows
 * ns-3's TcpCongestionOps.
 */
class RdmaCongestionOps : public Object
{
  public:
    /// Telemetry that frames must carry for the algorithm; other algorithms' frames carry nothing.
    enum class Telemetry
    {
        None,
        Timestamp, ///< sentPs and receivedPs
        Int,       ///< a QbbIntHop per hop, and the timestamps
        Pint,      ///< one encoded utilisation, and the timestamps
    };

    static TypeId GetTypeId();

    /// @return the algorithm's name as users know it ("DCQCN")
    virtual std::string GetName() const = 0;

    /// @return the telemetry that frames must carry
    virtual Telemetry GetTelemetry() const
    {
        return Telemetry::None;
    }

    /// @return bytes that the telemetry adds to a frame on the wire
    virtual uint32_t GetTelemetryWireBytes() const
    {
        return 0;
    }

    /// @return whether data frames are ECN-capable (ECT(0)) and receivers echo marks
    virtual bool UsesEcn() const
    {
        return false;
    }

    /**
     * @return the least time in picoseconds between two CNP frames that a receiver sends for one
     * queue pair; 0: receivers send no CNP frames, marks ride on ACKs (QBB_ANSWER_MARKED) and each
     * such ACK counts as a notification
     */
    virtual int64_t GetCnpIntervalPs() const
    {
        return 0;
    }

    /// A queue pair is new: rate is the line rate, window is as configured. Make its state.
    virtual void OnQpInit(RdmaQueuePair& qp) = 0;

    /**
     * Compare the algorithm's constants with a path.
     * @param qp a queue pair, after OnQpInit()
     * @param bdpBytes bandwidth-delay product of its path
     * @return why the pair cannot have the speed of an idle path, naming attribute and value; empty
     * if it can
     */
    virtual std::string DescribeMisfit([[maybe_unused]] const RdmaQueuePair& qp,
                                       [[maybe_unused]] uint64_t bdpBytes) const
    {
        return "";
    }

    /// New data or a repeated acknowledgement has been acknowledged. Not called while
    /// RdmaQueuePair::acksWanted is false.
    virtual void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) = 0;

    /// A congestion notification arrived (CNP frame, or an ACK's echo when CNPs ride on ACKs).
    virtual void OnCnp([[maybe_unused]] RdmaQueuePair& qp, [[maybe_unused]] int64_t nowPs)
    {
    }

    /// A message was posted to a queue pair that had nothing left to send or to be acknowledged.
    virtual void OnRestart([[maybe_unused]] RdmaQueuePair& qp, [[maybe_unused]] int64_t nowPs)
    {
    }

    /// The receiver saw a gap.
    virtual void OnNack([[maybe_unused]] RdmaQueuePair& qp, [[maybe_unused]] int64_t nowPs)
    {
    }

    /// The retransmission timer ran out.
    virtual void OnTimeout([[maybe_unused]] RdmaQueuePair& qp, [[maybe_unused]] int64_t nowPs)
    {
    }

    /// The queue pair ends: cancel its timers.
    virtual void OnQpClose([[maybe_unused]] RdmaQueuePair& qp)
    {
    }

    /// Give random streams to the algorithm. @return how many were used
    virtual int64_t AssignStreams([[maybe_unused]] int64_t stream)
    {
        return 0;
    }
};

} // namespace ns3

#endif /* RDMA_CONGESTION_OPS_H */
