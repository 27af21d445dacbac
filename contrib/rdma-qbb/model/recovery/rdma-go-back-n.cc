/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-go-back-n.h"

#include "ns3/boolean.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaGoBackN);

TypeId
RdmaGoBackN::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaGoBackN")
            .SetParent<RdmaLossRecovery>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<RdmaGoBackN>()
            .AddAttribute("NackInterval",
                          "Least time between two NACKs for the same gap",
                          TimeValue(MicroSeconds(500)),
                          MakeTimeAccessor(&RdmaGoBackN::m_nackInterval),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("Timeout",
                          "Retransmission timeout; doubles while nothing is acknowledged",
                          TimeValue(MilliSeconds(4)),
                          MakeTimeAccessor(&RdmaGoBackN::m_timeout),
                          MakeTimeChecker(PicoSeconds(1)))
            .AddAttribute("ChunkBytes",
                          "Bytes of a chunk, the unit of BackToZero",
                          UintegerValue(4000),
                          MakeUintegerAccessor(&RdmaGoBackN::m_chunkBytes),
                          MakeUintegerChecker<uint64_t>(1))
            .AddAttribute("BackToZero",
                          "Go back to the start of the chunk instead of the lost frame",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaGoBackN::m_backToZero),
                          MakeBooleanChecker());
    return tid;
}

RdmaLossRecovery::Verdict
RdmaGoBackN::OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs)
{
    if (frame.seq < rx.expectedSeq)
    {
        return Verdict::Ack;
    }
    if (rx.nackedSeq == rx.expectedSeq && nowPs < rx.nackPs + m_nackInterval.GetTimeStep())
    {
        return Verdict::Silent;
    }
    rx.nackedSeq = rx.expectedSeq;
    rx.nackPs = nowPs;
    return Verdict::Nack;
}

void
RdmaGoBackN::OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t nowPs)
{
    qp.sndNxt = std::max(qp.sndUna, nack.seq);
    if (m_backToZero)
    {
        qp.sndNxt -= qp.sndNxt % m_chunkBytes;
    }
}

void
RdmaGoBackN::OnTimeout(RdmaQueuePair& qp, int64_t nowPs)
{
    qp.sndNxt = m_backToZero ? qp.sndUna - qp.sndUna % m_chunkBytes : qp.sndUna;
}

int64_t
RdmaGoBackN::GetTimeoutPs(const RdmaQueuePair& qp) const
{
    return m_timeout.GetTimeStep();
}

} // namespace ns3
