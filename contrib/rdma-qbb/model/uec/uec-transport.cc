/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-transport.h"

#include "uec-delivery.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/flow-hash.h"
#include "ns3/input-error.h"
#include "ns3/log.h"
#include "ns3/path-timing.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("UecTransport");

// Hot path: OnSend, WriteAnswer and OnAnswer run once per packet.

NS_OBJECT_ENSURE_REGISTERED(UecTransport);

TypeId
UecTransport::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::UecTransport")
            .SetParent<RdmaTransport>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<UecTransport>()
            .AddAttribute("Spreading",
                          "How packets get their entropy values: Oblivious, all in turn; Avoid, "
                          "without those that were marked, trimmed or lost; Recycle, those that "
                          "came back without a mark again (REPS)",
                          UecSpreadingValue(UecSpreading::Oblivious),
                          MakeUecSpreadingAccessor(&UecTransport::m_spreading),
                          MakeUecSpreadingChecker())
            .AddAttribute("EntropyBits",
                          "There are 2 to the power of this many entropy values",
                          UintegerValue(10),
                          MakeUintegerAccessor(&UecTransport::m_entropyBits),
                          MakeUintegerChecker<uint32_t>(0, 16))
            .AddAttribute("Ordered",
                          "Reliable ordered delivery (ROD): one entropy value for a connection",
                          BooleanValue(false),
                          MakeBooleanAccessor(&UecTransport::m_isOrdered),
                          MakeBooleanChecker())
            .AddAttribute("Idempotent",
                          "Reliable unordered delivery of idempotent operations (RUDI): receivers "
                          "keep no state of packets",
                          BooleanValue(false),
                          MakeBooleanAccessor(&UecTransport::m_isIdempotent),
                          MakeBooleanChecker())
            .AddAttribute("DataBytes",
                          "Bytes by which headers of a data packet are longer than RoCEv2's",
                          UintegerValue(40),
                          MakeUintegerAccessor(&UecTransport::m_dataBytes),
                          MakeUintegerChecker<uint32_t>(1, 1000))
            .AddAttribute("AnswerBytes",
                          "The same, of acknowledgements",
                          UintegerValue(26),
                          MakeUintegerAccessor(&UecTransport::m_answerBytes),
                          MakeUintegerChecker<uint32_t>(0, 1000))
            .AddAttribute("Nscc",
                          "Senders have a window, from marks and delays",
                          BooleanValue(true),
                          MakeBooleanAccessor(&UecTransport::m_nscc),
                          MakeBooleanChecker())
            .AddAttribute("Rccc",
                          "Receivers grant credits",
                          BooleanValue(false),
                          MakeBooleanAccessor(&UecTransport::m_rccc),
                          MakeBooleanChecker())
            .AddAttribute("CreditPackets",
                          "Full packets of a grant",
                          UintegerValue(4),
                          MakeUintegerAccessor(&UecTransport::m_creditFrames),
                          MakeUintegerChecker<uint32_t>(1, 1000))
            .AddAttribute("CreditShare",
                          "Part of its link's rate at which a receiver grants",
                          DoubleValue(1.0),
                          MakeDoubleAccessor(&UecTransport::m_creditShare),
                          MakeDoubleChecker<double>(0.01, 2))
            .AddAttribute("CreditAdapts",
                          "Where links of the fabric are oversubscribed and senders have no "
                          "windows, receivers grant less when frames come marked or trimmed",
                          BooleanValue(true),
                          MakeBooleanAccessor(&UecTransport::m_creditAdapts),
                          MakeBooleanChecker())
            .AddAttribute("UnsolicitedFactor",
                          "Data that a sender may send before the first credit, in "
                          "bandwidth-delay products of the path, and at least a packet",
                          DoubleValue(1.0),
                          MakeDoubleAccessor(&UecTransport::m_unsolicitedFactor),
                          MakeDoubleChecker<double>(0, 1000));
    return tid;
}

uint32_t
UecTransport::GetFieldBytes() const
{
    constexpr uint32_t LESS = 12 - 8; // bytes of packet delivery, RUD's less RUDI's
    return m_isIdempotent ? std::max(m_dataBytes, LESS + 1) - LESS : m_dataBytes;
}

uint32_t
UecTransport::GetAnswerFieldBytes() const
{
    constexpr uint32_t LESS = 32 - 8;
    return m_isIdempotent ? std::max(m_answerBytes, LESS) - LESS : m_answerBytes;
}

bool
UecTransport::SpreadsFrames() const
{
    return !m_isOrdered;
}

TypeId
UecTransport::ChooseLossRecovery(TypeId /* configured */) const
{
    return m_isOrdered ? TypeId::LookupByName("ns3::RdmaGoBackN") : UecDelivery::GetTypeId();
}

TypeId
UecTransport::ChooseCongestionControl(TypeId configured) const
{
    return m_rccc && !m_nscc ? TypeId::LookupByName("ns3::UecRccc") : configured;
}

void
UecTransport::FitToPaths(int64_t longestRttPs)
{
    m_networkRttPs = longestRttPs;
}

void
UecTransport::FitToOversubscription(double ratio)
{
    m_oversubscription = ratio;
}

UecCreditPacer&
UecTransport::PacerOf(RdmaHw& hw, uint16_t nic)
{
    if (nic >= m_pacers.size())
    {
        m_pacers.resize(nic + 1);
    }
    if (!m_pacers[nic])
    {
        m_pacers[nic] = std::make_unique<UecCreditPacer>(hw, nic, m_creditFrames, m_creditShare);
        if (m_creditAdapts && !m_nscc && m_oversubscription > 1)
        {
            const double least = std::max(0.01, 0.9 / m_oversubscription); // as uet-htsim
            m_pacers[nic]->Adapt({least, m_networkRttPs, hw.GetHostIndex() << 8 ^ nic});
        }
    }
    return *m_pacers[nic];
}

UecCreditSizes
UecTransport::CreditSizesOf(const RdmaQueuePair& qp) const
{
    // Half a round trip's worth more than fills the path, and the grants that are being made: a
    // target is old when it reaches the receiver.
    const uint64_t frame = qp.hw->GetDataWireBytes(qp.mtu, false);
    const auto bdp = static_cast<double>(BdpBytes(qp.lineRateBps, qp.baseRttPs));
    return {std::max(frame, static_cast<uint64_t>(m_unsolicitedFactor * bdp)),
            static_cast<uint64_t>(1.5 * bdp) + 2 * m_creditFrames * frame,
            frame};
}

void
UecTransport::OnReceiverInit(RdmaRxQueuePair& rx)
{
    if (m_rccc)
    {
        rx.transport = std::make_unique<UecClaim>();
    }
    if (m_isIdempotent)
    {
        static_cast<UecReceiver&>(*rx.recovery).SetStateless();
    }
}

void
UecTransport::OnReceiverClose(RdmaRxQueuePair& rx)
{
    for (const auto& pacer : m_pacers)
    {
        if (pacer)
        {
            pacer->Forget(rx);
        }
    }
}

void
UecTransport::OnData(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs)
{
    if (!m_rccc)
    {
        return;
    }
    UecCreditPacer& pacer = PacerOf(*rx.hw, rx.nic);
    auto& claim = static_cast<UecClaim&>(*rx.transport);
    const auto told = static_cast<int64_t>(frame.telemetry->answerField); // by OnSend()
    claim.target = std::max(claim.target, told >> 1);
    pacer.OnFrame(frame, nowPs);
    if (frame.payloadBytes == 0)
    {
        pacer.Charge(frame.wireBytes, nowPs);
        const auto& receiver = static_cast<const UecReceiver&>(*rx.recovery);
        if (!receiver.Has(frame.telemetry->transportField))
        {
            claim.trimmed += rx.hw->GetDataWireBytes(rx.mtu, false);
        }
    }
    else if (told & 1)
    {
        pacer.OnUnsolicited(rx, frame.wireBytes, nowPs);
    }
    pacer.Reconsider(rx, false, nowPs);
}

bool
UecTransport::ShouldAcknowledge(RdmaRxQueuePair&, const QbbFrame&, bool isDue)
{
    return isDue || m_isIdempotent;
}

void
UecTransport::OnControl(RdmaRxQueuePair& rx, const RdmaControl& control, int64_t nowPs)
{
    UecCreditPacer& pacer = PacerOf(*rx.hw, rx.nic);
    pacer.Charge(control.wireBytes, nowPs);
    auto& claim = static_cast<UecClaim&>(*rx.transport);
    claim.target = std::max(claim.target, static_cast<int64_t>(control.value));
    pacer.Reconsider(rx, true, nowPs);
}

void
UecTransport::WriteAnswer(RdmaRxQueuePair& rx, QbbFrame& answer, int64_t /* nowPs */)
{
    if (!m_isOrdered)
    {
        const auto& receiver = static_cast<const UecReceiver&>(*rx.recovery);
        answer.telemetry->answerField = receiver.GetBitmap(answer.telemetry->transportField);
        answer.expectedSeq = m_isIdempotent ? 0 : answer.expectedSeq;
    }
}

void
UecTransport::OnQpInit(RdmaQueuePair& qp)
{
    if (m_rccc && (m_isOrdered || m_isIdempotent))
    {
        throw InputError("ns3::UecTransport::Rccc",
                         0,
                         "receivers grant credits where they keep a record of packets out of order",
                         "UEC_DELIVERY rud, or UEC_CC nscc");
    }
    if (m_isOrdered)
    {
        return;
    }
    NS_LOG_INFO(qp.Describe() << " has " << (1U << m_entropyBits) << " entropy values");
    auto& sender = static_cast<UecSender&>(*qp.recovery);
    sender.entropy = UecEntropy::Make(m_spreading, 1U << m_entropyBits, qp.hash);
    if (m_rccc)
    {
        sender.credit = std::make_unique<UecCreditAccount>(CreditSizesOf(qp));
    }
}

void
UecTransport::OnPost(RdmaQueuePair& qp, int64_t nowPs)
{
    if (m_rccc)
    {
        const uint64_t bytes = qp.lastMessage->bytes;
        const uint64_t full = bytes / qp.mtu;
        const auto rest = static_cast<uint32_t>(bytes % qp.mtu);
        const uint64_t wireBytes = full * qp.hw->GetDataWireBytes(qp.mtu, false) +
                                   (rest ? qp.hw->GetDataWireBytes(rest, false) : 0);
        static_cast<UecSender&>(*qp.recovery)
            .credit->Post(wireBytes, qp.firstMessage == qp.lastMessage, nowPs);
    }
}

void
UecTransport::OnSend(RdmaQueuePair& qp, QbbFrame& frame, int64_t nowPs)
{
    if (m_isOrdered)
    {
        return;
    }
    auto& sender = static_cast<UecSender&>(*qp.recovery);
    if (!(frame.flags & QBB_FLAG_RETRANSMIT))
    {
        sender.Append(frame.seq, frame.payloadBytes, nowPs);
    }
    const uint16_t entropy = sender.entropy->Next(nowPs);
    sender.GetCurrent().entropy = entropy;
    frame.telemetry->transportField = sender.GetCurrentNumber();
    frame.sport = entropy ^ qp.sport; // so that connections of two hosts differ
    frame.hash = FlowHash(frame.src, frame.dst, frame.sport, frame.dport);
    if (sender.credit)
    {
        const bool isRepeated = frame.flags & QBB_FLAG_RETRANSMIT;
        const bool isUnsolicited = sender.credit->Spend(frame.wireBytes, isRepeated);
        const int64_t target = sender.credit->GetTarget(sender.GetLostPackets());
        frame.telemetry->answerField = static_cast<uint64_t>(target) << 1 | uint64_t{isUnsolicited};
    }
}

void
UecTransport::ReadAnswer(RdmaQueuePair& qp, QbbFrame& answer)
{
    if (m_isIdempotent)
    {
        auto& sender = static_cast<UecSender&>(*qp.recovery);
        if (answer.kind == QbbFrameKind::Ack)
        {
            sender.newlyArrived +=
                sender.NoteArrived(answer.telemetry->transportField, answer.telemetry->answerField);
        }
        answer.expectedSeq = sender.GetArrivedUpTo();
    }
}

void
UecTransport::OnAnswer(RdmaQueuePair& qp, const QbbFrame& answer, int64_t nowPs)
{
    if (m_isOrdered)
    {
        return;
    }
    const UecEntropy::Outcome outcome =
        answer.answerFlags & QBB_ANSWER_TRIMMED  ? UecEntropy::Outcome::Trimmed
        : answer.answerFlags & QBB_ANSWER_MARKED ? UecEntropy::Outcome::Marked
                                                 : UecEntropy::Outcome::Good;
    const uint16_t entropy = answer.dport ^ qp.sport; // ports have changed places
    auto& sender = static_cast<UecSender&>(*qp.recovery);
    sender.entropy->OnOutcome(entropy, outcome, nowPs);
    if (sender.credit)
    {
        PacerOf(*qp.hw, qp.nic->GetPort().GetPort()).Charge(answer.wireBytes, nowPs);
        if (outcome == UecEntropy::Outcome::Trimmed)
        {
            sender.credit->NoteTrimmed();
        }
        if (sender.credit->Withdraw() && !sender.HasCredit())
        {
            Ask(qp, nowPs); // the target that the receiver knows relies on that credit
        }
    }
}

void
UecTransport::OnControl(RdmaQueuePair& qp, const RdmaControl& control, int64_t nowPs)
{
    PacerOf(*qp.hw, qp.nic->GetPort().GetPort()).Charge(control.wireBytes, nowPs);
    static_cast<UecSender&>(*qp.recovery).credit->Grant(control.value, nowPs);
}

bool
UecTransport::OnStarved(RdmaQueuePair& qp, int64_t nowPs)
{
    if (m_rccc && static_cast<UecSender&>(*qp.recovery).credit->IsOverdue(nowPs))
    {
        Ask(qp, nowPs);
    }
    return m_rccc;
}

void
UecTransport::Ask(RdmaQueuePair& qp, int64_t nowPs)
{
    const auto& sender = static_cast<const UecSender&>(*qp.recovery);
    const int64_t target = sender.credit->GetTarget(sender.GetLostPackets());
    qp.hw->SendControl(qp,
                       {.type = UecCreditPacer::REQUEST, .value = static_cast<uint64_t>(target)},
                       nowPs);
}

} // namespace ns3
