/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-changes.h"

#include "ns3/units.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace ns3
{

namespace
{

std::vector<uint32_t>
LinksOf(const LinkEvent& event, const ClusterTopology& topology)
{
    if (event.a >= topology.nodeCount)
    {
        return {};
    }
    if (event.b != LinkEvent::ALL_LINKS)
    {
        std::vector<uint32_t> links = event.b < topology.nodeCount
                                          ? topology.LinksBetween(event.a, event.b)
                                          : std::vector<uint32_t>();
        if (event.number == 0)
        {
            return links;
        }
        return event.number <= links.size() ? std::vector{links[event.number - 1]}
                                            : std::vector<uint32_t>();
    }
    std::vector<uint32_t> links;
    for (const ClusterTopology::Port& port : topology.Ports(event.a))
    {
        links.push_back(port.link);
    }
    return links;
}

/// @return whether a link that comes up may have been down: it, or a node, failed before
bool
MayHaveFailed(const LinkEvent& up, const FabricConf& conf)
{
    return std::ranges::any_of(conf.linkEvents, [&up](const auto& event) {
        const bool isOfNodes = up.b == LinkEvent::ALL_LINKS || event.b == LinkEvent::ALL_LINKS;
        const bool isOfAll = up.number == 0 || event.number == 0;
        return event.IsOfState() && !event.up && event.timePs <= up.timePs &&
               (isOfNodes || std::minmax(event.a, event.b) == std::minmax(up.a, up.b)) &&
               (isOfNodes || isOfAll || event.number == up.number);
    });
}

/// @throw InputError that an event names no link
[[noreturn]] void
RefuseEvent(const LinkEvent& event, const FabricConf& conf, const ClusterTopology& topology)
{
    const bool ofNode = event.b == LinkEvent::ALL_LINKS;
    LinkEvent bundle = event;
    bundle.number = 0;
    const std::size_t links = LinksOf(bundle, topology).size();
    if (links > 0)
    {
        conf.FailAtLine(event.line,
                        KeyOf(event),
                        fmt::format("names link {} of {} and {}, which {} join{}",
                                    event.number,
                                    event.a,
                                    event.b,
                                    links,
                                    links == 1 ? "s" : ""),
                        fmt::format("1 to {}, or no number for all", links));
    }
    conf.FailAtLine(event.line,
                    KeyOf(event),
                    ofNode ? fmt::format("names {}, which no link joins", event.a)
                           : fmt::format("names {} and {}, which no link joins", event.a, event.b),
                    (ofNode ? "a node of " : "the ends of a link of ") + topology.source);
}

/// @throw InputError for a rate above that of the topology, from which buffers and windows follow
void
RefuseFasterThanBuilt(const LinkEvent& event,
                      const LinkChange& change,
                      const FabricConf& conf,
                      const ClusterTopology& topology)
{
    for (const uint32_t link : change.links)
    {
        const uint64_t builtBps = topology.links[link].rateBps;
        if (event.rateBps > builtBps)
        {
            conf.FailAtLine(
                event.line,
                KeyOf(event),
                fmt::format("gives {} and {} {}", event.a, event.b, FormatDataRate(event.rateBps)),
                "at most " + FormatDataRate(builtBps) + ", as in " + topology.source);
        }
    }
}

/// Follows the changes of a configuration, in the order of their times.
class OutageFinder
{
  public:
    explicit OutageFinder(const ClusterTopology& topology)
        : m_topology(topology),
          m_outageOf(topology.links.size(), NONE)
    {
    }

    void Change(const LinkEvent& event, const std::vector<uint32_t>& links)
    {
        if (!event.IsOfState())
        {
            return;
        }
        event.up ? End(event, links) : Begin(event, links);
    }

    /// Note the hosts that the open outages cut off, once all changes of a moment have come.
    void NoteCutOff()
    {
        for (const std::size_t open : m_outageOf)
        {
            if (open != NONE)
            {
                NoteCutOff(m_outages[open]);
            }
        }
    }

    std::vector<LinkOutage> Take()
    {
        std::ranges::stable_sort(m_outages, {}, &LinkOutage::fromPs);
        return std::move(m_outages);
    }

  private:
    static constexpr std::size_t NONE = std::numeric_limits<std::size_t>::max();

    void Begin(const LinkEvent& event, const std::vector<uint32_t>& links)
    {
        LinkOutage outage{EndsOf(event), event.b == LinkEvent::ALL_LINKS, {}, event.timePs};
        for (const uint32_t link : links)
        {
            if (m_outageOf[link] == NONE)
            {
                m_outageOf[link] = m_outages.size();
                outage.links.push_back(link);
                outage.isNvLink = outage.isNvLink || m_topology.IsNvLink(link);
            }
        }
        if (!outage.links.empty())
        {
            m_outages.push_back(std::move(outage));
        }
    }

    void End(const LinkEvent& event, const std::vector<uint32_t>& links)
    {
        std::map<std::size_t, std::vector<uint32_t>> ending;
        for (const uint32_t link : links)
        {
            if (m_outageOf[link] != NONE)
            {
                ending[m_outageOf[link]].push_back(link);
                m_outageOf[link] = NONE;
            }
        }
        for (auto& [number, ended] : ending)
        {
            LinkOutage& whole = m_outages[number];
            if (ended.size() == whole.links.size())
            {
                whole.toPs = event.timePs;
                continue;
            }
            LinkOutage part = whole;
            std::erase_if(whole.links, [&ended](uint32_t link) {
                return std::ranges::find(ended, link) != ended.end();
            });
            part.ends = EndsOf(event);
            part.isOfNode = event.b == LinkEvent::ALL_LINKS;
            part.links = std::move(ended);
            part.toPs = event.timePs;
            m_outages.push_back(std::move(part));
        }
    }

    void NoteCutOff(LinkOutage& outage) const
    {
        for (const uint32_t link : outage.links)
        {
            for (const uint32_t node : {m_topology.links[link].a, m_topology.links[link].b})
            {
                if (!m_topology.Is(node, ClusterTopology::NodeKind::Host) || IsJoined(node))
                {
                    continue;
                }
                const uint32_t host = m_topology.HostIndexOf(node);
                const auto place = std::ranges::lower_bound(outage.cutOff, host);
                if (place == outage.cutOff.end() || *place != host)
                {
                    outage.cutOff.insert(place, host);
                }
            }
        }
    }

    /// @return whether a host has a link to the network that is up
    bool IsJoined(uint32_t node) const
    {
        return std::ranges::any_of(m_topology.Ports(node), [this](const auto& port) {
            return m_outageOf[port.link] == NONE && !m_topology.IsNvLink(port.link);
        });
    }

    const ClusterTopology& m_topology;
    std::vector<std::size_t> m_outageOf; ///< by link; NONE: it is up
    std::vector<LinkOutage> m_outages;
};

std::string
InMicros(int64_t ps)
{
    return fmt::format("{:.12g}", static_cast<double>(ps) / 1e6);
}

} // namespace

int64_t
LinkOutage::PathBackPs(uint32_t src, uint32_t dst, int64_t updateDelayPs) const
{
    const bool isCut =
        std::ranges::binary_search(cutOff, src) || std::ranges::binary_search(cutOff, dst);
    if (!isCut)
    {
        return std::min(toPs, fromPs + updateDelayPs);
    }
    const bool routesChanged = toPs != FOR_GOOD && toPs - fromPs > updateDelayPs;
    return routesChanged ? toPs + updateDelayPs : toPs;
}

std::vector<LinkOutage>
FindOutages(const FabricConf& conf, const ClusterTopology& topology)
{
    const std::vector<LinkChange> changes = FindLinkChanges(conf, topology);
    std::vector<std::size_t> order(changes.size());
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        order[i] = i;
    }
    std::ranges::stable_sort(order, {}, [&changes](std::size_t i) { return changes[i].timePs; });
    OutageFinder finder(topology);
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        finder.Change(conf.linkEvents[order[i]], changes[order[i]].links);
        if (i + 1 == order.size() || changes[order[i + 1]].timePs > changes[order[i]].timePs)
        {
            finder.NoteCutOff();
        }
    }
    return finder.Take();
}

std::string
DescribeOutage(const LinkOutage& outage, bool knowsPackets)
{
    std::string line = outage.isOfNode
                           ? fmt::format("node {} ({} links)", outage.ends, outage.links.size())
                           : fmt::format("link {}", outage.ends);
    line += outage.toPs == LinkOutage::FOR_GOOD
                ? fmt::format(" was down from {} us on", InMicros(outage.fromPs))
                : fmt::format(" was down from {} to {} us",
                              InMicros(outage.fromPs),
                              InMicros(outage.toPs));
    if (!knowsPackets)
    {
        return line + "; flows lose nothing and wait for no retransmission timer";
    }
    line += fmt::format(" and lost {} frames", outage.losses.drops);
    if (outage.losses.timeouts > 0)
    {
        line += fmt::format("; retransmission timers still ran then ({}), the last for {:.1f} us",
                            outage.losses.timeouts,
                            static_cast<double>(outage.losses.timerPs) / 1e6);
    }
    return line;
}

std::string
EndsOf(const LinkEvent& event)
{
    std::string text = fmt::format("{}", event.a);
    text += event.b == LinkEvent::ALL_LINKS ? "" : fmt::format(" {}", event.b);
    text += event.IsOfState() ? "" : " " + FormatDataRate(event.rateBps);
    return text + (event.number ? fmt::format(" {}", event.number) : "");
}

std::string
KeyOf(const LinkEvent& event)
{
    if (!event.IsOfState())
    {
        return "LINK_RATE";
    }
    return std::string(event.b == LinkEvent::ALL_LINKS ? "NODE" : "LINK") +
           (event.up ? "_UP" : "_DOWN");
}

std::vector<LinkChange>
FindLinkChanges(const FabricConf& conf, const ClusterTopology& topology)
{
    std::vector<LinkChange> changes;
    for (const LinkEvent& event : conf.linkEvents)
    {
        LinkChange& change = changes.emplace_back();
        change = {event.timePs, LinksOf(event, topology), event.up, event.rateBps};
        if (change.links.empty())
        {
            RefuseEvent(event, conf, topology);
        }
        RefuseFasterThanBuilt(event, change, conf, topology);
    }
    return changes;
}

std::vector<std::string>
DescribeIdleChanges(const FabricConf& conf, int64_t endPs)
{
    std::vector<std::string> lines;
    for (const LinkEvent& event : conf.linkEvents)
    {
        const bool isLate = event.timePs > endPs;
        if (!isLate && (!event.IsOfState() || !event.up || MayHaveFailed(event, conf)))
        {
            continue;
        }
        const std::string why = isLate ? fmt::format("never fell due: the run ended at {:.12g} us",
                                                     static_cast<double>(endPs) / 1e6)
                                       : "changed nothing, as nothing had failed there";
        lines.push_back(fmt::format("{} of {} at {:.12g} us {}",
                                    KeyOf(event),
                                    EndsOf(event),
                                    static_cast<double>(event.timePs) / 1e6,
                                    why));
    }
    return lines;
}

} // namespace ns3
