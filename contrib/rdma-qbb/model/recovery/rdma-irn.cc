/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reorder-buffer.h"
#include "seq-ranges.h"

#include "ns3/log.h"
#include "ns3/nstime.h"
#include "ns3/rdma-loss-recovery.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaIrn");

namespace
{

// The paper's values, as least ones; paths with a round trip above half of them have longer ones.
constexpr int64_t LEAST_RTO_LOW_PS = 100'000'000;
constexpr int64_t LEAST_RTO_HIGH_PS = 320'000'000;

/// The sender's knowledge beyond the cumulative acknowledgement.
struct IrnSender : public RdmaRecoveryState
{
    uint64_t flightBytes{0}; ///< that fill the paths; 0 if not known
    SeqRanges arrived;       ///< frames above sndUna that NACKs named
    bool recovering{false};
    uint64_t recoveryEnd{0}; ///< recovery ends when this is acknowledged
    uint64_t resendNext{0};  ///< next frame to send again, if below resendEnd
    uint64_t resendEnd{0};   ///< frames from here on are not taken for lost
    SeqRanges trimmed;       ///< frames that came without their payload, to be sent again
    SeqRanges again;         ///< those of them that have been

    void SkipArrived()
    {
        for (uint64_t before = UINT64_MAX; before != resendNext;)
        {
            before = resendNext;
            resendNext = again.FirstMissing(arrived.FirstMissing(before));
        }
    }
};

/// The receiver's state.
struct IrnReceiver : public RdmaRecoveryState
{
    SeqRanges kept;                         ///< out of order, above expectedSeq
    std::unique_ptr<ReorderBuffer> reorder; ///< keeps them instead where frames may overtake
};

IrnSender&
SenderState(const RdmaQueuePair& qp)
{
    return static_cast<IrnSender&>(*qp.recovery);
}

IrnReceiver&
ReceiverState(const RdmaRxQueuePair& rx)
{
    return static_cast<IrnReceiver&>(*rx.recovery);
}

/// Walks the frames that a queue pair's messages were cut into.
class FrameCursor
{
  public:
    /// @param seq where a frame begins that is not acknowledged
    FrameCursor(const RdmaQueuePair& qp, uint64_t seq)
        : m_qp(qp),
          m_message(qp.firstMessage),
          m_seq(seq)
    {
        SeekMessage();
    }

    /// @return where the frame begins
    uint64_t GetBegin() const
    {
        return m_seq;
    }

    /// @return where the frame ends
    uint64_t GetEnd() const
    {
        return std::min(m_seq + m_qp.mtu, m_message->endSeq);
    }

    /// Go to the first frame that begins at @p seq or later. @return false if it has not been sent
    bool Seek(uint64_t seq)
    {
        while (m_message && m_seq < seq)
        {
            const uint64_t fullFrames = (std::min(seq, m_message->endSeq) - m_seq) / m_qp.mtu;
            m_seq = fullFrames ? m_seq + fullFrames * m_qp.mtu : GetEnd();
            SeekMessage();
        }
        return m_message && m_seq < m_qp.GetSndNxt();
    }

  private:
    void SeekMessage()
    {
        while (m_message && m_message->endSeq <= m_seq)
        {
            m_message = m_message->next;
        }
    }

    const RdmaQueuePair& m_qp;
    const RdmaMessage* m_message;
    uint64_t m_seq;
};

/// Note the frame that a NACK names, from @p least on, unless several fit.
void
NoteNamed(const RdmaQueuePair& qp, const QbbFrame& nack, uint64_t least, SeqRanges& frames)
{
    const uint64_t low = nack.expectedSeq + nack.GetNamedMtus() * qp.mtu;
    FrameCursor cursor(qp, qp.sndUna);
    if (!cursor.Seek(low) || cursor.GetBegin() >= low + qp.mtu)
    {
        return;
    }
    const uint64_t begin = cursor.GetBegin();
    const uint64_t end = cursor.GetEnd();
    const bool another = cursor.Seek(end) && cursor.GetBegin() < low + qp.mtu;
    if (!another && begin >= least)
    {
        frames.Add(begin, end);
    }
}

/**
 * @ingroup rdma-qbb
 * @brief Selective repeat after IRN (Mittal et al., Revisiting Network Support for RDMA, SIGCOMM
 * 2018): fabrics without PFC stay fast.
 *
 * The receiver keeps frames that come out of order and answers each with a NACK that names the byte
 * expected and that frame. The first NACK puts the sender into recovery: it sends again, once,
 * each frame below the highest one known to have arrived, then new data; recovery ends when
 * everything sent before it is acknowledged. A timeout sends again all that is not known to have
 * arrived; it is short while few frames are in flight, when no later frame may come to tell of a
 * loss. It allows for full buffers on the path, the short one only where PFC keeps frames from
 * being dropped: elsewhere a few frames sent in vain cost less than a late repair. Bytes in flight
 * are bounded by the path's bandwidth-delay product (BDP-FC).
 *
 * Left out: the paper's limits on NIC memory, and its handling of reads and atomics.
 *
 * A NACK names the frame out of order by its distance from the byte expected in units of the MTU.
 * Where several frames fit that (a message of less than an MTU among them), none counts as arrived,
 * so that at worst one is sent in vain.
 */
class RdmaIrn : public RdmaLossRecovery
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::RdmaIrn")
                .SetParent<RdmaLossRecovery>()
                .SetGroupName("RdmaQbb")
                .AddConstructor<RdmaIrn>()
                .AddAttribute(
                    "RtoLow",
                    "Retransmission timeout while at most RtoLowFrames frames are in flight, "
                    "or two idle round trips of the path if those are longer. 0: 100 us, at "
                    "most RtoHigh; where PFC keeps frames from being dropped and RtoHigh "
                    "is 0, too, also the time that RtoHigh allows for",
                    TimeValue(Time(0)),
                    MakeTimeAccessor(&RdmaIrn::m_rtoLow),
                    MakeTimeChecker(Time(0)))
                .AddAttribute(
                    "RtoHigh",
                    "Retransmission timeout otherwise, or two idle round trips of the path if "
                    "those are longer. 0: 320 us, or these round trips and the time in which "
                    "a full buffer drains into the path's slowest link, if those are longer",
                    TimeValue(Time(0)),
                    MakeTimeAccessor(&RdmaIrn::m_rtoHigh),
                    MakeTimeChecker(Time(0)))
                .AddAttribute("RtoLowFrames",
                              "Most frames in flight for which RtoLow holds",
                              UintegerValue(3),
                              MakeUintegerAccessor(&RdmaIrn::m_rtoLowFrames),
                              MakeUintegerChecker<uint32_t>())
                .AddAttribute(
                    "BdpCap",
                    "Most payload bytes in flight; 0: those that fill the path, as a window has",
                    UintegerValue(0),
                    MakeUintegerAccessor(&RdmaIrn::m_bdpCapBytes),
                    MakeUintegerChecker<uint64_t>());
        return tid;
    }

    void OnQpInit(RdmaQueuePair& qp, uint64_t flightBytes) override
    {
        auto sender = std::make_unique<IrnSender>();
        sender->flightBytes = flightBytes;
        qp.recovery = std::move(sender);
    }

    std::string DescribeMisfit(const RdmaQueuePair& qp,
                               uint64_t bdpBytes,
                               int64_t spreadPs) const override
    {
        if (m_bdpCapBytes == 0 || m_bdpCapBytes >= bdpBytes)
        {
            return DescribeReordering(spreadPs, ReorderBuffer::FramesAhead(qp, bdpBytes, spreadPs));
        }
        return fmt::format(
            "ns3::RdmaIrn::BdpCap of {} bytes is below the bandwidth-delay product of a "
            "path, {} bytes",
            m_bdpCapBytes,
            bdpBytes);
    }

    void OnReceiverInit(RdmaRxQueuePair& rx) override
    {
        auto receiver = std::make_unique<IrnReceiver>();
        const uint64_t flightBytes = std::max(rx.peer.flightBytes, m_bdpCapBytes);
        receiver->reorder =
            ReorderBuffer::Make(rx, flightBytes, GetReordering(rx.peer.spreadPs), true);
        rx.recovery = std::move(receiver);
    }

    Verdict OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override
    {
        NS_LOG_LOGIC("byte " << frame.seq << " came where " << rx.expectedSeq << " was expected");
        if (frame.seq < rx.expectedSeq)
        {
            return Verdict::Ack;
        }
        IrnReceiver& receiver = ReceiverState(rx);
        if (receiver.reorder)
        {
            if (receiver.reorder->Keep(frame, nowPs))
            {
                return AnswerToKept(frame);
            }
            receiver.reorder->NameFirstKept();
            return Verdict::SelectiveNack;
        }
        receiver.kept.Add(frame.seq, frame.seq + frame.payloadBytes);
        rx.namedSeq = frame.seq;
        return Verdict::SelectiveNack;
    }

    Verdict OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override
    {
        return frame.seq < rx.expectedSeq ? Verdict::Ack : Verdict::Nack;
    }

    void OnInOrder(RdmaRxQueuePair& rx, int64_t nowPs) override
    {
        IrnReceiver& receiver = ReceiverState(rx);
        if (receiver.reorder)
        {
            if (!receiver.reorder->Advance(nowPs))
            {
                return;
            }
        }
        else
        {
            if (receiver.kept.IsEmpty())
            {
                return;
            }
            rx.expectedSeq = receiver.kept.FirstMissing(rx.expectedSeq);
            receiver.kept.TrimBelow(rx.expectedSeq);
        }
        // A sender in recovery must learn at once of all that a repaired hole has uncovered, at any
        // acknowledgement interval.
        rx.unacknowledged = UINT64_MAX;
    }

    void OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t nowPs) override
    {
        NS_LOG_INFO(qp.Describe() << " is asked for byte " << nack.expectedSeq << " again");
        if (qp.sndUna >= qp.GetSndNxt())
        {
            return; // late: everything has been acknowledged since
        }
        IrnSender& sender = SenderState(qp);
        if (nack.answerFlags & QBB_ANSWER_TRIMMED)
        {
            NoteNamed(qp, nack, qp.sndUna, sender.trimmed);
            return;
        }
        NoteNamed(qp, nack, qp.sndUna + 1, sender.arrived);
        // The expected frame, and all unacknowledged ones before the highest arrived frame, are
        // lost.
        uint64_t lostBelow = nack.expectedSeq == qp.sndUna ? qp.sndUna + 1 : 0;
        if (!sender.arrived.IsEmpty())
        {
            lostBelow = std::max(lostBelow, sender.arrived.HighestBegin());
        }
        if (lostBelow <= qp.sndUna)
        {
            return;
        }
        if (!sender.recovering)
        {
            sender.recovering = true;
            sender.recoveryEnd = qp.GetSndNxt();
            sender.resendNext = qp.sndUna;
            sender.resendEnd = 0;
        }
        sender.resendEnd = std::max(sender.resendEnd, lostBelow);
        sender.SkipArrived();
    }

    void OnAck(RdmaQueuePair& qp, int64_t nowPs) override
    {
        IrnSender& sender = SenderState(qp);
        sender.arrived.TrimBelow(qp.sndUna);
        sender.trimmed.TrimBelow(qp.sndUna);
        sender.again.TrimBelow(qp.sndUna);
        if (!sender.recovering)
        {
            return;
        }
        if (qp.sndUna >= sender.recoveryEnd)
        {
            sender.recovering = false;
            return;
        }
        sender.resendNext = std::max(sender.resendNext, qp.sndUna);
        sender.SkipArrived();
    }

    void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) override
    {
        NS_LOG_INFO(qp.Describe() << " sends again from byte " << qp.sndUna);
        IrnSender& sender = SenderState(qp);
        sender.recovering = true;
        sender.recoveryEnd = qp.GetSndNxt();
        sender.resendNext = qp.sndUna;
        sender.resendEnd = qp.GetSndNxt();
        sender.again = SeqRanges();
        sender.SkipArrived();
    }

    bool HasRetransmission(const RdmaQueuePair& qp) const override
    {
        const IrnSender& sender = SenderState(qp);
        return !sender.trimmed.IsEmpty() ||
               (sender.recovering && sender.resendNext < sender.resendEnd);
    }

    uint64_t NextRetransmission(RdmaQueuePair& qp, int64_t nowPs) override
    {
        IrnSender& sender = SenderState(qp);
        if (!sender.trimmed.IsEmpty())
        {
            const FrameCursor frame(qp, sender.trimmed.LowestBegin());
            sender.trimmed.TrimBelow(frame.GetEnd());
            sender.again.Add(frame.GetBegin(), frame.GetEnd());
            sender.SkipArrived();
            return frame.GetBegin();
        }
        const FrameCursor frame(qp, sender.resendNext);
        sender.resendNext = frame.GetEnd();
        sender.SkipArrived();
        return frame.GetBegin();
    }

    int64_t GetTimeoutPs(const RdmaQueuePair& qp) const override
    {
        const int64_t highPs = m_rtoHigh.IsZero() ? LEAST_RTO_HIGH_PS : m_rtoHigh.GetTimeStep();
        const int64_t lowPs =
            m_rtoLow.IsZero() ? std::min(LEAST_RTO_LOW_PS, highPs) : m_rtoLow.GetTimeStep();
        // On a path longer than the paper's an answer takes longer than its timeouts.
        return LimitForPath(qp.baseRttPs, HasFewInFlight(qp) ? lowPs : highPs);
    }

    bool AllowsForQueues(const RdmaQueuePair& qp) const override
    {
        return m_rtoHigh.IsZero() && (!HasFewInFlight(qp) || (m_rtoLow.IsZero() && !qp.droppable));
    }

    uint64_t GetFlightLimit(const RdmaQueuePair& qp) const override
    {
        if (qp.lossless)
        {
            return UINT64_MAX; // NVLink acknowledges message ends only
        }
        if (m_bdpCapBytes)
        {
            return m_bdpCapBytes;
        }
        const uint64_t flightBytes = SenderState(qp).flightBytes;
        return flightBytes ? std::max(flightBytes, uint64_t{qp.mtu}) : UINT64_MAX;
    }

  private:
    /// @return whether RtoLow holds
    bool HasFewInFlight(const RdmaQueuePair& qp) const
    {
        return qp.GetInFlight() <= uint64_t{m_rtoLowFrames} * qp.mtu;
    }

    Time m_rtoLow;
    Time m_rtoHigh;
    uint32_t m_rtoLowFrames{3};
    uint64_t m_bdpCapBytes{0};
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(RdmaIrn);

// The receiver keeps a frame beyond the expected byte and answers with a selective NACK that names
// it; where paths reorder frames, a ReorderBuffer keeps it and sends a NACK only if the gap stays
// open too long. The sender notes the named frame as arrived. A NACK names frames in units of the
// MTU, so NoteArrived() finds the frame with a FrameCursor, which walks the frames of the posted
// messages. OnNack() begins a recovery: the unacknowledged frames before the highest arrived one
// are lost. NextRetransmission() sends them again, each once, from resendNext to resendEnd, and
// skips those that have arrived. The recovery ends when everything that had been sent at its
// beginning is acknowledged (recoveryEnd). After a timeout, all frames in flight but the arrived
// ones are lost.

} // namespace ns3
