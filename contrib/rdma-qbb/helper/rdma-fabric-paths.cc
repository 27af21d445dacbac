/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaFabric: paths of connections, link events, and totals.
 */
#include "rdma-fabric.h"

#include "ns3/attribute-default.h"
#include "ns3/input-error.h"
#include "ns3/node.h"
#include "ns3/qbb-processes.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaFabric");

RdmaPath
RdmaFabric::PlanPath(uint32_t src, uint32_t dst, const RdmaConnectionOptions& options)
{
    ConnectionPlanner::Pair& pair = m_planner->Find(src, dst);
    const auto start =
        ConnectionPlanner::Open(pair, src, dst, options.channel, options.dport, options.sport);
    RdmaPath path;
    if (!start)
    {
        return path;
    }
    m_planner->FindTimes(pair, src, dst);
    path.peer = &GetHw(dst);
    path.sport = start->sport;
    path.nic = start->firstPort;
    path.nvlink = pair.nvlink;
    path.baseRttPs = pair.baseRttPs;
    path.bottleneckBps = pair.bottleneckBps;
    const bool global = m_globalBaseRtt && !pair.nvlink;
    path.windowBytes =
        global ? m_extremes.maxBdpBytes : BdpBytes(pair.bottleneckBps, pair.baseRttPs);
    if (global)
    {
        path.baseRttPs = m_extremes.maxBaseRttPs;
    }
    return path;
}

// --- link events

uint32_t
RdmaFabric::FindLink(const LinkEvent& event) const
{
    if (event.a < m_topology->nodeCount && event.b < m_topology->nodeCount)
    {
        for (const auto& port : m_topology->Ports(event.a))
        {
            if (port.peer == event.b)
            {
                return port.link;
            }
        }
    }
    m_conf->FailAtLine(event.line,
                       event.up ? "LINK_UP" : "LINK_DOWN",
                       "names " + std::to_string(event.a) + " and " + std::to_string(event.b) +
                           ", which no link joins",
                       "the ends of a link of " + m_topology->source);
}

std::vector<uint32_t>
RdmaFabric::FindLinks(const LinkEvent& event) const
{
    std::vector<uint32_t> links;
    if (event.b == LinkEvent::ALL_LINKS)
    {
        if (event.a < m_topology->nodeCount)
        {
            for (const auto& port : m_topology->Ports(event.a))
            {
                links.push_back(port.link);
            }
        }
        if (links.empty())
        {
            m_conf->FailAtLine(event.line,
                               event.up ? "NODE_UP" : "NODE_DOWN",
                               "names " + std::to_string(event.a) + ", which no link joins",
                               "a node of " + m_topology->source);
        }
        return links;
    }
    // Parallel links between the same nodes fail together, as the event cannot tell them apart.
    for (uint32_t link = FindLink(event); link < m_topology->links.size(); ++link)
    {
        const auto& ends = m_topology->links[link];
        if ((ends.a == event.a && ends.b == event.b) || (ends.a == event.b && ends.b == event.a))
        {
            links.push_back(link);
        }
    }
    return links;
}

void
RdmaFabric::ScheduleLinkEvents()
{
    for (const LinkEvent& event : m_conf->linkEvents)
    {
        for (const uint32_t link : FindLinks(event))
        {
            Simulator::Schedule(PicoSeconds(event.timePs) - Simulator::Now(),
                                &RdmaFabric::SetLinkUp,
                                this,
                                link,
                                event.up);
        }
    }
}

void
RdmaFabric::SetLinkUp(uint32_t link, bool up)
{
    NS_LOG_INFO("link " << link << " goes " << (up ? "up" : "down"));
    m_links->Set(link, up);
    m_channels[link]->SetUp(up);
    // Links that change together, as a switch's do, cost one update.
    const Time due = Simulator::Now() + m_routeUpdateDelay;
    if (due > m_routesDue)
    {
        m_routesDue = due;
        Simulator::Schedule(m_routeUpdateDelay, &RdmaFabric::UpdateRoutes, this);
    }
}

void
RdmaFabric::UpdateRoutes()
{
    NS_LOG_INFO("routes are worked out again");
    m_routes->Recompute(*m_links);
    m_planner->OnRoutesChanged();
    MoveQueuePairs();
    m_routesChanged();
}

void
RdmaFabric::MoveQueuePairs()
{
    for (RdmaDriver* driver : m_drivers)
    {
        RdmaHw& hw = driver->GetHw();
        for (const RdmaQueuePair* qp : hw.GetOpenQueuePairs())
        {
            if (qp->contribution)
            {
                continue;
            }
            const auto& pair = m_planner->Find(qp->src, qp->dst);
            const uint16_t current = qp->nic->GetPort().GetPort();
            const uint16_t port =
                ConnectionPlanner::Move(pair, qp->hash, current).value_or(current);
            if (port != current)
            {
                hw.MoveQueuePair(qp->qpn, port);
            }
        }
    }
}

std::vector<std::string>
RdmaFabric::DescribeCutOff() const
{
    std::vector<std::string> lines;
    for (const RdmaDriver* driver : m_drivers)
    {
        for (const RdmaQueuePair* qp : driver->GetHw().GetOpenQueuePairs())
        {
            if (qp->contribution || qp->sndUna == qp->endSeq)
            {
                continue;
            }
            const bool reachable = m_routes->Reachable(qp->src, qp->dst);
            if (!reachable || qp->failed)
            {
                lines.push_back("queue pair " + qp->Describe() + " has " +
                                std::to_string(qp->endSeq - qp->sndUna) + " bytes left and " +
                                (reachable ? "gave up after its retries" : "no path"));
            }
        }
    }
    return lines;
}

uint8_t
RdmaFabric::LosslessMaskAt(uint32_t node) const
{
    return m_switches[node] ? m_switches[node]->GetMmu()->GetLosslessMask()
                            : static_cast<uint8_t>(
                                  AttributeDefault<UintegerValue>("ns3::SwitchMmu::LosslessMask"));
}

void
RdmaFabric::PauseNic(uint32_t node, uint16_t port, bool pause) const
{
    const ClusterTopology::Port& at = m_topology->Ports(node)[port];
    if (m_topology->IsNvLink(at.link))
    {
        return;
    }
    const uint8_t lossless = LosslessMaskAt(at.peer);
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (uint8_t priority = 1; priority < QbbNetDevice::PRIORITIES; ++priority)
    {
        if (lossless >> priority & 1)
        {
            m_devices[node][port]->SendPfc(priority, pause, nowPs);
        }
    }
}

void
RdmaFabric::ScheduleNicPauses()
{
    if (m_nicPauseTime.IsZero())
    {
        return;
    }
    const auto pauseAll = [this](bool pause) {
        for (uint32_t host = 0; host < m_topology->hostCount; ++host)
        {
            const uint32_t node = m_topology->NodeOfHost(host);
            for (uint16_t port = 0; port < m_devices[node].size() && IsHere(node); ++port)
            {
                PauseNic(node, port, pause);
            }
        }
    };
    Simulator::ScheduleNow([pauseAll] { pauseAll(true); });
    Simulator::Schedule(m_nicPauseTime, [pauseAll] { pauseAll(false); });
}

// --- totals

uint64_t
RdmaFabric::CountFramesInUse() const
{
    std::set<const QbbFramePool*> pools;
    uint64_t frames = 0;
    for (const auto& devices : m_devices)
    {
        for (const QbbNetDevice* device : devices)
        {
            const QbbFramePool& pool = device->GetPool();
            frames += pools.insert(&pool).second ? pool.GetInUse() : 0;
        }
    }
    return frames;
}

FabricTotals&
FabricTotals::operator+=(const FabricTotals& other)
{
    packetHops += other.packetHops;
    txFrames += other.txFrames;
    dataPayloadSent += other.dataPayloadSent;
    dataPayloadReceived += other.dataPayloadReceived;
    payloadLost += other.payloadLost;
    payloadTaken += other.payloadTaken;
    payloadMade += other.payloadMade;
    bufferDrops += other.bufferDrops;
    routeDrops += other.routeDrops;
    wireLosses += other.wireLosses;
    flushed += other.flushed;
    pauses += other.pauses;
    pausedPs += other.pausedPs;
    timeouts += other.timeouts;
    retransmitted += other.retransmitted;
    nacks += other.nacks;
    cnps += other.cnps;
    outOfOrderFrames += other.outOfOrderFrames;
    reorderBytes = std::max(reorderBytes, other.reorderBytes);
    framesInUse += other.framesInUse;
    return *this;
}

FabricTotals
RdmaFabric::GetTotals() const
{
    FabricTotals totals;
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (uint32_t node = 0; node < m_devices.size(); ++node)
    {
        for (const QbbNetDevice* device : m_devices[node])
        {
            const QbbPortCounters counters = device->GetCounters(nowPs);
            // A wire is cut where its frames are, whoever has sent them.
            totals.wireLosses += counters.lostFrames;
            totals.payloadLost += counters.lostPayload;
            if (!IsHere(node))
            {
                continue;
            }
            totals.packetHops += counters.rxFrames;
            totals.txFrames += counters.txFrames;
            totals.flushed += counters.flushedFrames;
            totals.pauses += counters.pausesReceived;
            totals.pausedPs += counters.pausedPs;
        }
    }
    for (const SwitchNode* node : m_switches)
    {
        if (node)
        {
            totals.bufferDrops += node->GetBufferDrops();
            totals.routeDrops += node->GetRouteDrops();
            totals.payloadLost += node->GetDroppedPayload();
        }
    }
    for (const auto& engine : m_inNetwork)
    {
        totals.payloadTaken += engine->GetPayload().taken;
        totals.payloadMade += engine->GetPayload().made;
    }
    for (const RdmaDriver* driver : m_drivers)
    {
        const RdmaHwCounters counters = driver->GetHw().GetCounters();
        totals.dataPayloadSent += counters.sentPayload;
        totals.dataPayloadReceived += counters.receivedPayload;
        totals.timeouts += counters.timeouts;
        totals.retransmitted += counters.retransmitted;
        totals.nacks += counters.nacksSent;
        totals.cnps += counters.cnpsSent;
        totals.outOfOrderFrames += counters.outOfOrderFrames;
        totals.reorderBytes = std::max(totals.reorderBytes, counters.reorderBytes);
    }
    totals.framesInUse = CountFramesInUse();
    FabricTotals all;
    for (const FabricTotals& each : ValueOfAllProcesses(totals))
    {
        all += each;
    }
    return all;
}

} // namespace ns3
