/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-memory-bus.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

void
NativeMemoryBus::Transfer(TimePs& busyUntil,
                          uint64_t bytes,
                          bool reduce,
                          MessageHandler handler,
                          void* arg)
{
    TimePs delay = m_config->endpointDelay;
    if (m_config->shared)
    {
        const auto picoseconds = [](double ns) { return ns3::RoundToPs(ns * 1000.0); };
        const TimePs now = m_network->Now();
        const TimePs start = std::max(now, busyUntil);
        const double body = bytes > 0 ? static_cast<double>(bytes - 1) * m_config->G : 0.0;
        const TimePs left = ns3::AddPs(start, picoseconds(m_config->o + body));
        busyUntil = ns3::AddPs(left, picoseconds(m_config->g));
        delay = ns3::AddPs(left, picoseconds(m_config->L + m_config->o)) - now;
        delay = ns3::AddPs(delay, reduce ? m_config->localReductionDelay : 0);
    }
    if (reduce)
    {
        delay = ns3::AddPs(delay, ns3::TimesPs(MemoryAccess(bytes), 3));
    }
    m_network->Schedule(delay, handler, arg);
}

} // namespace AstraSim
