/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-monitor.h"

#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/callback.h"
#include "ns3/qbb-mail.h"
#include "ns3/simulator.h"
#include "ns3/trace-source.h"

namespace ns3
{

PfcMonitor::PfcMonitor(RdmaFabric& fabric, const std::string& path, bool withPriorities)
    : m_fabric(fabric),
      m_file(path),
      m_withPriorities(withPriorities)
{
    const TraceSource<QbbNetDevice> source("Pfc");
    const auto sink = MakeCallback(&PfcMonitor::OnPfc, this);
    ForEachPort(m_fabric,
                [&](uint32_t, uint16_t, QbbNetDevice& device) { source.Connect(device, sink); });
}

PfcMonitor::~PfcMonitor()
{
    const TraceSource<QbbNetDevice> source("Pfc");
    const auto sink = MakeCallback(&PfcMonitor::OnPfc, this);
    ForEachPort(m_fabric,
                [&](uint32_t, uint16_t, QbbNetDevice& device) { source.Disconnect(device, sink); });
}

void
PfcMonitor::OnPfc(Ptr<const QbbNetDevice> device, uint8_t priority, bool paused)
{
    const uint32_t node = m_fabric.NodeOf(*device);
    QbbMail::Note(device->GetNodeId(), *this, Told{node, device->GetPort(), priority, paused});
}

void
PfcMonitor::Told::operator()(PfcMonitor& monitor) const
{
    TextLine line(monitor.m_file.Room());
    line.Decimal(NearestNs(Simulator::Now().GetPicoSeconds()))
        .Space()
        .Decimal(node)
        .Space()
        .Decimal(NodeKindNumber(monitor.m_fabric.GetTopology(), node))
        .Space()
        .Decimal(port + 1U)
        .Space()
        .Decimal(paused);
    if (monitor.m_withPriorities)
    {
        line.Space().Decimal(priority);
    }
    line.End();
    monitor.m_file.Take(line);
}

} // namespace ns3
