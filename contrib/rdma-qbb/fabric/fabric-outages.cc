/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-outages.h"

#include "fabric-parts.h"

#include "ns3/callback.h"
#include "ns3/qbb-processes.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

FabricOutages::FabricOutages(const FabricParts& fabric, int64_t updateDelayPs)
    : m_fabric(fabric),
      m_updateDelayPs(updateDelayPs)
{
}

void
FabricOutages::Start()
{
    m_outages = FindOutages(*m_fabric.conf, *m_fabric.topology);
    if (m_outages.empty())
    {
        return;
    }
    m_open.resize(m_fabric.topology->links.size());
    m_waits.assign(m_fabric.drivers.size(), std::vector<LinkOutage::Losses>(m_outages.size()));
    for (const RdmaDriver* driver : m_fabric.drivers)
    {
        driver->GetHw().TraceConnectWithoutContext("Timeout",
                                                   MakeCallback(&FabricOutages::OnTimeout, this));
    }
}

uint64_t
FabricOutages::CountLost(uint32_t link) const
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    uint64_t lost = 0;
    for (const uint32_t node : {m_fabric.topology->links[link].a, m_fabric.topology->links[link].b})
    {
        for (const QbbNetDevice* device : m_fabric.devices[node])
        {
            if (m_fabric.topology->Ports(node)[device->GetPort()].link == link)
            {
                const QbbPortCounters counters = device->GetCounters(nowPs);
                lost += counters.lostFrames; // in the process that has them
                lost += m_fabric.IsHere(node) ? counters.flushedFrames : 0;
            }
        }
    }
    return lost;
}

void
FabricOutages::OnChange(uint32_t link, bool up)
{
    if (m_outages.empty() || m_open[link].is != up)
    {
        return;
    }
    Open& open = m_open[link];
    if (up)
    {
        open.is = false;
        m_outages[open.outage].losses.drops += CountLost(link) - open.lostBefore;
        return;
    }
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const auto begun = std::ranges::find_if(m_outages, [&](const LinkOutage& outage) {
        return outage.fromPs == nowPs &&
               std::ranges::find(outage.links, link) != outage.links.end();
    });
    if (begun != m_outages.end()) // else a program cuts the link
    {
        open = {true, static_cast<std::size_t>(begun - m_outages.begin()), CountLost(link)};
    }
}

void
FabricOutages::OnTimeout(const RdmaQueuePair& qp)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const int64_t begunPs = nowPs - qp.hw->GetSender().GetTimerLengthPs(qp);
    for (std::size_t i = 0; i < m_outages.size() && m_outages[i].fromPs < nowPs; ++i)
    {
        const int64_t backPs = m_outages[i].PathBackPs(qp.src, qp.dst, m_updateDelayPs);
        if (begunPs < backPs && backPs < nowPs)
        {
            LinkOutage::Losses& waits = m_waits[qp.src][i];
            ++waits.timeouts;
            waits.timerPs = std::max(waits.timerPs, nowPs - backPs);
        }
    }
}

std::vector<LinkOutage>
FabricOutages::GetSoFar() const
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    std::vector<LinkOutage> outages;
    for (std::size_t i = 0; i < m_outages.size() && m_outages[i].fromPs <= nowPs; ++i)
    {
        LinkOutage::Losses here = m_outages[i].losses;
        for (const uint32_t link : m_outages[i].links)
        {
            const Open& open = m_open[link];
            here.drops += open.is && open.outage == i ? CountLost(link) - open.lostBefore : 0;
        }
        for (const auto& ofHost : m_waits)
        {
            here.timeouts += ofHost[i].timeouts;
            here.timerPs = std::max(here.timerPs, ofHost[i].timerPs);
        }
        LinkOutage& outage = outages.emplace_back(m_outages[i]);
        outage.losses = {};
        for (const LinkOutage::Losses& each : ValueOfAllProcesses(here))
        {
            outage.losses.drops += each.drops;
            outage.losses.timeouts += each.timeouts;
            outage.losses.timerPs = std::max(outage.losses.timerPs, each.timerPs);
        }
    }
    return outages;
}

} // namespace ns3
