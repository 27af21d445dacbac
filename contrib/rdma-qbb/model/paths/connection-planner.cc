/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "connection-planner.h"

#include "ns3/flow-hash.h"
#include "ns3/log.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("ConnectionPlanner");

ConnectionPlanner::ConnectionPlanner(const ClusterTopology& topology,
                                     const FabricRoutes& routes,
                                     const FrameSizes& network,
                                     const FrameSizes& nvlink,
                                     PathUse use,
                                     uint32_t queuePairs)
    : m_topology(topology),
      m_routes(routes),
      m_network(network),
      m_nvlink(nvlink),
      m_queuePairs(queuePairs),
      m_survey(routes, use),
      m_ideal(m_survey),
      m_sources(topology.hostCount)
{
}

void
ConnectionPlanner::Fill(Pair& pair, uint32_t src, uint32_t dst)
{
    pair.idealKind = IdealFct::UNKNOWN;
    pair.limits = {};
    const auto [known, isNew] = m_sources[src].portSets.try_emplace(m_routes.HostPorts(src, dst));
    pair.ports = &known->first;
    pair.cut = &known->second;
    if (!pair.ports->empty())
    {
        if (isNew)
        {
            known->second = MessageCut(m_topology, src, *pair.ports, m_queuePairs);
        }
        const auto ports = m_topology.Ports(m_topology.NodeOfHost(src));
        pair.nvlink = m_topology.IsNvLink(ports[pair.ports->front()].link);
    }
}

ConnectionPlanner::Pair&
ConnectionPlanner::Find(uint32_t src, uint32_t dst)
{
    const auto [it, isNew] = m_sources[src].pairs.try_emplace(dst);
    if (isNew)
    {
        Fill(it->second, src, dst);
    }
    return it->second;
}

const PathLimits&
ConnectionPlanner::FindLimits(Pair& pair, uint32_t src, uint32_t dst) const
{
    if (pair.limits.rateBps == 0)
    {
        pair.limits = m_survey.FindLimits(src, dst, pair.nvlink ? m_nvlink : m_network);
    }
    return pair.limits;
}

PathLimits
ConnectionPlanner::LimitsOf(const PathInfo& there, const PathInfo& back, bool nvlink) const
{
    const FrameSizes& sizes = nvlink ? m_nvlink : m_network;
    return {.rateBps = there.bottleneckBps,
            .rttPs = BaseRttPs(there, back, sizes),
            .slowestBps = there.bottleneckBps,
            .ackWaitPs = AckWaitPs(back, sizes)};
}

std::optional<ConnectionStart>
ConnectionPlanner::Open(Pair& pair,
                        uint32_t src,
                        uint32_t dst,
                        int64_t channel,
                        uint16_t dport,
                        uint16_t sport)
{
    if (pair.ports->empty())
    {
        return std::nullopt;
    }
    ConnectionStart start;
    start.sport = sport;
    if (sport == 0)
    {
        start.sport = pair.nextSport;
        pair.nextSport = pair.nextSport == UINT16_MAX ? FIRST_SPORT : pair.nextSport + 1;
    }
    start.hash = FlowHash(src, dst, start.sport, dport);
    const auto count = static_cast<uint32_t>(pair.ports->size());
    const uint32_t choice =
        channel >= 0 ? static_cast<uint32_t>(channel) % count : EcmpChoice(start.hash, src, count);
    start.firstPort = (*pair.ports)[choice];
    NS_LOG_INFO("host " << src << " is to reach host " << dst << " from UDP port " << start.sport
                        << " through its port " << start.firstPort << ", one of " << count);
    return start;
}

uint16_t
ConnectionPlanner::SourcePortOf(uint16_t first, uint32_t part)
{
    // A large stride, as the next streams of the same hosts begin with the ports after the first.
    constexpr uint32_t STRIDE = 4099;
    constexpr uint32_t PORTS = UINT16_MAX + 1 - FIRST_SPORT;
    return static_cast<uint16_t>(FIRST_SPORT + (first - FIRST_SPORT + part * STRIDE) % PORTS);
}

std::optional<uint16_t>
ConnectionPlanner::Move(const Pair& pair, uint32_t hash, uint16_t port)
{
    const auto& ports = *pair.ports;
    if (ports.empty())
    {
        return std::nullopt;
    }
    const bool stays = std::ranges::find(ports, port) != ports.end();
    return stays ? port : ports[hash % ports.size()];
}

int64_t
ConnectionPlanner::WorkOutIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes)
{
    Pair& pair = Find(src, dst);
    if (pair.ports->empty())
    {
        return 0;
    }
    if (pair.idealKind == IdealFct::UNKNOWN)
    {
        pair.idealKind = m_ideal.KindOf(src, dst);
    }
    return m_ideal.Of(pair.idealKind, bytes, pair.nvlink ? m_nvlink : m_network);
}

void
ConnectionPlanner::OnRoutesChanged()
{
    for (uint32_t src = 0; src < m_sources.size(); ++src)
    {
        m_sources[src].recentIdeals.fill(RecentIdeal());
        for (auto& [dst, pair] : m_sources[src].pairs)
        {
            Fill(pair, src, dst);
        }
    }
}

void
ConnectionPlanner::Forget()
{
    for (Source& source : m_sources)
    {
        source.pairs.clear();
    }
}

} // namespace ns3
