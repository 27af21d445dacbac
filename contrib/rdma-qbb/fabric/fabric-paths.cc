/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-paths.h"

#include "fabric-parts.h"

#include "ns3/flow-hash.h"

#include <algorithm>
#include <fmt/format.h>

namespace ns3
{

FabricPaths::FabricPaths(const FabricParts& fabric,
                         FabricRoutes& routes,
                         const FabricFrameSizes& sizes,
                         PathUse use,
                         uint32_t queuePairs)
    : m_fabric(fabric),
      m_routes(routes),
      m_network(sizes.network),
      m_planner(*fabric.topology, routes, sizes.network, sizes.nvlink, use, queuePairs)
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
    path.peer = &m_fabric.Hw(dst);
    path.sport = start->sport;
    path.nic = start->firstPort;
    path.nvlink = pair.nvlink;
    const PathLimits limits = LimitsOf(pair, src, dst, *start);
    const bool global = m_global && !pair.nvlink;
    path.baseRttPs = global ? m_global->maxBaseRttPs : limits.rttPs;
    path.bdpBytes = global ? m_global->maxBdpBytes : limits.BdpBytes();
    // GLOBAL_T is the HPCC simulator's, which has windows of idle paths.
    path.windowBytes = global ? path.bdpBytes : limits.WindowBytes();
    path.spreadPs = limits.spreadPs;
    path.droppable = !pair.nvlink && !(m_losslessMask >> options.priority & 1);
    path.drainPs = pair.nvlink ? 0 : DrainPs(limits);
    return path;
}

void
FabricPaths::NoteBuffers()
{
    for (uint32_t node = 0; node < m_fabric.topology->nodeCount; ++node)
    {
        if (m_fabric.topology->Is(node, ClusterTopology::NodeKind::Switch))
        {
            const Ptr<SwitchMmu> mmu = m_fabric.switches[node]->GetMmu();
            m_bufferBytes = std::max(m_bufferBytes, mmu->GetLimits().GetBufferBytes());
            m_losslessMask &= mmu->GetLimits().GetLosslessMask();
        }
    }
}

int64_t
FabricPaths::DrainPs(const PathLimits& limits) const
{
    // InfiniBand's timeout 14 (4.096 us x 2^14), usual for NICs: none waits longer, however large
    // the buffers are said to be.
    constexpr int64_t LONGEST_PS = 4'096'000LL << 14;
    return std::min(LONGEST_PS, SerializationPs(m_bufferBytes, limits.slowestBps));
}

PathInfo
FabricPaths::Follow(uint32_t src, uint32_t dst, uint16_t firstPort, uint32_t hash) const
{
    const uint32_t first = m_fabric.topology->NodeOfHost(src);
    return *m_routes.Path(src, dst, [&](uint32_t node, std::span<const uint16_t> ports) {
        return node == first ? firstPort
                             : ports[EcmpChoice(hash,
                                                m_fabric.switches[node]->GetEcmpSeed(),
                                                static_cast<uint32_t>(ports.size()))];
    });
}

PathLimits
FabricPaths::LimitsOf(ConnectionPlanner::Pair& pair,
                      uint32_t src,
                      uint32_t dst,
                      const ConnectionStart& start) const
{
    if (!m_planner.LimitsDependOnHash())
    {
        return m_planner.FindLimits(pair, src, dst);
    }
    const PathInfo there = Follow(src, dst, start.firstPort, start.hash);
    // The receiver answers by the port at which the data arrives, with a hash of its own.
    const PathHop& last = there.hops.back();
    const uint16_t port = m_fabric.topology->Ports(last.node)[last.port].peerPort;
    return m_planner.LimitsOf(there, Follow(dst, src, port, ~start.hash), pair.nvlink);
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
    for (RdmaDriver* driver : m_fabric.drivers)
    {
        driver->OnRoutesChanged();
    }
}

void
FabricPaths::MoveQueuePairs(RdmaHw& hw)
{
    for (const RdmaQueuePair* qp : hw.GetSender().GetOpen())
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
            hw.GetSender().Move(qp->qpn, port);
        }
    }
}

std::vector<std::string>
FabricPaths::DescribeCutOff() const
{
    std::vector<std::string> lines;
    for (const RdmaDriver* driver : m_fabric.drivers)
    {
        for (const RdmaQueuePair* qp : driver->GetHw().GetSender().GetOpen())
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
