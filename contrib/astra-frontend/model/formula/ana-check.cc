/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ana-check.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

AnaCheck::AnaCheck(uint32_t ports, Report report)
    : m_ports(ports),
      m_report(std::move(report))
{
}

void
AnaCheck::Fail(TimePs now, const std::string& what) const
{
    m_report(fmt::format("at {} ps: {}", now, what));
}

void
AnaCheck::Serve(TimePs now, const char* kind, uint32_t port, TimePs time, TimePs end)
{
    Port& at = m_ports[port];
    at.served += time;
    at.end = std::max(at.end, end);
    if (time < 0 || end < now + time)
    {
        Fail(now,
             fmt::format("{} port {} is through at {} ps with a message that takes it {} ps",
                         kind,
                         port,
                         end,
                         time));
    }
}

void
AnaCheck::Placed(TimePs now, const MessagePath& path, const Times& times)
{
    ++m_underWay;
    Serve(now, "egress", path.egress, path.egressTime, times.egressEnd);
    Serve(now, "ingress", path.ingress, path.ingressTime, times.ingressEnd);
    const TimePs soonest =
        std::max({now + path.limited, times.egressEnd, times.ingressEnd, now + path.alone});
    if (times.delivered < soonest)
    {
        Fail(now,
             fmt::format("a message arrives at {} ps; it cannot before {} ps",
                         times.delivered,
                         soonest));
    }
}

void
AnaCheck::Arrived(TimePs now)
{
    if (m_underWay == 0)
    {
        Fail(now, "a message arrives that has not left");
        return;
    }
    --m_underWay;
}

void
AnaCheck::Finish(TimePs now, bool drained)
{
    for (std::size_t port = 0; port < m_ports.size(); ++port)
    {
        if (m_ports[port].served > m_ports[port].end)
        {
            Fail(now,
                 fmt::format("port {} has served messages for {} ps, the last until {} ps",
                             port,
                             m_ports[port].served,
                             m_ports[port].end));
        }
    }
    if (drained && m_underWay > 0)
    {
        Fail(
            now,
            fmt::format("{} messages are on their way, and nothing is left to happen", m_underWay));
    }
}

} // namespace AstraSim
