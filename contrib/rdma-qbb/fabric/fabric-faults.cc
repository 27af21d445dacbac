/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-faults.h"

#include "fabric-parts.h"
#include "fabric-paths.h"

#include "ns3/attribute-default.h"
#include "ns3/link-changes.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

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
      m_links(fabric.topology->links.size()),
      m_outages(fabric, updateDelay.GetTimeStep())
{
}

// --- links

void
FabricFaults::ScheduleLinkEvents()
{
    m_outages.Start();
    for (const LinkChange& change : FindLinkChanges(*m_fabric.conf, *m_fabric.topology))
    {
        for (const uint32_t link : change.links)
        {
            const Time after = PicoSeconds(change.timePs) - Simulator::Now();
            change.rateBps
                ? Simulator::Schedule(after, &FabricFaults::SetRate, this, link, change.rateBps)
                : Simulator::Schedule(after, &FabricFaults::SetLinkUp, this, link, change.up);
        }
    }
}

void
FabricFaults::SetLinkUp(uint32_t link, bool up)
{
    NS_LOG_INFO("link " << link << " goes " << (up ? "up" : "down"));
    m_links.Set(link, up);
    m_outages.OnChange(link, up);
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
FabricFaults::SetRate(uint32_t link, uint64_t rateBps)
{
    NS_LOG_INFO("link " << link << " gets " << rateBps << " bps");
    m_fabric.channels[link]->SetRate(rateBps);
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
    return at ? at->GetMmu()->GetLimits().GetLosslessMask()
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
