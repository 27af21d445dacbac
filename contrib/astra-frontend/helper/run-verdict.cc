/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-verdict.h"

#include "ns3/routing-policy-factory.h"
#include "ns3/traffic-purpose.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace AstraSim
{

namespace
{

using ns3::ClusterTopology;
using NodeKind = ClusterTopology::NodeKind;

constexpr double FULL = 0.9;   ///< busy above it: bandwidth is what counts
constexpr double SMALL = 0.05; ///< parts below it are not worth a sentence

/// Names nodes and classes of links as clustersim.results does.
class Names
{
  public:
    explicit Names(const ClusterTopology& topology)
        : m_topology(topology),
          m_layers(ns3::SwitchLayers(topology)),
          m_hosts(topology.nodeCount)
    {
        for (uint32_t host = 0; host < topology.hostCount; ++host)
        {
            m_hosts[topology.NodeOfHost(host)] = host;
        }
    }

    std::string Node(uint32_t node) const
    {
        switch (m_topology.kind[node])
        {
        case NodeKind::Host:
            return fmt::format("GPU {}", m_hosts[node]);
        case NodeKind::NvSwitch:
            return fmt::format("NVSwitch {}", node);
        default:
            return fmt::format("switch {}", node);
        }
    }

    const char* Class(uint32_t from, uint32_t to) const
    {
        const NodeKind kinds[] = {m_topology.kind[from], m_topology.kind[to]};
        if (kinds[0] == NodeKind::NvSwitch || kinds[1] == NodeKind::NvSwitch)
        {
            return "NVLinks";
        }
        if (kinds[0] == NodeKind::Host)
        {
            return kinds[1] == NodeKind::Host ? "links between GPUs"
                                              : "links from GPUs to switches";
        }
        if (kinds[1] == NodeKind::Host)
        {
            return "links from switches to GPUs";
        }
        return m_layers[from] < m_layers[to]   ? "uplinks of switches"
               : m_layers[from] > m_layers[to] ? "downlinks of switches"
                                               : "links between switches";
    }

  private:
    const ClusterTopology& m_topology;
    std::vector<uint32_t> m_layers;
    std::vector<uint32_t> m_hosts;
};

/// @return how long a link was busy with one purpose
double
BusyWith(const LinkLoad& load, uint16_t purpose)
{
    uint64_t mine = 0;
    uint64_t all = 0;
    for (const auto& [each, bytes] : load.purposes)
    {
        all += bytes;
        mine += each == purpose ? bytes : 0;
    }
    return all ? load.busyNs * static_cast<double>(mine) / static_cast<double>(all) : 0;
}

/// @return what AS_SEND_LAT is to a collective of that mean time; empty if that is little
std::string
LatencySentence(TimePs latency, double mean)
{
    if (static_cast<double>(latency) <= SMALL * mean)
    {
        return "";
    }
    return fmt::format(" Each message first waits for AS_SEND_LAT ({:g} us); a collective takes "
                       "{:.3g} times that.",
                       static_cast<double>(latency) / 1e6,
                       mean / static_cast<double>(latency));
}

} // namespace

std::vector<LinkLoad>
LinkLoadsOf(const ClusterTopology& topology,
            const ns3::LinkCountersOf& counters,
            const ns3::LinkUse& use)
{
    std::vector<LinkLoad> loads;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const auto ports = topology.Ports(node);
        for (uint16_t port = 0; port < ports.size(); ++port)
        {
            const ns3::LinkUse::Port& used = use.Of(node, port);
            if (used.bytes > 0)
            {
                const ns3::LinkCounters done = counters(node, port);
                loads.push_back({node, ports[port].peer, done.rateBps, done.busyNs, used.purposes});
            }
        }
    }
    return loads;
}

void
RunVerdict::CollectiveEnded(const CollectiveRecord& record)
{
    Activity& activity = m_activities[TrafficPurpose(record.op, record.group->kind)];
    activity.op = record.op;
    activity.kind = record.group->kind;
    activity.ranks = std::max(activity.ranks, record.group->ranks.size());
    ++activity.count;
    activity.total += record.end - record.lastStart;
    std::pair<TimePs, TimePs> time{record.lastStart, record.end};
    auto& times = activity.times;
    while (!times.empty() && times.back().second >= time.first)
    {
        time.first = std::min(time.first, times.back().first);
        time.second = std::max(time.second, times.back().second);
        times.pop_back();
    }
    times.push_back(time);
}

std::vector<std::string>
RunVerdict::Lines(const ClusterTopology& topology,
                  const std::vector<LinkLoad>& loads,
                  TimePs sendLatency) const
{
    const Names names(topology);
    std::vector<std::pair<TimePs, std::string>> lines;
    for (const auto& [purpose, activity] : m_activities)
    {
        const LinkLoad* busiest = nullptr;
        double busyNs = 0;
        for (const LinkLoad& load : loads)
        {
            const double each = BusyWith(load, purpose);
            if (each > busyNs)
            {
                busiest = &load;
                busyNs = each;
            }
        }
        const auto active = std::accumulate(
            activity.times.begin(),
            activity.times.end(),
            TimePs{0},
            [](TimePs sum, const auto& time) { return sum + time.second - time.first; });
        if (!busiest || active == 0)
        {
            continue;
        }
        const double share = std::min(1.0, busyNs * 1000 / static_cast<double>(active));
        const double mean =
            static_cast<double>(activity.total) / static_cast<double>(activity.count);
        const bool isFull = share >= FULL;
        const std::string group =
            activity.kind == GroupKind::Custom ? "" : std::string(" ") + ToString(activity.kind);
        lines.emplace_back(
            active,
            fmt::format("{}{} ({} ranks) is {} the {}{}: {} to {} ({:g} Gb/s) sends for {:.0f}% of "
                        "the time.{}",
                        ToString(activity.op),
                        group,
                        activity.ranks,
                        isFull ? "bounded by the bandwidth of" : "busiest on",
                        names.Class(busiest->node, busiest->peer),
                        isFull ? "" : ", which it does not fill",
                        names.Node(busiest->node),
                        names.Node(busiest->peer),
                        static_cast<double>(busiest->rateBps) / 1e9,
                        100 * share,
                        LatencySentence(sendLatency, mean)));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
        return a.first > b.first;
    });
    std::vector<std::string> texts;
    for (auto& [active, line] : lines)
    {
        texts.push_back(std::move(line));
    }
    return texts;
}

} // namespace AstraSim
