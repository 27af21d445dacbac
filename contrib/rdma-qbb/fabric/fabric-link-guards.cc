/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-link-guards.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

namespace
{

using NodeKind = ClusterTopology::NodeKind;
using Choices = std::vector<FabricConf::LinkChoice>;

/// @return whether a place names a link of the network
bool
Names(const FabricConf::LinkPlace& place, const ClusterTopology& topology, uint32_t link)
{
    using Class = FabricConf::LinkPlace::Class;
    const auto& [a, b] = std::minmax(topology.links[link].a, topology.links[link].b);
    const bool hasHost = topology.Is(a, NodeKind::Host) || topology.Is(b, NodeKind::Host);
    switch (place.of)
    {
    case Class::Hosts:
        return hasHost;
    case Class::Switches:
        return !hasHost;
    case Class::Between:
        return std::minmax(place.a, place.b) == std::minmax(a, b);
    }
    return false;
}

/// Calls @p apply with each link of the network that a choice names, and the choice's value.
template <typename Apply>
void
ForEachChosen(const Choices& choices,
              const char* key,
              const ClusterTopology& topology,
              const FabricConf& conf,
              const Apply& apply)
{
    for (const FabricConf::LinkChoice& choice : choices)
    {
        for (const FabricConf::LinkPlace& place : choice.places)
        {
            bool found = false;
            for (uint32_t link = 0; link < topology.links.size(); ++link)
            {
                if (!topology.IsNvLink(link) && Names(place, topology, link))
                {
                    apply(link, choice.value);
                    found = true;
                }
            }
            if (!found)
            {
                conf.FailAtLine(choice.line,
                                key,
                                "names " + place.text + ", which no network link of " +
                                    topology.source + " is",
                                "hosts, switches, or the two ends of a link but NVLinks");
            }
        }
    }
}

} // namespace

std::vector<LinkGuards>
GuardsOfLinks(const ClusterTopology& topology, const FabricConf& conf)
{
    const LinkGuards everywhere{AttributeDefault<BooleanValue>("ns3::QbbChannel::LinkRetry"),
                                AttributeDefault<UintegerValue>("ns3::QbbChannel::CreditBytes")};
    std::vector<LinkGuards> guards(topology.links.size());
    for (uint32_t link = 0; link < guards.size(); ++link)
    {
        guards[link] = topology.IsNvLink(link) ? LinkGuards{} : everywhere;
    }
    ForEachChosen(*conf.linkRetryAt,
                  "LINK_RETRY_AT",
                  topology,
                  conf,
                  [&](uint32_t link, uint64_t value) { guards[link].retries = value > 0; });
    ForEachChosen(*conf.linkCreditsAt,
                  "LINK_CREDITS_AT",
                  topology,
                  conf,
                  [&](uint32_t link, uint64_t value) { guards[link].creditBytes = value; });
    return guards;
}

} // namespace ns3
