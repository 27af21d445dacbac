/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sampling-monitor.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

SamplingMonitor::SamplingMonitor(const SamplingTimes& times,
                                 const std::string& path,
                                 std::string_view header)
    : m_file(path),
      m_times(times)
{
    m_file.Write(header);
    const int64_t nowPs = Simulator::Now().GetPicoSeconds();
    if (times.startPs <= times.endPs && nowPs <= times.endPs)
    {
        m_event = Simulator::Schedule(PicoSeconds(std::max<int64_t>(times.startPs - nowPs, 0)),
                                      &SamplingMonitor::OnSample,
                                      this);
    }
}

SamplingMonitor::~SamplingMonitor()
{
    StopSampling();
}

void
SamplingMonitor::StopSampling()
{
    if (!m_event.IsExpired())
    {
        // A cancelled event would still move the clock to its time.
        Simulator::Remove(m_event);
    }
}

void
SamplingMonitor::OnSample()
{
    const int64_t nowPs = Simulator::Now().GetPicoSeconds();
    Sample(nowPs, m_first);
    m_first = false;
    if (m_times.endPs - nowPs >= m_times.intervalPs)
    {
        m_event =
            Simulator::Schedule(PicoSeconds(m_times.intervalPs), &SamplingMonitor::OnSample, this);
    }
}

} // namespace ns3
