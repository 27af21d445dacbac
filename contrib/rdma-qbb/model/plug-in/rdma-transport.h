/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_TRANSPORT_H
#define RDMA_TRANSPORT_H

#include "ns3/object.h"
#include "ns3/qbb-frame.h"

#include <cstdint>

namespace ns3
{

class RdmaQueuePair;
struct RdmaRxQueuePair;

/// Base of a transport's state at the receiving side of a connection.
struct RdmaTransportState
{
    virtual ~RdmaTransportState() = default;
};

/// A control frame of a transport: a request, a credit, or another thing that it defines.
struct RdmaControl
{
    uint16_t type{0};       ///< the transport's own number
    uint64_t value{0};      ///< the transport's own content
    uint8_t priority{0};    ///< 0: ahead of all data, and never paused
    uint32_t wireBytes{84}; ///< on a link, preamble and gap included; at least 84
};

/**
 * @ingroup rdma-qbb
 * @brief Both halves of a connection's own protocol beside sequence numbers and loss recovery: a
 * plug-in.
 *
 * One object serves all connections of a host, in both directions, made by RdmaHw from its
 * attribute TransportType. The base class is RoCE: it adds nothing, and RdmaHw asks nobody. Sender
 * and receiver know each other by frames only: data, acknowledgements, and control frames of the
 * transport (RdmaHw::SendControl()), each with a priority of its own. To send them at a rate of
 * their own, or to do anything later, a transport has timers (RdmaDeadlineTimer).
 *
 * A sender that waits for its receiver sets a window of 0 (RdmaQueuePair::SetWindow()), which lets
 * nothing go. RdmaHw looks at the window again after each hook of a queue pair; after a change in
 * an event of its own, a transport calls RdmaQueuePair::Wake().
 *
 * A transport that spreads a connection over paths writes another QbbFrame::hash (and sport) into
 * each data frame in OnSend(), and says so (SpreadsFrames()). Answers take a path that follows from
 * the hash of the frame that they answer.
 *
 * Connections on NVLink and contributions to in-network operations have no transport.
 */
class RdmaTransport : public Object
{
  public:
    static TypeId GetTypeId();

    /// @return bytes on the wire of QbbTelemetry::transportField in data frames and their
    /// acknowledgements; 0: frames do not carry it
    virtual uint32_t GetFieldBytes() const
    {
        return 0;
    }

    /// @return the same for acknowledgements
    virtual uint32_t GetAnswerFieldBytes() const
    {
        return GetFieldBytes();
    }

    /// @return whether the frames of a connection take several paths, and so overtake each other
    virtual bool SpreadsFrames() const
    {
        return false;
    }

    /// @return class of the loss recovery that goes with it. @param configured by attribute
    /// LossRecoveryType of RdmaHw
    virtual TypeId ChooseLossRecovery(TypeId configured) const
    {
        return configured;
    }

    /// @return class of the congestion control that goes with it. @param configured by attribute
    /// CongestionControl of RdmaHw
    virtual TypeId ChooseCongestionControl(TypeId configured) const
    {
        return configured;
    }

    /// The paths are known. @param longestRttPs of a full frame and its ACK between any two hosts
    /// on the idle fabric; 0 if only NVLinks join them
    virtual void FitToPaths([[maybe_unused]] int64_t longestRttPs)
    {
    }

    /// The topology is known. @param ratio by which the links of the fabric carry less than all
    /// hosts send together, at least 1 (FindOversubscription())
    virtual void FitToOversubscription([[maybe_unused]] double ratio)
    {
    }

    // --- receiver

    /// A connection to this host is new. State goes to rx.transport.
    virtual void OnReceiverInit([[maybe_unused]] RdmaRxQueuePair& rx)
    {
    }

    /// A connection to this host ends. Forget it.
    virtual void OnReceiverClose([[maybe_unused]] RdmaRxQueuePair& rx)
    {
    }

    /// A data frame has come, in order or not, and is not counted yet.
    virtual void OnData([[maybe_unused]] RdmaRxQueuePair& rx,
                        [[maybe_unused]] const QbbFrame& frame,
                        [[maybe_unused]] int64_t nowPs)
    {
    }

    /// @return whether the receiver acknowledges a frame that came in order
    /// @param isDue whether it would by the rules of RoCE: at the end of a message, of an interval,
    /// at a mark or at the sender's request
    virtual bool ShouldAcknowledge([[maybe_unused]] RdmaRxQueuePair& rx,
                                   [[maybe_unused]] const QbbFrame& frame,
                                   bool isDue)
    {
        return isDue;
    }

    /// The receiver answers a data frame, by an acknowledgement or a NACK. It may write to the
    /// answer's fields.
    virtual void WriteAnswer([[maybe_unused]] RdmaRxQueuePair& rx,
                             [[maybe_unused]] QbbFrame& answer,
                             [[maybe_unused]] int64_t nowPs)
    {
    }

    /// A control frame of the sender has come.
    virtual void OnControl([[maybe_unused]] RdmaRxQueuePair& rx,
                           [[maybe_unused]] const RdmaControl& control,
                           [[maybe_unused]] int64_t nowPs)
    {
    }

    // --- sender

    /// A connection from this host is new; rate and window are as configured.
    virtual void OnQpInit([[maybe_unused]] RdmaQueuePair& qp)
    {
    }

    /// A message has been posted: qp.endSeq has grown, and nothing of it is sent yet.
    virtual void OnPost([[maybe_unused]] RdmaQueuePair& qp, [[maybe_unused]] int64_t nowPs)
    {
    }

    /// A data frame of the queue pair begins to be sent. It may write to the frame's fields.
    virtual void OnSend([[maybe_unused]] RdmaQueuePair& qp,
                        [[maybe_unused]] QbbFrame& frame,
                        [[maybe_unused]] int64_t nowPs)
    {
    }

    /// An acknowledgement or a NACK has come, and nobody has read it. Where receivers answer frames
    /// one by one, the sender may write here which byte they expect next.
    virtual void ReadAnswer([[maybe_unused]] RdmaQueuePair& qp, [[maybe_unused]] QbbFrame& answer)
    {
    }

    /// An acknowledgement or a NACK has come; qp.sndUna is up to date.
    virtual void OnAnswer([[maybe_unused]] RdmaQueuePair& qp,
                          [[maybe_unused]] const QbbFrame& frame,
                          [[maybe_unused]] int64_t nowPs)
    {
    }

    /// A control frame of the receiver has come.
    virtual void OnControl([[maybe_unused]] RdmaQueuePair& qp,
                           [[maybe_unused]] const RdmaControl& control,
                           [[maybe_unused]] int64_t nowPs)
    {
    }

    /**
     * The retransmission timer has run out while nothing is in flight and data waits. Control
     * frames may be lost: a sender that waits for its receiver asks again here.
     * @return whether the timer runs again
     */
    virtual bool OnStarved([[maybe_unused]] RdmaQueuePair& qp, [[maybe_unused]] int64_t nowPs)
    {
        return false;
    }

    /// The queue pair ends. Forget it.
    virtual void OnQpClose([[maybe_unused]] RdmaQueuePair& qp)
    {
    }
};

} // namespace ns3

#endif /* RDMA_TRANSPORT_H */
