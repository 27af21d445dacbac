/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-faults.h"

#include "fabric-parts.h"
#include "fabric-paths.h"

#include "ns3/attribute-default.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaFabric");

FabricFaults::FabricFaults(const FabricParts& fabric,
                           FabricPaths& paths,
                           Time updateDelay,
                           std::function<void()> changed)
    : m_fabric(fabric),
      m_paths(paths),
      m_updateDelay(updateDelay),
      m_changed(std::move(changed)),
      m_links(fabric.topology->links.size())
{
}

// --- links

uint32_t
FabricFaults::FindLink(const LinkEvent& event) const
{
    const ClusterTopology& topology = *m_fabric.topology;
    if (event.a < topology.nodeCount && event.b < topology.nodeCount)
    {
        for (const auto& port : topology.Ports(event.a))
        {
            if (port.peer == event.b)
            {
                return port.link;
            }
        }
    }
    m_fabric.conf->FailAtLine(event.line,
                              event.up ? "LINK_UP" : "LINK_DOWN",
                              fmt::format("names {} and {}, which no link joins", event.a, event.b),
                              "the ends of a link of " + topology.source);
}

std::vector<uint32_t>
FabricFaults::FindLinksOfNode(const LinkEvent& event) const
{
    const ClusterTopology& topology = *m_fabric.topology;
    std::vector<uint32_t> links;
    if (event.a < topology.nodeCount)
    {
        for (const auto& port : topology.Ports(event.a))
        {
            links.push_back(port.link);
        }
    }
    if (links.empty())
    {
        m_fabric.conf->FailAtLine(event.line,
                                  event.up ? "NODE_UP" : "NODE_DOWN",
                                  fmt::format("names {}, which no link joins", event.a),
                                  "a node of " + topology.source);
    }
    return links;
}

std::vector<uint32_t>
FabricFaults::FindLinks(const LinkEvent& event) const
{
    if (event.b == LinkEvent::ALL_LINKS)
    {
        return FindLinksOfNode(event);
    }
    // Parallel links between the same nodes fail together, as the event cannot tell them apart.
    std::vector<uint32_t> links;
    const auto& all = m_fabric.topology->links;
    for (uint32_t link = FindLink(event); link < all.size(); ++link)
    {
        const auto& ends = all[link];
        if ((ends.a == event.a && ends.b == event.b) || (ends.a == event.b && ends.b == event.a))
        {
            links.push_back(link);
        }
    }
    return links;
}

void
FabricFaults::ScheduleLinkEvents()
{
    for (const LinkEvent& event : m_fabric.conf->linkEvents)
    {
        for (const uint32_t link : FindLinks(event))
        {
            Simulator::Schedule(PicoSeconds(event.timePs) - Simulator::Now(),
                                &FabricFaults::SetLinkUp,
                                this,
                                link,
                                event.up);
        }
    }
}

void
FabricFaults::SetLinkUp(uint32_t link, bool up)
{
    NS_LOG_INFO("link " << link << " goes " << (up ? "up" : "down"));
    m_links.Set(link, up);
    m_fabric.channels[link]->SetUp(up);
    // Links that change together, as a switch's do, cost one update.
    const Time due = Simulator::Now() + m_updateDelay;
    if (due > m_routesDue)
    {
        m_routesDue = due;
        Simulator::Schedule(m_updateDelay, &FabricFaults::UpdateRoutes, this);
    }
}

void
FabricFaults::UpdateRoutes()
{
    NS_LOG_INFO("routes are worked out again");
    m_paths.Follow(m_links);
    m_changed();
}

// --- NICs

uint8_t
FabricFaults::LosslessMaskAt(uint32_t node) const
{
    const SwitchNode* at = m_fabric.switches[node];
    return at ? at->GetMmu()->GetLosslessMask()
              : static_cast<uint8_t>(
                    AttributeDefault<UintegerValue>("ns3::SwitchMmu::LosslessMask"));
}

void
FabricFaults::PauseNic(uint32_t node, uint16_t port, bool pause) const
{
    const ClusterTopology::Port& at = m_fabric.topology->Ports(node)[port];
    if (m_fabric.topology->IsNvLink(at.link))
    {
        return;
    }
    const uint8_t lossless = LosslessMaskAt(at.peer);
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (uint8_t priority = 1; priority < QbbNetDevice::PRIORITIES; ++priority)
    {
        if (lossless >> priority & 1)
        {
            m_fabric.devices[node][port]->SendPfc(priority, pause, nowPs);
        }
    }
}

void
FabricFaults::PauseNics(bool pause) const
{
    for (uint32_t host = 0; host < m_fabric.topology->hostCount; ++host)
    {
        const uint32_t node = m_fabric.topology->NodeOfHost(host);
        for (uint16_t port = 0; port < m_fabric.devices[node].size() && m_fabric.IsHere(node);
             ++port)
        {
            PauseNic(node, port, pause);
        }
    }
}

void
FabricFaults::ScheduleNicPauses(Time duration)
{
    if (duration.IsZero())
    {
        return;
    }
    Simulator::ScheduleNow([this] { PauseNics(true); });
    Simulator::Schedule(duration, [this] { PauseNics(false); });
}

} // namespace ns3
