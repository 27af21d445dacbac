/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "hccl-times.h"

#include "hccl-constants.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr double BPS_PER_GBPS = 8e9;

/// @return whether the lanes of a phase go one after the other
bool
IsInTurn(HcclKind kind, CollectiveOp op)
{
    return kind == HcclKind::NhrReduce || kind == HcclKind::NhrGather ||
           (kind == HcclKind::NetExchange && IsExchange(op));
}

/// @return picoseconds of nanoseconds
constexpr TimePs
FromNs(int64_t ns)
{
    return ns * 1000;
}

/// @return picoseconds that bytes take; none where the rate is not known
double
TransferPs(double bytes, double GBps)
{
    return GBps > 0 ? bytes * 1000 / GBps : 0;
}

} // namespace

HcclTimes::HcclTimes(std::shared_ptr<const HcclGraph> graph, const CollectiveTask& task)
    : m_graph(std::move(graph)),
      m_task(task),
      m_nicGBps(task.nicGBps)
{
    if (!task.nics.empty())
    {
        m_nicGBps /= static_cast<double>(std::ranges::count(task.nics, task.nics.front()));
    }
}

LaneTimes
HcclTimes::GetTimes(uint32_t rank, uint32_t index, bool outbound, const Lane& lane) const
{
    LaneTimes times;
    if (!IsNear(rank, lane))
    {
        times.latency = m_task.sendLatency.value_or(FromNs(HCCL_RDMA_NS));
        return times;
    }
    const uint64_t bytes =
        lane.messages > 0 ? m_graph->GetBytes(outbound ? rank : lane.peer, index, 0) : 0;
    times.slots = 1;
    const int64_t start = bytes > HCCL_LONG_COPY_BYTES ? HCCL_LONG_COPY_NS : HCCL_SHORT_COPY_NS;
    times.latency = m_task.sendLatency.value_or(FromNs(HCCL_FLAG_NS + start));
    times.rateCapBps = static_cast<uint64_t>(m_task.linkGBps * BPS_PER_GBPS);
    return times;
}

TimePs
HcclTimes::Estimate() const
{
    double total = 0;
    for (uint32_t phase = 0; phase < m_graph->GetPlan().phases.size(); ++phase)
    {
        total += EstimatePhase(phase);
    }
    return std::llround(total);
}

double
HcclTimes::EstimatePhase(uint32_t phase) const
{
    // Where there is a root, it sends or receives most; in AllToAllV and SendRecv any rank may.
    const CollectiveRequest& request = m_task.request;
    const bool areUneven =
        request.op == CollectiveOp::AllToAllV || request.op == CollectiveOp::SendRecv;
    const auto root = static_cast<uint32_t>(request.root);
    double longest = 0;
    for (uint32_t rank = areUneven ? 0 : root; rank < (areUneven ? m_graph->GetRanks() : root + 1);
         ++rank)
    {
        for (const bool outbound : {true, false})
        {
            longest = std::max(longest, EstimateOf(phase, rank, outbound));
        }
    }
    return longest;
}

double
HcclTimes::EstimateOf(uint32_t phase, uint32_t rank, bool outbound) const
{
    double inTurn = 0;
    double longest = 0;
    double near = 0;
    double far = 0;
    for (const uint32_t index : m_graph->LanesOf(phase))
    {
        const Lane lane =
            outbound ? m_graph->GetOutbound(rank, index) : m_graph->GetInbound(rank, index);
        const bool isNear = IsNear(rank, lane);
        double bytes = 0;
        for (uint64_t message = 0; message < lane.messages; ++message)
        {
            bytes +=
                static_cast<double>(m_graph->GetBytes(outbound ? rank : lane.peer, index, message));
        }
        const TimePs start = GetTimes(rank, index, outbound, lane).latency;
        const double time = static_cast<double>(lane.messages) * static_cast<double>(start) +
                            TransferPs(bytes, isNear ? m_task.linkGBps : m_nicGBps);
        inTurn += time;
        longest = std::max(longest, time);
        (isNear ? near : far) += bytes;
    }
    const bool isInTurn = IsInTurn(m_graph->GetPlan().phases[phase].kind, m_task.request.op);
    return std::max({isInTurn ? inTurn : longest,
                     TransferPs(near, m_task.nvlinkGBps),
                     TransferPs(far, m_nicGBps)});
}

} // namespace AstraSim
