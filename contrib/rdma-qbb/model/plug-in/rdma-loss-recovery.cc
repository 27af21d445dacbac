/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-loss-recovery.h"

#include "ns3/uinteger.h"

#include <algorithm>

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
                          "Where switches choose paths per frame: frames beyond the one expected "
                          "that a receiver keeps while it waits for frames that were overtaken",
                          UintegerValue(4096),
                          MakeUintegerAccessor(&RdmaLossRecovery::m_reorderFrames),
                          MakeUintegerChecker<uint32_t>(2, UINT16_MAX))
            .AddAttribute("ReorderTime",
                          "How long a gap may then last before the receiver asks for what is "
                          "missing; 0: as long as the fabric says",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaLossRecovery::m_reorderTime),
                          MakeTimeChecker(Time(0)));
    return tid;
}

int64_t
RdmaLossRecovery::TimeoutForPath(int64_t baseRttPs, int64_t leastPs)
{
    return std::max(leastPs, 2 * baseRttPs);
}

std::optional<RdmaLossRecovery::Reordering>
RdmaLossRecovery::GetReordering() const
{
    if (!m_reorders)
    {
        return std::nullopt;
    }
    const Time limit = m_reorderTime.IsZero() ? m_lossTime : m_reorderTime;
    return Reordering{m_reorderFrames, limit.GetTimeStep()};
}

RdmaLossRecovery::Verdict
RdmaLossRecovery::AnswerToKept(const QbbFrame& frame)
{
    return frame.telemetry || frame.ecn == EcnCodepoint::Ce ? Verdict::Ack : Verdict::Silent;
}

} // namespace ns3
