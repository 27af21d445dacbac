/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ideal-fct.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace ns3
{

namespace
{

std::pair<uint64_t, int64_t>
SpeedOf(const ClusterTopology::Link& link)
{
    return {link.rateBps, link.delayPs};
}

/// @return least time that some links of all paths take a frame
template <typename Links>
int64_t
LeastPs(const std::vector<PathInfo>& paths, uint32_t wireBytes, const Links& links)
{
    int64_t leastPs = CLOCK_END_PS;
    for (const PathInfo& path : paths)
    {
        int64_t time = 0;
        for (const PathHop& hop : links(std::span<const PathHop>(path.hops)))
        {
            time = AddPs(time, AddPs(SerializationPs(wireBytes, hop.rateBps), hop.delayPs));
        }
        leastPs = std::min(leastPs, time);
    }
    return leastPs;
}

/// @return time of a frame over all links of a path; the least of all paths
int64_t
LeastPs(const std::vector<PathInfo>& paths, uint32_t wireBytes)
{
    return LeastPs(paths, wireBytes, [](auto hops) { return hops; });
}

/**
 * @return least time from the first bit sent to the last bit received of a message whose packets
 * may take different paths. Each packet has to cross a path, and all links at one distance from the
 * source have to carry all packets; a last packet that is shorter than the others may overtake
 * them.
 * @param levelBps rate of the links at each distance
 */
int64_t
PartedDeliveryPs(const std::vector<PathInfo>& paths,
                 const std::vector<uint64_t>& levelBps,
                 uint64_t bytes,
                 const FrameSizes& sizes)
{
    if (bytes == 0)
    {
        return 0;
    }
    const uint64_t full = bytes / sizes.mtuPayload;
    const auto rest = static_cast<uint32_t>(bytes % sizes.mtuPayload);
    const uint32_t fullWire = sizes.DataWireBytes(sizes.mtuPayload);
    const uint32_t lastWire = rest ? sizes.DataWireBytes(rest) : fullWire;
    uint64_t sourceBps = 0;
    for (const PathInfo& path : paths)
    {
        sourceBps = std::max(sourceBps, path.hops.front().rateBps);
    }
    // Frames leave their source one by one, each with its time rounded up.
    const int64_t fullPs = SerializationPs(fullWire, sourceBps);
    const int64_t lastStart = TimesPs(fullPs, rest ? full : full - 1);
    int64_t time = AddPs(lastStart, LeastPs(paths, lastWire));
    if (full > 0)
    {
        time = std::max(time, AddPs(TimesPs(fullPs, full - 1), LeastPs(paths, fullWire)));
    }
    for (std::size_t level = 1; level < levelBps.size(); ++level)
    {
        const auto before = [level](auto hops) { return hops.first(level); };
        const auto after = [level](auto hops) { return hops.subspan(level + 1); };
        int64_t begin = AddPs(lastStart, LeastPs(paths, lastWire, before));
        if (full > 0)
        {
            begin = std::min(begin, LeastPs(paths, fullWire, before));
        }
        int64_t delay = CLOCK_END_PS;
        for (const PathInfo& path : paths)
        {
            delay = std::min(delay, path.hops[level].delayPs);
        }
        const int64_t crossing = SerializationPs(MessageWireBytes(bytes, sizes), levelBps[level]);
        const int64_t end = AddPs(LeastPs(paths, lastWire, after), delay);
        time = std::max(time, AddPs(AddPs(begin, crossing), end));
    }
    return time;
}

/// @return whether the links at all distances are those of one path, so that frames never take
/// different paths
bool
IsOnePath(const std::vector<std::pair<uint64_t, int64_t>>& path,
          const std::vector<uint64_t>& levelBps)
{
    return std::ranges::equal(path, levelBps, [](const auto& link, uint64_t rateBps) {
        return link.first == rateBps;
    });
}

} // namespace

IdealFct::IdealFct(const PathSurvey& survey)
    : m_survey(survey)
{
}

std::vector<IdealFct::Profile>
IdealFct::ProfilesBy(uint32_t node, std::span<const uint16_t> ports, uint32_t dst) const
{
    const ClusterTopology& topology = m_survey.GetRoutes().Topology();
    if (node == topology.NodeOfHost(dst))
    {
        return {{}};
    }
    std::vector<Profile> profiles;
    for (const uint16_t number : ports)
    {
        const ClusterTopology::Port& port = topology.Ports(node)[number];
        const bool arrives = port.peer == topology.NodeOfHost(dst);
        const auto next = arrives ? std::span<const uint16_t>()
                                  : m_survey.GetRoutes().Table(port.peer).NextHops(dst);
        for (Profile& rest : ProfilesBy(port.peer, next, dst))
        {
            rest.insert(rest.begin(), SpeedOf(topology.links[port.link]));
            profiles.push_back(std::move(rest));
        }
    }
    std::ranges::sort(profiles);
    profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
    return profiles;
}

std::vector<IdealFct::Profile>
IdealFct::ProfilesOf(uint32_t src, uint32_t dst) const
{
    const FabricRoutes& routes = m_survey.GetRoutes();
    if (!m_survey.IsEven())
    {
        return ProfilesBy(routes.Topology().NodeOfHost(src), routes.HostPorts(src, dst), dst);
    }
    const PathInfo path = *routes.Path(src, dst); // all paths have the same profile
    Profile profile;
    for (const PathHop& hop : path.hops)
    {
        profile.emplace_back(hop.rateBps, hop.delayPs);
    }
    return {profile};
}

uint32_t
IdealFct::KindOf(uint32_t src, uint32_t dst)
{
    const std::vector<Profile> profiles = ProfilesOf(src, dst);
    std::vector<uint64_t> levelBps;
    if (m_survey.Parts())
    {
        levelBps = m_survey.FindLevels(src, dst);
        if (profiles.size() == 1 && IsOnePath(profiles.front(), levelBps))
        {
            levelBps.clear();
        }
    }
    const auto number = static_cast<uint32_t>(m_kinds.size());
    const auto [known, isNew] = m_numbers.try_emplace({profiles, levelBps}, number);
    if (isNew)
    {
        Kind& kind = m_kinds.emplace_back();
        kind.levelBps = std::move(levelBps);
        for (const Profile& profile : profiles)
        {
            PathInfo& path = kind.paths.emplace_back();
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
IdealFct::Of(uint32_t kind, uint64_t bytes, const FrameSizes& sizes) const
{
    const auto& [paths, levelBps] = m_kinds[kind];
    int64_t there = CLOCK_END_PS;
    int64_t back = CLOCK_END_PS;
    for (const PathInfo& path : paths)
    {
        if (levelBps.empty())
        {
            there = std::min(there, IdleDeliveryPs(path, bytes, sizes));
        }
        back = std::min(back, OneWayPs(path, sizes.ackWireBytes));
    }
    if (!levelBps.empty())
    {
        there = PartedDeliveryPs(paths, levelBps, bytes, sizes);
    }
    return AddPs(there, back);
}

} // namespace ns3
