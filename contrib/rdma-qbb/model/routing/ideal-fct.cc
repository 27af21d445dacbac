/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ideal-fct.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <optional>

namespace ns3
{

namespace
{

using NodeKind = ClusterTopology::NodeKind;
using Speed = std::pair<uint64_t, int64_t>;

Speed
SpeedOf(const ClusterTopology::Link& link)
{
    return {link.rateBps, link.delayPs};
}

/// @return whether all links that are asked for have one rate and one delay
class OneSpeed
{
  public:
    bool Admits(const ClusterTopology::Link& link)
    {
        m_speed = m_speed.value_or(SpeedOf(link));
        return *m_speed == SpeedOf(link);
    }

  private:
    std::optional<Speed> m_speed;
};

} // namespace

IdealFct::IdealFct(const FabricRoutes& routes, bool spreads)
    : m_routes(routes),
      m_spreads(spreads),
      m_even(IsEven())
{
}

bool
IdealFct::IsEven() const
{
    const ClusterTopology& topology = m_routes.Topology();
    OneSpeed between; // network switches
    for (const auto& link : topology.links)
    {
        if (topology.Is(link.a, NodeKind::Switch) && topology.Is(link.b, NodeKind::Switch) &&
            !between.Admits(link))
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

std::vector<IdealFct::Profile>
IdealFct::ProfilesBy(uint32_t node, std::span<const uint16_t> ports, uint32_t dst) const
{
    const ClusterTopology& topology = m_routes.Topology();
    if (node == topology.NodeOfHost(dst))
    {
        return {{}};
    }
    std::vector<Profile> profiles;
    for (const uint16_t number : ports)
    {
        const ClusterTopology::Port& port = topology.Ports(node)[number];
        const bool arrives = port.peer == topology.NodeOfHost(dst);
        const auto next = arrives
                              ? std::span<const uint16_t>()
                              : std::span<const uint16_t>(m_routes.Table(port.peer).NextHops(dst));
        for (Profile& rest : ProfilesBy(port.peer, next, dst))
        {
            rest.insert(rest.begin(), SpeedOf(topology.links[port.link]));
            profiles.push_back(std::move(rest));
        }
    }
    std::sort(profiles.begin(), profiles.end());
    profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
    return profiles;
}

uint32_t
IdealFct::KindOf(uint32_t src, uint32_t dst)
{
    std::vector<Profile> profiles;
    if (m_even)
    {
        Profile& profile = profiles.emplace_back();
        const std::optional<PathInfo> path = m_routes.Path(src, dst);
        for (const PathHop& hop : path->hops)
        {
            profile.emplace_back(hop.rateBps, hop.delayPs);
        }
    }
    else
    {
        const std::vector<uint16_t> ports = m_routes.HostPorts(src, dst);
        profiles = ProfilesBy(m_routes.Topology().NodeOfHost(src), ports, dst);
    }
    const auto number = static_cast<uint32_t>(m_kinds.size());
    const auto [known, isNew] = m_numbers.try_emplace(profiles, number);
    if (isNew)
    {
        std::vector<PathInfo>& paths = m_kinds.emplace_back();
        for (const Profile& profile : profiles)
        {
            PathInfo& path = paths.emplace_back();
            for (const auto& [rateBps, delayPs] : profile)
            {
                path.hops.push_back({0, 0, 0, rateBps, delayPs});
                path.delayPs += delayPs;
            }
        }
    }
    return known->second;
}

int64_t
IdealFct::Delivery(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes) const
{
    if (!m_spreads || path.hops.size() < 3 || bytes == 0)
    {
        return IdleDeliveryPs(path, bytes, sizes);
    }
    PathInfo ends;
    ends.hops = {path.hops.front(), path.hops.back()};
    int64_t time = IdleDeliveryPs(ends, bytes, sizes);
    const uint64_t rest = bytes % sizes.mtuPayload;
    const uint32_t last =
        sizes.DataWireBytes(rest ? static_cast<uint32_t>(rest) : sizes.mtuPayload);
    for (std::size_t i = 1; i + 1 < path.hops.size(); ++i)
    {
        time = AddPs(time, SerializationPs(last, path.hops[i].rateBps));
        time = AddPs(time, path.hops[i].delayPs);
    }
    return time;
}

int64_t
IdealFct::Of(uint32_t kind, uint64_t bytes, const FrameSizes& sizes) const
{
    int64_t there = CLOCK_END_PS;
    int64_t back = CLOCK_END_PS;
    for (const PathInfo& path : m_kinds[kind])
    {
        there = std::min(there, Delivery(path, bytes, sizes));
        back = std::min(back, OneWayPs(path, sizes.ackWireBytes));
    }
    return AddPs(there, back);
}

} // namespace ns3
