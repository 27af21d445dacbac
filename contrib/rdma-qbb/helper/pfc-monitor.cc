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
    TextLine line(m_file.Room());
    line.Decimal(NearestNs(Simulator::Now().GetPicoSeconds()))
        .Space()
        .Decimal(node)
        .Space()
        .Decimal(NodeKindNumber(m_fabric.GetTopology(), node))
        .Space()
        .Decimal(device->GetPort() + 1U)
        .Space()
        .Decimal(paused)
        .End();
    m_file.Take(line);
}

} // namespace ns3
