/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-memory-bus.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

TimePs
NativeMemoryBus::Occupy(bool toAgent, uint64_t bytes, bool reduces, TimePs now)
{
    TimePs delay = m_config->endpointDelay;
    if (m_config->shared)
    {
        const auto picoseconds = [](double ns) { return ns3::RoundToPs(ns * 1000.0); };
        TimePs& busyUntil = toAgent ? m_agentFree : m_memoryFree;
        const TimePs start = std::max(now, busyUntil);
        const double body = bytes > 0 ? static_cast<double>(bytes - 1) * m_config->G : 0.0;
        const TimePs left = ns3::AddPs(start, picoseconds(m_config->o + body));
        busyUntil = ns3::AddPs(left, picoseconds(m_config->g));
        delay = ns3::AddPs(left, picoseconds(m_config->L + m_config->o)) - now;
        delay = ns3::AddPs(delay, reduces ? m_config->localReductionDelay : 0);
    }
    if (reduces && m_config->localMemBandwidth > 0)
    {
        const TimePs access =
            ns3::RoundToPs(static_cast<double>(bytes) * 1000.0 / m_config->localMemBandwidth);
        delay = ns3::AddPs(delay, ns3::TimesPs(access, 3));
    }
    return delay;
}

} // namespace AstraSim
