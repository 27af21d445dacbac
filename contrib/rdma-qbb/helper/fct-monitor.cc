/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fct-monitor.h"

#include "text-line.h"

#include "ns3/callback.h"
#include "ns3/simulator.h"

namespace ns3
{

FctMonitor::FctMonitor(RdmaFabric& fabric, const std::string& path)
    : m_fabric(fabric),
      m_file(path)
{
    ForEachHost(m_fabric, [this](RdmaHw& host) {
        host.TraceConnectWithoutContext("MessageSent",
                                        MakeCallback(&FctMonitor::OnMessageSent, this));
    });
}

FctMonitor::~FctMonitor()
{
    ForEachHost(m_fabric, [this](RdmaHw& host) {
        host.TraceDisconnectWithoutContext("MessageSent",
                                           MakeCallback(&FctMonitor::OnMessageSent, this));
    });
}

void
FctMonitor::OnMessageSent(const RdmaQueuePair& qp, const RdmaMessage& message)
{
    if (qp.contribution)
    {
        return;
    }
    const int64_t nowPs = Simulator::Now().GetPicoSeconds();
    const int64_t idealPs = m_fabric.GetIdealFctPs(qp.src, qp.dst, message.bytes);
    TextLine line;
    line.Hex8(HostAddress(m_fabric.GetTopology(), qp.src))
        .Space()
        .Hex8(HostAddress(m_fabric.GetTopology(), qp.dst))
        .Space()
        .Decimal(qp.sport)
        .Space()
        .Decimal(qp.dport)
        .Space()
        .Decimal(message.bytes)
        .Space()
        .Decimal(NearestNs(message.startPs))
        .Space()
        .Decimal(NearestNs(nowPs - message.startPs))
        .Space()
        .Decimal(NearestNs(idealPs))
        .End();
    m_file.Write(line.View());
}

} // namespace ns3
