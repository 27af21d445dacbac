/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "path-timing.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace ns3
{

namespace
{

__extension__ using Wide = unsigned __int128;

constexpr Wide PS_BITS_PER_BYTE = 8'000'000'000'000;

using NodeKind = ClusterTopology::NodeKind;

/// What a frame and its acknowledgement pay to cross a link there and back.
int64_t
RoundTripPs(const ClusterTopology::Link& link, const FrameSizes& sizes)
{
    return 2 * link.delayPs + SerializationPs(sizes.DataWireBytes(sizes.mtuPayload), link.rateBps) +
           SerializationPs(sizes.ackWireBytes, link.rateBps);
}

/// The worst and the widest of the shortest paths from a place to a destination.
struct Reach
{
    int64_t rttPs{-1}; ///< -1: no path
    uint64_t rateBps{0};

    void Extend(const Reach& rest, int64_t rtt, uint64_t rate)
    {
        if (rest.rttPs >= 0)
        {
            rttPs = std::max(rttPs, rest.rttPs + rtt);
            rateBps = std::max(rateBps, std::min(rest.rateBps, rate));
        }
    }
};

/// Hosts of one group whose links have the same rates and delays: one, and another if there is one.
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
        std::sort(attachments.begin(), attachments.end());
        Representatives& hosts = kinds[attachments];
        // Two hosts of one server may be joined by NVLink alone, so keep hosts of two servers.
        if (hosts.empty() || (hosts.size() == 1 && !topology.ShareNvSwitch(hosts.front(), host)))
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

/// @return for each node that is a network switch, the worst and widest path to the host
std::vector<Reach>
SwitchReach(const FabricRoutes& routes, uint32_t dst, const FrameSizes& sizes)
{
    const ClusterTopology& topology = routes.Topology();
    std::vector<std::pair<uint16_t, uint32_t>> byDistance;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        if (topology.Is(node, NodeKind::Switch) &&
            routes.Distance(node, dst) != FabricRoutes::UNREACHABLE)
        {
            byDistance.emplace_back(routes.Distance(node, dst), node);
        }
    }
    std::sort(byDistance.begin(), byDistance.end());
    std::vector<Reach> reach(topology.nodeCount);
    reach[topology.NodeOfHost(dst)] = {0, UINT64_MAX};
    for (const auto& [distance, node] : byDistance)
    {
        for (uint16_t p : routes.Table(node).NextHops(dst))
        {
            const auto& port = topology.Ports(node)[p];
            const auto& link = topology.links[port.link];
            reach[node].Extend(reach[port.peer], RoundTripPs(link, sizes), link.rateBps);
        }
    }
    return reach;
}

} // namespace

int64_t
SerializationPs(uint64_t wireBytes, uint64_t rateBps)
{
    const Wide time = (wireBytes * PS_BITS_PER_BYTE + rateBps - 1) / rateBps;
    return time < static_cast<Wide>(CLOCK_END_PS) ? static_cast<int64_t>(time) : CLOCK_END_PS;
}

int64_t
OneWayPs(const PathInfo& path, uint32_t wireBytes)
{
    int64_t time = path.delayPs;
    for (const PathHop& hop : path.hops)
    {
        time = AddPs(time, SerializationPs(wireBytes, hop.rateBps));
    }
    return time;
}

int64_t
BaseRttPs(const PathInfo& path, const FrameSizes& sizes)
{
    return OneWayPs(path, sizes.DataWireBytes(sizes.mtuPayload)) +
           OneWayPs(path, sizes.ackWireBytes);
}

uint64_t
BdpBytes(uint64_t bottleneckBps, int64_t rttPs)
{
    return static_cast<uint64_t>(Wide{bottleneckBps} * static_cast<uint64_t>(rttPs) /
                                 PS_BITS_PER_BYTE);
}

uint64_t
MessageWireBytes(uint64_t bytes, const FrameSizes& sizes)
{
    const uint64_t full = bytes / sizes.mtuPayload;
    const uint32_t rest = bytes % sizes.mtuPayload;
    return full * sizes.DataWireBytes(sizes.mtuPayload) + (rest ? sizes.DataWireBytes(rest) : 0);
}

int64_t
IdleDeliveryPs(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes, int64_t framePeriodPs)
{
    const uint64_t frames = (bytes + sizes.mtuPayload - 1) / sizes.mtuPayload;
    if (frames == 0)
    {
        return 0;
    }
    const uint32_t lastPayload = bytes - (frames - 1) * sizes.mtuPayload;
    const uint32_t fullWire = sizes.DataWireBytes(sizes.mtuPayload);
    const uint32_t lastWire = sizes.DataWireBytes(lastPayload);

    // Equal frames leave a row of links one slowest link's time apart; the last frame, which may be
    // shorter, catches up with the one before it and then waits for it at each link.
    int64_t firstFull = 0;           // the first full frame's last bit, at the far end of the link
    int64_t slowest = framePeriodPs; // between full frames on the link
    int64_t beforeLast = 0;          // when the link has sent the frame before the last
    // The last frame's last bit, at the far end of the link.
    int64_t last = TimesPs(framePeriodPs, frames - 1);
    for (const PathHop& hop : path.hops)
    {
        const int64_t full = SerializationPs(fullWire, hop.rateBps);
        slowest = std::max(slowest, full);
        beforeLast = frames > 1 ? AddPs(AddPs(firstFull, full), TimesPs(slowest, frames - 2)) : 0;
        firstFull = AddPs(firstFull, AddPs(full, hop.delayPs));
        last = AddPs(std::max(last, beforeLast),
                     AddPs(SerializationPs(lastWire, hop.rateBps), hop.delayPs));
    }
    return last;
}

int64_t
IdleFctPs(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes)
{
    return AddPs(IdleDeliveryPs(path, bytes, sizes), OneWayPs(path, sizes.ackWireBytes));
}

FabricExtremes
FindExtremes(const FabricRoutes& routes, const FrameSizes& sizes)
{
    const ClusterTopology& topology = routes.Topology();
    const std::vector<Representatives> kinds = LikeHosts(routes);
    FabricExtremes extremes;
    for (const Representatives& destinations : kinds)
    {
        const uint32_t dst = destinations.front();
        const std::vector<Reach> reach = SwitchReach(routes, dst, sizes);
        for (const Representatives& sources : kinds)
        {
            const uint32_t src =
                sources.front() != dst && !topology.ShareNvSwitch(sources.front(), dst)
                    ? sources.front()
                    : sources.back();
            if (src == dst || topology.ShareNvSwitch(src, dst))
            {
                continue;
            }
            Reach pair;
            for (uint16_t p : routes.HostPorts(src, dst))
            {
                const auto& port = topology.Ports(topology.NodeOfHost(src))[p];
                const auto& link = topology.links[port.link];
                pair.Extend(reach[port.peer], RoundTripPs(link, sizes), link.rateBps);
            }
            if (pair.rttPs >= 0)
            {
                extremes.maxBaseRttPs = std::max(extremes.maxBaseRttPs, pair.rttPs);
                extremes.maxBdpBytes =
                    std::max(extremes.maxBdpBytes, BdpBytes(pair.rateBps, pair.rttPs));
            }
        }
    }
    return extremes;
}

} // namespace ns3
