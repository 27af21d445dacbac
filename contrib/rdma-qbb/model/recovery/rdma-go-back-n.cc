/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reorder-buffer.h"

#include "ns3/boolean.h"
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

NS_LOG_COMPONENT_DEFINE("RdmaGoBackN");

namespace
{

// Least values; paths with a round trip above half of them have longer ones.
constexpr int64_t LEAST_TIMEOUT_PS = 4'000'000'000;
constexpr int64_t LEAST_NACK_INTERVAL_PS = 500'000'000;

/// A receiver's state where frames may overtake each other.
struct GoBackNReceiver : public RdmaRecoveryState
{
    std::unique_ptr<ReorderBuffer> reorder;
};

/**
 * @ingroup rdma-qbb
 * @brief Go-back-N, as RoCEv2 NICs recover: the receiver discards frames out of order.
 *
 * A gap is answered by a NACK for the byte expected, repeated for the same gap only after
 * NackInterval; a duplicate is acknowledged again (InfiniBand Architecture Specification, C9-110),
 * so that a lost acknowledgement cannot stall the sender. A timeout sends again from the first byte
 * not acknowledged. With BackToZero the connection goes back to the start of the chunk of
 * ChunkBytes that the lost frame belongs to.
 */
class RdmaGoBackN : public RdmaLossRecovery
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::RdmaGoBackN")
                .SetParent<RdmaLossRecovery>()
                .SetGroupName("RdmaQbb")
                .AddConstructor<RdmaGoBackN>()
                .AddAttribute(
                    "NackInterval",
                    "Least time between two NACKs for the same gap. 0: 500 us, or two idle "
                    "round trips of the path if those are longer",
                    TimeValue(Time(0)),
                    MakeTimeAccessor(&RdmaGoBackN::m_nackInterval),
                    MakeTimeChecker(Time(0)))
                .AddAttribute(
                    "Timeout",
                    "Retransmission timeout; doubles while nothing is acknowledged. 0: 4 ms, "
                    "or two idle round trips of the path and the time in which a full "
                    "buffer drains into its slowest link, if those are longer",
                    TimeValue(Time(0)),
                    MakeTimeAccessor(&RdmaGoBackN::m_timeout),
                    MakeTimeChecker(Time(0)))
                .AddAttribute(
                    "ChunkBytes",
                    "Bytes of a chunk, the unit of BackToZero; 0: none, BackToZero does nothing",
                    UintegerValue(4000),
                    MakeUintegerAccessor(&RdmaGoBackN::m_chunkBytes),
                    MakeUintegerChecker<uint64_t>())
                .AddAttribute("BackToZero",
                              "Go back to the start of the chunk instead of the lost frame",
                              BooleanValue(false),
                              MakeBooleanAccessor(&RdmaGoBackN::m_backToZero),
                              MakeBooleanChecker());
        return tid;
    }

    void OnReceiverInit(RdmaRxQueuePair& rx) override
    {
        const auto reordering = GetReordering(rx.peer.spreadPs);
        if (auto reorder = ReorderBuffer::Make(rx, rx.peer.flightBytes, reordering, false))
        {
            auto receiver = std::make_unique<GoBackNReceiver>();
            receiver->reorder = std::move(reorder);
            rx.recovery = std::move(receiver);
        }
    }

    Verdict OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override
    {
        NS_LOG_LOGIC("byte " << frame.seq << " came where " << rx.expectedSeq << " was expected");
        if (frame.seq < rx.expectedSeq)
        {
            return Verdict::Ack;
        }
        if (rx.recovery && static_cast<GoBackNReceiver&>(*rx.recovery).reorder->Keep(frame, nowPs))
        {
            return AnswerToKept(frame);
        }
        return AskAgain(rx, nowPs);
    }

    Verdict OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override
    {
        return frame.seq < rx.expectedSeq ? Verdict::Ack : AskAgain(rx, nowPs);
    }

    void OnInOrder(RdmaRxQueuePair& rx, int64_t nowPs) override
    {
        static_cast<GoBackNReceiver&>(*rx.recovery).reorder->Advance(nowPs);
    }

    void OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t nowPs) override
    {
        NS_LOG_INFO(qp.Describe() << " is asked for byte " << nack.expectedSeq << " again");
        GoBackTo(qp, std::max(qp.sndUna, nack.expectedSeq));
    }

    void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) override
    {
        NS_LOG_INFO(qp.Describe() << " sends again from byte " << qp.sndUna);
        GoBackTo(qp, qp.sndUna);
    }

    int64_t GetTimeoutPs(const RdmaQueuePair& qp) const override
    {
        return m_timeout.IsZero() ? LimitForPath(qp.baseRttPs, LEAST_TIMEOUT_PS)
                                  : m_timeout.GetTimeStep();
    }

    bool AllowsForQueues(const RdmaQueuePair& /* qp */) const override
    {
        return m_timeout.IsZero();
    }

    std::string DescribeMisfit(const RdmaQueuePair& qp,
                               uint64_t bdpBytes,
                               int64_t spreadPs) const override
    {
        const auto isShort = [&qp](const Time& given) {
            return !given.IsZero() && given.GetTimeStep() <= qp.baseRttPs;
        };
        const auto describe = [&qp](const char* name, const Time& given, const char* effect) {
            return fmt::format(
                "{} of {:g} us is not above the idle round trip of a path, {:g} us: {}",
                name,
                static_cast<double>(given.GetTimeStep()) / 1e6,
                static_cast<double>(qp.baseRttPs) / 1e6,
                effect);
        };
        if (isShort(m_timeout))
        {
            return describe("RTO (ns3::RdmaGoBackN::Timeout)",
                            m_timeout,
                            "all is sent again though nothing is lost");
        }
        if (isShort(m_nackInterval))
        {
            return describe("ns3::RdmaGoBackN::NackInterval",
                            m_nackInterval,
                            "the sender goes back several times for one loss");
        }
        return DescribeReordering(spreadPs, ReorderBuffer::FramesAhead(qp, bdpBytes, spreadPs));
    }

  private:
    /// @return a NACK, unless the last one for this gap is young
    Verdict AskAgain(RdmaRxQueuePair& rx, int64_t nowPs) const
    {
        if (rx.nackedSeq == rx.expectedSeq && nowPs < rx.nackPs + GetNackIntervalPs(rx))
        {
            return Verdict::Silent;
        }
        rx.nackedSeq = rx.expectedSeq;
        rx.nackPs = nowPs;
        return Verdict::Nack;
    }

    /// @return the least time between two NACKs for one gap
    int64_t GetNackIntervalPs(const RdmaRxQueuePair& rx) const
    {
        return m_nackInterval.IsZero() ? LimitForPath(rx.peer.baseRttPs, LEAST_NACK_INTERVAL_PS)
                                       : m_nackInterval.GetTimeStep();
    }

    /// Send again from a byte, or from its chunk's first one.
    void GoBackTo(RdmaQueuePair& qp, uint64_t seq) const
    {
        qp.SetSndNxt(m_backToZero && m_chunkBytes > 0 ? seq - seq % m_chunkBytes : seq);
    }

    Time m_nackInterval;
    Time m_timeout;
    uint64_t m_chunkBytes{4000};
    bool m_backToZero{false};
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(RdmaGoBackN);

} // namespace ns3
