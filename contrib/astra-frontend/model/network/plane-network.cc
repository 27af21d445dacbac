/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plane-network.h"

#include "collectives/model/collective/traffic-purpose.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <string>

namespace AstraSim
{

namespace
{

/// @return NICs of the host that has fewest
uint32_t
FewestNics(const ns3::ClusterTopology& topology)
{
    uint32_t fewest = UINT32_MAX;
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        const auto ports = topology.Ports(topology.NodeOfHost(host));
        const auto nics = std::ranges::count_if(ports, [&](const auto& port) {
            return !topology.IsNvLink(port.link);
        });
        fewest = std::min(fewest, static_cast<uint32_t>(nics));
    }
    return fewest;
}

} // namespace

TrafficPlanes::TrafficPlanes(const ns3::FabricConf& conf,
                             const ns3::ClusterTopology& topology,
                             uint64_t qpsPerConnection)
    : m_topology(topology)
{
    if (conf.planes->empty())
    {
        return;
    }
    const uint32_t nics = FewestNics(topology);
    m_planeOf.resize(TrafficPurposeNames().size(), -1);
    for (const auto& choice : *conf.planes)
    {
        if (qpsPerConnection > 1)
        {
            throw ns3::InputError(conf.source,
                                  choice.line,
                                  "PLANE keeps messages on one plane, and QPS_PER_CONNECTION " +
                                      std::to_string(qpsPerConnection) + " spreads them",
                                  "QPS_PER_CONNECTION 1");
        }
        if (choice.plane >= nics)
        {
            throw ns3::InputError(conf.source,
                                  choice.line,
                                  "PLANE is " + std::to_string(choice.plane) + ", and hosts have " +
                                      std::to_string(nics) + " NICs",
                                  "a number below that");
        }
        const auto purposes = PurposesOfClass(choice.trafficClass);
        if (purposes.empty())
        {
            throw ns3::InputError(conf.source,
                                  choice.line,
                                  "'" + choice.trafficClass + "' is not a class of traffic",
                                  "TP, DP, EP, DP_EP, PP, CP, CUSTOM, MESSAGES or KV");
        }
        for (const uint16_t purpose : purposes)
        {
            m_planeOf[purpose] = static_cast<int32_t>(choice.plane);
        }
    }
}

std::optional<uint32_t>
TrafficPlanes::PlaneOf(uint16_t purpose, uint32_t src, uint32_t dst) const
{
    const int32_t plane = m_planeOf[purpose];
    if (plane < 0 || m_topology.ShareNvLink(src, dst))
    {
        return std::nullopt;
    }
    return static_cast<uint32_t>(plane);
}

PlaneNetwork::PlaneNetwork(RankNetwork& network, const TrafficPlanes& planes)
    : ForwardingNetwork(network),
      m_planes(planes)
{
}

void
PlaneNetwork::Send(const SendRequest& request)
{
    if (request.info)
    {
        if (const auto plane = m_planes.PlaneOf(request.info->purpose,
                                                static_cast<uint32_t>(GetRank()),
                                                static_cast<uint32_t>(request.dst)))
        {
            request.info->plane = static_cast<uint16_t>(*plane);
        }
    }
    GetNetwork().Send(request);
}

} // namespace AstraSim
