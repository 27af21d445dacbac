/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "gpu-model.h"

#include "divide-up.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

CopyTime
CopyTimeOf(const LaneTimes& lane, uint64_t bytes, double wireInflation, uint64_t message)
{
    const double parts = // that it stands for
        lane.messageBytes
            ? std::max(1.0, static_cast<double>(bytes) / static_cast<double>(lane.messageBytes))
            : 1;
    const auto ofAll = [parts](TimePs each) {
        return parts == 1 ? each : ns3::RoundToPs(static_cast<double>(each) * parts);
    };
    const TimePs latency = lane.HasLatency(message) ? ofAll(lane.latency) : 0;
    if (lane.rateCapBps == 0)
    {
        const double wireBytes = static_cast<double>(bytes) * wireInflation;
        CopyTime start{latency, 0, 0};
        for (const SlowStart& slow : lane.slowStarts)
        {
            if (slow.Applies() && wireBytes > parts * static_cast<double>(slow.above))
            {
                const bool isFirst = message < lane.connections || slow.again < 0;
                const TimePs more = ofAll(isFirst ? slow.latency : slow.again);
                start.latency = ns3::AddPs(latency, more);
                start.busy = slow.occupies
                                 ? ns3::AddPs(more, ns3::TruncateToPs(slow.psPerByte * wireBytes))
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

} // namespace AstraSim
