/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-loss-recovery.h"

#include "reorder-buffer.h"

#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaLossRecovery);

TypeId
RdmaLossRecovery::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaLossRecovery")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddAttribute("ReorderFrames",
                          "Frames beyond the one expected that a receiver keeps while it waits for "
                          "frames that were overtaken; 0: a frame out of order tells of a loss",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaLossRecovery::m_reorderFrames),
                          MakeUintegerChecker<uint32_t>(0, UINT16_MAX))
            .AddAttribute("ReorderTime",
                          "How long a gap may last before a receiver with ReorderFrames asks for "
                          "what is missing; 0: for ever",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaLossRecovery::m_reorderTime),
                          MakeTimeChecker(Time(0)));
    return tid;
}

std::unique_ptr<ReorderBuffer>
RdmaLossRecovery::MakeReorderBuffer(RdmaRxQueuePair& rx, bool selective) const
{
    if (m_reorderFrames == 0)
    {
        return nullptr;
    }
    return std::make_unique<ReorderBuffer>(rx,
                                           m_reorderFrames,
                                           m_reorderTime.GetTimeStep(),
                                           selective);
}

RdmaLossRecovery::Verdict
RdmaLossRecovery::AnswerToKept(const QbbFrame& frame)
{
    return frame.telemetry || frame.ecn == EcnCodepoint::Ce ? Verdict::Ack : Verdict::Silent;
}

} // namespace ns3
