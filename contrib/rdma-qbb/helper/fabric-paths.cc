/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-paths.h"

#include "fabric-parts.h"

#include <fmt/format.h>

namespace ns3
{

FabricPaths::FabricPaths(const FabricParts& fabric,
                         FabricRoutes& routes,
                         const FabricFrameSizes& sizes,
                         bool spreads)
    : m_fabric(fabric),
      m_routes(routes),
      m_planner(*fabric.topology, routes, sizes.network, sizes.nvlink, spreads)
{
}

RdmaPath
FabricPaths::PlanPath(uint32_t src, uint32_t dst, const RdmaConnectionOptions& options)
{
    ConnectionPlanner::Pair& pair = m_planner.Find(src, dst);
    const auto start =
        ConnectionPlanner::Open(pair, src, dst, options.channel, options.dport, options.sport);
    RdmaPath path;
    if (!start)
    {
        return path;
    }
    m_planner.FindTimes(pair, src, dst);
    path.peer = &m_fabric.Hw(dst);
    path.sport = start->sport;
    path.nic = start->firstPort;
    path.nvlink = pair.nvlink;
    path.baseRttPs = pair.baseRttPs;
    path.bottleneckBps = pair.bottleneckBps;
    const bool global = m_global && !pair.nvlink;
    path.windowBytes =
        global ? m_global->maxBdpBytes : BdpBytes(pair.bottleneckBps, pair.baseRttPs);
    if (global)
    {
        path.baseRttPs = m_global->maxBaseRttPs;
    }
    return path;
}

void
FabricPaths::Follow(const LinkState& links)
{
    m_routes.Recompute(links);
    m_planner.OnRoutesChanged();
    for (RdmaDriver* driver : m_fabric.drivers)
    {
        MoveQueuePairs(driver->GetHw());
    }
}

void
FabricPaths::MoveQueuePairs(RdmaHw& hw)
{
    for (const RdmaQueuePair* qp : hw.GetOpenQueuePairs())
    {
        if (qp->contribution)
        {
            continue;
        }
        const auto& pair = m_planner.Find(qp->src, qp->dst);
        const uint16_t current = qp->nic->GetPort().GetPort();
        const uint16_t port = ConnectionPlanner::Move(pair, qp->hash, current).value_or(current);
        if (port != current)
        {
            hw.MoveQueuePair(qp->qpn, port);
        }
    }
}

std::vector<std::string>
FabricPaths::DescribeCutOff() const
{
    std::vector<std::string> lines;
    for (const RdmaDriver* driver : m_fabric.drivers)
    {
        for (const RdmaQueuePair* qp : driver->GetHw().GetOpenQueuePairs())
        {
            if (qp->contribution || qp->sndUna == qp->endSeq)
            {
                continue;
            }
            const bool reachable = m_routes.Reachable(qp->src, qp->dst);
            if (!reachable || qp->failed)
            {
                lines.push_back(fmt::format("queue pair {} has {} bytes left and {}",
                                            qp->Describe(),
                                            qp->endSeq - qp->sndUna,
                                            reachable ? "gave up after its retries" : "no path"));
            }
        }
    }
    return lines;
}

} // namespace ns3
