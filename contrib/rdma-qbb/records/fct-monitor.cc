/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fct-monitor.h"

#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/callback.h"
#include "ns3/qbb-mail.h"
#include "ns3/trace-source.h"

namespace ns3
{

FctMonitor::FctMonitor(RdmaFabric& fabric, const std::string& path)
    : m_fabric(fabric),
      m_writer(fabric.GetTopology(), path)
{
    m_clock.NowPs(); // chooses the clock now, on one thread; several may ask for the time later
    const TraceSource<RdmaHw> source("MessageSent");
    const auto sink = MakeCallback(&FctMonitor::OnMessageSent, this);
    ForEachHost(m_fabric, [&](RdmaHw& host) { source.Connect(host, sink); });
}

FctMonitor::~FctMonitor()
{
    const TraceSource<RdmaHw> source("MessageSent");
    const auto sink = MakeCallback(&FctMonitor::OnMessageSent, this);
    ForEachHost(m_fabric, [&](RdmaHw& host) { source.Disconnect(host, sink); });
}

void
FctMonitor::OnMessageSent(const RdmaQueuePair& qp, const RdmaMessage& message)
{
    if (qp.contribution)
    {
        return;
    }
    FctRecord record{.src = qp.src,
                     .dst = qp.dst,
                     .sport = qp.sport,
                     .dport = qp.dport,
                     .bytes = message.bytes,
                     .startPs = message.startPs,
                     .fctPs = m_clock.NowPs() - message.startPs,
                     .idealPs = 0};
    QbbMail::Note(qp.hw->GetNodeId(), *this, Told{record});
}

void
FctMonitor::Told::operator()(FctMonitor& monitor) const
{
    FctRecord whole = record;
    whole.idealPs = monitor.m_fabric.GetIdealFctPs(record.src, record.dst, record.bytes);
    monitor.m_writer.Write(whole);
}

} // namespace ns3
