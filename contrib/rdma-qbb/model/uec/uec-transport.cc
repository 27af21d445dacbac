/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-transport.h"

#include "uec-delivery.h"

#include "ns3/boolean.h"
#include "ns3/flow-hash.h"
#include "ns3/log.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/uinteger.h"

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
            .AddAttribute("DataBytes",
                          "Bytes by which headers of a data packet are longer than RoCEv2's",
                          UintegerValue(40),
                          MakeUintegerAccessor(&UecTransport::m_dataBytes),
                          MakeUintegerChecker<uint32_t>(1, 1000))
            .AddAttribute("AnswerBytes",
                          "The same, of acknowledgements",
                          UintegerValue(26),
                          MakeUintegerAccessor(&UecTransport::m_answerBytes),
                          MakeUintegerChecker<uint32_t>(0, 1000));
    return tid;
}

uint32_t
UecTransport::GetFieldBytes() const
{
    return m_dataBytes;
}

uint32_t
UecTransport::GetAnswerFieldBytes() const
{
    return m_answerBytes;
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

void
UecTransport::FitToPaths(int64_t longestRttPs)
{
    m_networkRttPs = longestRttPs;
}

void
UecTransport::WriteAnswer(RdmaRxQueuePair& rx, QbbFrame& answer, int64_t /* nowPs */)
{
    if (!m_isOrdered)
    {
        const auto& receiver = static_cast<const UecReceiver&>(*rx.recovery);
        answer.telemetry->answerField = receiver.GetBitmap(answer.telemetry->transportField);
    }
}

void
UecTransport::OnQpInit(RdmaQueuePair& qp)
{
    if (!m_isOrdered)
    {
        NS_LOG_INFO(qp.Describe() << " has " << (1U << m_entropyBits) << " entropy values");
        static_cast<UecSender&>(*qp.recovery).entropy =
            UecEntropy::Make(m_spreading, 1U << m_entropyBits, qp.hash);
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
    static_cast<UecSender&>(*qp.recovery).entropy->OnOutcome(entropy, outcome, nowPs);
}

} // namespace ns3
