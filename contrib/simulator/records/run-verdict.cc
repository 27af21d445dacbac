/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-verdict.h"

#include "collectives/model/collective/traffic-purpose.h"
#include "rdma-qbb/model/routing/routing-policy-factory.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace AstraSim
{

namespace
{

using ns3::ClusterTopology;
using NodeKind = ClusterTopology::NodeKind;

constexpr double FULL = 0.9;   ///< busy above it: bandwidth bounds the collective
constexpr double SMALL = 0.05; ///< parts below it are not worth a sentence
constexpr const char* NVLINKS = "NVLinks";

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

    /// @return the tier of a switch, from 1 for those that hosts are attached to; 0 for other
    /// nodes
    uint32_t Tier(uint32_t node) const
    {
        return m_layers[node];
    }

    /// @return whether there are switches that no host is attached to
    bool HasSpines() const
    {
        return std::ranges::any_of(m_layers, [](uint32_t layer) { return layer > 1; });
    }

    const char* Class(uint32_t from, uint32_t to) const
    {
        const NodeKind kinds[] = {m_topology.kind[from], m_topology.kind[to]};
        if (kinds[0] == NodeKind::NvSwitch || kinds[1] == NodeKind::NvSwitch)
        {
            return NVLINKS;
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

/// @return the bytes that a link has sent for one purpose
uint64_t
BytesOf(const LinkLoad& load, uint16_t purpose)
{
    uint64_t mine = 0;
    for (const auto& [each, bytes] : load.purposes)
    {
        mine += each == purpose ? bytes : 0;
    }
    return mine;
}

/// @return how long a link was busy with one purpose
double
BusyWith(const LinkLoad& load, uint16_t purpose)
{
    uint64_t all = 0;
    for (const auto& [each, bytes] : load.purposes)
    {
        all += bytes;
    }
    return all ? load.busyNs * static_cast<double>(BytesOf(load, purpose)) /
                     static_cast<double>(all)
               : 0;
}

/// @return how much of a purpose's bytes on the network leaves the switches that hosts are attached
/// to; empty where there are no others, or nothing left its server
std::string
SpineSentence(const Names& names, const std::vector<LinkLoad>& loads, uint16_t purpose)
{
    uint64_t sent = 0;
    uint64_t above = 0;
    for (const LinkLoad& load : loads)
    {
        const uint32_t from = names.Tier(load.node);
        const uint32_t to = names.Tier(load.peer);
        sent += from == 0 && to == 1 ? BytesOf(load, purpose) : 0;
        above += from == 1 && to == 2 ? BytesOf(load, purpose) : 0;
    }
    if (sent == 0 || !names.HasSpines())
    {
        return "";
    }
    return above == 0
               ? " None of its bytes leave the access switches."
               : fmt::format(
                     " {:.0f}% of its network bytes cross spines.",
                     std::min(100.0, 100 * static_cast<double>(above) / static_cast<double>(sent)));
}

/// @return whether NVSwitches can carry out an operation
bool
MayReduce(CollectiveOp op)
{
    return op == CollectiveOp::AllReduce || op == CollectiveOp::AllGather ||
           op == CollectiveOp::ReduceScatter;
}

/// @return a sentence on AS_SEND_LAT's part of a collective of that mean time; empty if it is small
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
                  const Setting& setting) const
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
        const std::string links = names.Class(busiest->node, busiest->peer);
        const char* nvls =
            setting.nvlsOff && links == NVLINKS && MayReduce(activity.op)
                ? " NVLS is off, so the NVSwitches reduce nothing; AS_NVLS_ENABLE=1 turns it on."
                : "";
        lines.emplace_back(
            active,
            fmt::format("{}{} ({} ranks) is {} the {}{}: {} to {} ({:g} Gb/s) sends for {:.0f}% of "
                        "the time.{}{}{}",
                        ToString(activity.op),
                        group,
                        activity.ranks,
                        isFull ? "bounded by the bandwidth of" : "busiest on",
                        links,
                        isFull ? "" : ", which it does not fill",
                        names.Node(busiest->node),
                        names.Node(busiest->peer),
                        static_cast<double>(busiest->rateBps) / 1e9,
                        100 * share,
                        SpineSentence(names, loads, purpose),
                        LatencySentence(setting.sendLatency, mean),
                        nvls));
    }
    std::ranges::stable_sort(lines, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> texts;
    for (auto& [active, line] : lines)
    {
        texts.push_back(std::move(line));
    }
    return texts;
}

} // namespace AstraSim
