/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "path-survey.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace ns3
{

namespace
{

using NodeKind = ClusterTopology::NodeKind;

/// @return whether all links that are asked for have one rate and one delay
class OneSpeed
{
  public:
    bool Admits(const ClusterTopology::Link& link)
    {
        const std::pair speed(link.rateBps, link.delayPs);
        m_speed = m_speed.value_or(speed);
        return *m_speed == speed;
    }

  private:
    std::optional<std::pair<uint64_t, int64_t>> m_speed;
};

/// A node that frames reach, over all paths to it.
struct Reached
{
    uint32_t node{0};
    uint64_t widestBps{UINT64_MAX};
    int64_t dataPs{0};
    int64_t ackPs{0};
    int64_t soonestPs{0};
    int64_t fullPs{0};
};

/// Add to the far end the effect of one more link.
void
Merge(std::vector<Reached>& nodes, const Reached& more)
{
    const auto known = std::ranges::find(nodes, more.node, &Reached::node);
    if (known == nodes.end())
    {
        nodes.push_back(more);
        return;
    }
    known->widestBps = std::max(known->widestBps, more.widestBps);
    known->dataPs = std::max(known->dataPs, more.dataPs);
    known->ackPs = std::max(known->ackPs, more.ackPs);
    known->soonestPs = std::min(known->soonestPs, more.soonestPs);
    known->fullPs = std::max(known->fullPs, more.fullPs);
}

/// One or two hosts that stand for all hosts with the same switches, rates and delays; the second,
/// if there is one, is in another server.
using Representatives = std::vector<uint32_t>;

std::vector<Representatives>
LikeHosts(const FabricRoutes& routes)
{
    using Attachment = std::tuple<uint32_t, uint64_t, int64_t>;
    const ClusterTopology& topology = routes.Topology();
    std::map<std::vector<Attachment>, Representatives> kinds;
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        std::vector<Attachment> attachments;
        for (const auto& port : topology.Ports(topology.NodeOfHost(host)))
        {
            const auto& link = topology.links[port.link];
            if (!topology.Is(port.peer, NodeKind::NvSwitch) && routes.IsUp(port.link))
            {
                attachments.emplace_back(port.peer, link.rateBps, link.delayPs);
            }
        }
        std::ranges::sort(attachments);
        Representatives& hosts = kinds[attachments];
        // Two hosts of one server may be joined by NVLink alone, so keep hosts of two servers.
        if (hosts.empty() || (hosts.size() == 1 && !topology.ShareNvLink(hosts.front(), host)))
        {
            hosts.push_back(host);
        }
    }
    std::vector<Representatives> result;
    for (auto& [attachments, hosts] : kinds)
    {
        result.push_back(std::move(hosts));
    }
    return result;
}

} // namespace

PathSurvey::PathSurvey(const FabricRoutes& routes, PathUse use)
    : m_routes(routes),
      m_use(use),
      m_even(FindEven())
{
}

bool
PathSurvey::FindEven() const
{
    const ClusterTopology& topology = m_routes.Topology();
    OneSpeed betweenSwitches;
    OneSpeed betweenNvSwitches;
    for (const auto& link : topology.links)
    {
        const NodeKind kind = topology.kind[link.a];
        OneSpeed& between = kind == NodeKind::NvSwitch ? betweenNvSwitches : betweenSwitches;
        if (kind != NodeKind::Host && topology.Is(link.b, kind) && !between.Admits(link))
        {
            return false;
        }
    }
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        OneSpeed network;
        OneSpeed nvlink;
        for (const auto& port : topology.Ports(topology.NodeOfHost(host)))
        {
            OneSpeed& kind = topology.Is(port.peer, NodeKind::NvSwitch) ? nvlink : network;
            if (!kind.Admits(topology.links[port.link]))
            {
                return false;
            }
        }
    }
    return true;
}

PathSurvey::Walk
PathSurvey::WalkFrom(uint32_t src, uint16_t port, uint32_t dst, const FrameSizes& sizes, bool one)
    const
{
    const ClusterTopology& topology = m_routes.Topology();
    const uint32_t last = topology.NodeOfHost(dst);
    const uint32_t fullWire = sizes.DataWireBytes(sizes.mtuPayload);
    const uint32_t shortestWire = sizes.DataWireBytes(1);
    Walk walk;
    // All paths have the same number of hops, so the walk goes hop by hop over all of them.
    std::vector<Reached> here{{.node = topology.NodeOfHost(src)}};
    std::vector<Reached> next;
    while (!here.empty() && here.front().node != last)
    {
        uint64_t levelBps = 0;
        for (const Reached& from : here)
        {
            std::span<const uint16_t> ports(&port, 1);
            if (!walk.levelBps.empty())
            {
                ports = m_routes.Table(from.node).NextHops(dst);
                ports = one && ports.size() > 1 ? ports.first(1) : ports;
            }
            for (const uint16_t out : ports)
            {
                const ClusterTopology::Port& far = topology.Ports(from.node)[out];
                const ClusterTopology::Link& link = topology.links[far.link];
                levelBps += link.rateBps;
                walk.slowestBps = std::min(walk.slowestBps, link.rateBps);
                const int64_t dataPs = SerializationPs(fullWire, link.rateBps);
                const int64_t ackPs = SerializationPs(sizes.ackWireBytes, link.rateBps);
                const int64_t shortestPs = SerializationPs(shortestWire, link.rateBps);
                Merge(next,
                      {far.peer,
                       std::min(from.widestBps, link.rateBps),
                       AddPs(from.dataPs, AddPs(dataPs, link.delayPs)),
                       AddPs(from.ackPs, AddPs(ackPs, link.delayPs)),
                       AddPs(from.soonestPs, AddPs(shortestPs, link.delayPs)),
                       AddPs(from.fullPs, dataPs)});
            }
        }
        walk.levelBps.push_back(levelBps);
        here.swap(next);
        next.clear();
    }
    if (!here.empty())
    {
        walk.widestBps = here.front().widestBps;
        walk.dataPs = here.front().dataPs;
        walk.ackPs = here.front().ackPs;
        walk.soonestPs = here.front().soonestPs;
        walk.fullPs = here.front().fullPs;
    }
    return walk;
}

PathLimits
PathSurvey::FindLimits(uint32_t src, uint32_t dst, const FrameSizes& sizes) const
{
    const bool one = m_even && m_use != PathUse::All;
    PathLimits limits;
    for (const uint16_t port : m_routes.HostPorts(src, dst))
    {
        const Walk walk = WalkFrom(src, port, dst, sizes, one);
        const uint64_t rateBps =
            m_use == PathUse::All ? *std::ranges::min_element(walk.levelBps) : walk.widestBps;
        limits.rateBps = std::max(limits.rateBps, rateBps);
        limits.rttPs = std::max(limits.rttPs, AddPs(walk.dataPs, walk.ackPs));
        limits.slowestBps =
            limits.slowestBps ? std::min(limits.slowestBps, walk.slowestBps) : walk.slowestBps;
        limits.ackWaitPs = std::max(limits.ackWaitPs, walk.fullPs);
        if (Parts())
        {
            limits.spreadPs = std::max(limits.spreadPs, walk.dataPs - walk.soonestPs);
        }
        if (one)
        {
            break;
        }
    }
    return limits;
}

std::vector<uint64_t>
PathSurvey::FindLevels(uint32_t src, uint32_t dst) const
{
    std::vector<uint64_t> levels;
    for (const uint16_t port : m_routes.HostPorts(src, dst))
    {
        const Walk walk = WalkFrom(src, port, dst, {}, false);
        levels.resize(walk.levelBps.size());
        std::ranges::transform(walk.levelBps, levels, levels.begin(), [](uint64_t a, uint64_t b) {
            return std::max(a, b);
        });
    }
    return levels;
}

FabricExtremes
FindExtremes(const PathSurvey& survey, const FrameSizes& sizes)
{
    const ClusterTopology& topology = survey.GetRoutes().Topology();
    const std::vector<Representatives> kinds = LikeHosts(survey.GetRoutes());
    FabricExtremes extremes;
    for (const Representatives& destinations : kinds)
    {
        const uint32_t dst = destinations.front();
        for (const Representatives& sources : kinds)
        {
            const uint32_t src =
                sources.front() != dst && !topology.ShareNvLink(sources.front(), dst)
                    ? sources.front()
                    : sources.back();
            if (src == dst || topology.ShareNvLink(src, dst))
            {
                continue;
            }
            const PathLimits limits = survey.FindLimits(src, dst, sizes);
            extremes.maxBaseRttPs = std::max(extremes.maxBaseRttPs, limits.rttPs);
            extremes.maxBdpBytes = std::max(extremes.maxBdpBytes, limits.BdpBytes());
            extremes.maxSpreadPs = std::max(extremes.maxSpreadPs, limits.spreadPs);
        }
    }
    return extremes;
}

} // namespace ns3
