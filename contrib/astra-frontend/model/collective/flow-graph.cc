/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-graph.h"

#include "divide-up.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

const char*
ToString(ConnType type)
{
    static constexpr const char* NAMES[] =
        {"RING", "TREE", "NVLS", "COLLNET", "PXN_INIT", "NET", "PXN_FINAL", "P2P"};
    return NAMES[static_cast<uint8_t>(type)];
}

CopyTime
CopyTimeOf(const Lane& lane, uint64_t bytes, double wireInflation, bool hasLatency)
{
    const TimePs latency = hasLatency ? lane.latency : 0;
    if (lane.rateCapBps == 0)
    {
        const double wireBytes = static_cast<double>(bytes) * wireInflation;
        CopyTime start{latency, 0, 0};
        for (const SlowStart& slow : lane.slowStarts)
        {
            if (slow.Applies() && wireBytes > static_cast<double>(slow.above))
            {
                start.latency = ns3::AddPs(latency, slow.latency);
                start.busy =
                    slow.occupies
                        ? ns3::AddPs(slow.latency, ns3::TruncateToPs(slow.psPerByte * wireBytes))
                        : 0;
            }
        }
        return start;
    }
    const double psPerByte =
        8 * wireInflation * ns3::PS_PER_SECOND / static_cast<double>(lane.rateCapBps);
    const uint64_t passes = lane.passBytes ? DivideUp(bytes, lane.passBytes) : 1;
    const uint64_t idle = lane.wholePasses && passes > 1 ? passes * lane.passBytes - bytes : 0;
    CopyTime time;
    time.latency = ns3::AddPs(ns3::TimesPs(latency, lane.waitsEachPass ? passes : 1),
                              ns3::TruncateToPs(psPerByte * static_cast<double>(idle)));
    const auto hidden = static_cast<double>(std::min<uint64_t>(bytes, lane.hiddenBytes));
    time.latency -= std::min(time.latency, ns3::TruncateToPs(psPerByte * hidden));
    time.duration = ns3::TruncateToPs(psPerByte * static_cast<double>(bytes));
    return time;
}

uint64_t
FlowGraph::CountFlows() const
{
    uint64_t flows = 0;
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        for (uint32_t i = 0; i < m_lanes; ++i)
        {
            const Lane out = GetOutbound(rank, i);
            const Lane in = GetInbound(rank, i);
            flows += out.kind == LaneKind::Copy ? 0 : out.messages;
            flows += in.kind == LaneKind::Message || in.kind == LaneKind::Copy ? 0 : in.messages;
        }
    }
    return flows;
}

} // namespace AstraSim
