/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-changes.h"

#include <algorithm>
#include <fmt/format.h>

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
    return std::any_of(conf.linkEvents.begin(), conf.linkEvents.end(), [&up](const auto& event) {
        const bool isOfNodes = up.b == LinkEvent::ALL_LINKS || event.b == LinkEvent::ALL_LINKS;
        const bool isOfAll = up.number == 0 || event.number == 0;
        return !event.up && event.timePs <= up.timePs &&
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

} // namespace

std::string
EndsOf(const LinkEvent& event)
{
    return event.b == LinkEvent::ALL_LINKS ? fmt::format("{}", event.a)
           : event.number                  ? fmt::format("{} {} {}", event.a, event.b, event.number)
                                           : fmt::format("{} {}", event.a, event.b);
}

std::string
KeyOf(const LinkEvent& event)
{
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
        change = {event.timePs, LinksOf(event, topology), event.up};
        if (change.links.empty())
        {
            RefuseEvent(event, conf, topology);
        }
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
        if (!isLate && (!event.up || MayHaveFailed(event, conf)))
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
