/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cnp-monitor.h"

#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/callback.h"
#include "ns3/simulator.h"
#include "ns3/trace-source.h"

#include <algorithm>

namespace ns3
{

CnpMonitor::CnpMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
    : SamplingMonitor(times, path, "time, src, dst, sport, dport, size, cnp_number, qpn\n"),
      m_fabric(fabric),
      m_endPs(times.endPs),
      m_counts(fabric.GetTopology().hostCount)
{
    const TraceSource<RdmaHw> received("CnpReceived");
    const auto onReceived = MakeCallback(&CnpMonitor::OnCnp, this);
    const TraceSource<RdmaHw> closed("QpClose");
    const auto onClosed = MakeCallback(&CnpMonitor::OnClose, this);
    ForEachHost(m_fabric, [&](RdmaHw& host) {
        received.Connect(host, onReceived);
        closed.Connect(host, onClosed);
    });
}

CnpMonitor::~CnpMonitor()
{
    const TraceSource<RdmaHw> received("CnpReceived");
    const auto onReceived = MakeCallback(&CnpMonitor::OnCnp, this);
    const TraceSource<RdmaHw> closed("QpClose");
    const auto onClosed = MakeCallback(&CnpMonitor::OnClose, this);
    ForEachHost(m_fabric, [&](RdmaHw& host) {
        received.Disconnect(host, onReceived);
        closed.Disconnect(host, onClosed);
    });
}

CnpMonitor::Count*
CnpMonitor::Find(const RdmaQueuePair& qp)
{
    auto& counts = m_counts[qp.src];
    const auto found =
        std::lower_bound(counts.begin(), counts.end(), qp.qpn, [](const Count& c, uint32_t qpn) {
            return c.qpn < qpn;
        });
    return found != counts.end() && found->qpn == qp.qpn ? &*found : nullptr;
}

void
CnpMonitor::OnCnp(const RdmaQueuePair& qp)
{
    Count* count = Find(qp);
    if (!count)
    {
        auto& counts = m_counts[qp.src];
        const auto place =
            std::lower_bound(counts.begin(),
                             counts.end(),
                             qp.qpn,
                             [](const Count& c, uint32_t qpn) { return c.qpn < qpn; });
        count = &*counts.insert(place, Count{qp.qpn, 0, 0});
    }
    ++count->total;
}

void
CnpMonitor::OnClose(const RdmaQueuePair& qp)
{
    Count* count = Find(qp);
    if (!count)
    {
        return;
    }
    const int64_t nowPs = Simulator::Now().GetPicoSeconds();
    if (nowPs <= m_endPs)
    {
        List(qp, *count, nowPs);
    }
    auto& counts = m_counts[qp.src];
    counts.erase(counts.begin() + (count - counts.data()));
}

void
CnpMonitor::List(const RdmaQueuePair& qp, Count& count, int64_t nowPs)
{
    if (count.total == count.listed)
    {
        return;
    }
    count.listed = count.total;
    char room[TextLine::ROOM];
    TextLine line(room);
    line.Decimal(NearestNs(nowPs))
        .Comma()
        .Decimal(m_fabric.GetTopology().NodeOfHost(qp.src))
        .Comma()
        .Decimal(m_fabric.GetTopology().NodeOfHost(qp.dst))
        .Comma()
        .Decimal(qp.sport)
        .Comma()
        .Decimal(qp.dport)
        .Comma()
        .Decimal(qp.endSeq)
        .Comma()
        .Decimal(count.total)
        .Comma()
        .Decimal(count.qpn)
        .End();
    Write(qp.hw->GetNodeId(), line);
}

void
CnpMonitor::Sample(int64_t nowPs, bool first)
{
    for (uint32_t host = 0; host < m_counts.size(); ++host)
    {
        if (m_counts[host].empty())
        {
            continue;
        }
        m_fabric.GetHw(host).ForEachControlled([&](const RdmaQueuePair& qp) {
            if (Count* count = Find(qp))
            {
                List(qp, *count, nowPs);
            }
        });
    }
}

} // namespace ns3
