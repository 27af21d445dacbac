/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-monitor.h"

#include "ns3/callback.h"
#include "ns3/simulator.h"

namespace ns3
{

PfcMonitor::PfcMonitor(RdmaFabric& fabric, const std::string& path)
    : m_fabric(fabric),
      m_file(path)
{
    ForEachPort(m_fabric, [this](uint32_t node, uint16_t, QbbNetDevice& device) {
        device.TraceConnectWithoutContext("Pfc", MakeCallback(&PfcMonitor::OnPfc, this).Bind(node));
    });
}

PfcMonitor::~PfcMonitor()
{
    ForEachPort(m_fabric, [this](uint32_t node, uint16_t, QbbNetDevice& device) {
        device.TraceDisconnectWithoutContext("Pfc",
                                             MakeCallback(&PfcMonitor::OnPfc, this).Bind(node));
    });
}

void
PfcMonitor::OnPfc(uint32_t node, Ptr<const QbbNetDevice> device, uint8_t priority, bool paused)
{
    m_file.Print("%lu %u %u %u %u\n",
                 NearestNs(Simulator::Now().GetPicoSeconds()),
                 node,
                 NodeKindNumber(m_fabric.GetTopology(), node),
                 device->GetPort() + 1U,
                 paused ? 1U : 0U);
}

} // namespace ns3
