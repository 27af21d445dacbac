/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-loss-recovery.h"

#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>

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
                          "that a receiver keeps while it waits for frames that were overtaken; 0: "
                          "4096, or what the path's bandwidth-delay product holds if that is more",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaLossRecovery::m_reorderFrames),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("ReorderTime",
                          "How long a gap may then last before the receiver asks for what is "
                          "missing; 0: as long as the fabric says, or twice the difference of the "
                          "paths' delays if that is longer",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaLossRecovery::m_reorderTime),
                          MakeTimeChecker(Time(0)));
    return tid;
}

int64_t
RdmaLossRecovery::LimitForPath(int64_t idlePs, int64_t leastPs)
{
    return std::max(leastPs, 2 * idlePs);
}

std::optional<RdmaLossRecovery::Reordering>
RdmaLossRecovery::GetReordering(int64_t spreadPs) const
{
    if (!m_reorders)
    {
        return std::nullopt;
    }
    int64_t limitPs = m_reorderTime.GetTimeStep();
    if (limitPs == 0 && !m_lossTime.IsZero())
    {
        limitPs = LimitForPath(spreadPs, m_lossTime.GetTimeStep());
    }
    return Reordering{m_reorderFrames, limitPs};
}

std::string
RdmaLossRecovery::DescribeReordering(int64_t spreadPs, double aheadFrames) const
{
    if (!m_reorders || spreadPs == 0)
    {
        return "";
    }
    const double spreadUs = static_cast<double>(spreadPs) / 1e6;
    if (!m_reorderTime.IsZero() && m_reorderTime.GetTimeStep() <= spreadPs)
    {
        return fmt::format("REORDER_TIME (ns3::RdmaLossRecovery::ReorderTime) of {:g} us is not "
                           "above the difference of paths' delays, {:g} us: frames that were "
                           "overtaken count as lost",
                           static_cast<double>(m_reorderTime.GetTimeStep()) / 1e6,
                           spreadUs);
    }
    if (m_reorderFrames > 0 && aheadFrames > m_reorderFrames)
    {
        return fmt::format("REORDER_FRAMES (ns3::RdmaLossRecovery::ReorderFrames) of {} is below "
                           "the {:.0f} frames that get ahead of others where paths' delays differ "
                           "by {:g} us: those beyond are sent again",
                           m_reorderFrames,
                           aheadFrames,
                           spreadUs);
    }
    return "";
}

RdmaLossRecovery::Verdict
RdmaLossRecovery::OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs)
{
    return Verdict::Nack;
}

RdmaLossRecovery::Verdict
RdmaLossRecovery::AnswerToKept(const QbbFrame& frame)
{
    return frame.telemetry || frame.ecn == EcnCodepoint::Ce ? Verdict::Ack : Verdict::Silent;
}

} // namespace ns3
