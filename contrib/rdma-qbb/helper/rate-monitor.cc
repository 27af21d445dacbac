/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rate-monitor.h"

namespace ns3
{

RateMonitor::RateMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
    : SamplingMonitor(times),
      m_fabric(fabric),
      m_file(path)
{
    m_file.Print("time, src, dst, sport, dport, size, curr_rate\n");
}

void
RateMonitor::Sample(int64_t nowPs, bool first)
{
    const ClusterTopology& topology = m_fabric.GetTopology();
    ForEachHost(m_fabric, [&](RdmaHw& host) {
        for (const RdmaQueuePair* qp : host.GetOpenQueuePairs())
        {
            if (qp->lossless || qp->contribution || qp->sndUna == qp->endSeq)
            {
                continue;
            }
            TextLine line(m_file.Room());
            line.Decimal(NearestNs(nowPs))
                .Comma()
                .Decimal(topology.NodeOfHost(qp->src))
                .Comma()
                .Decimal(topology.NodeOfHost(qp->dst))
                .Comma()
                .Decimal(qp->sport)
                .Comma()
                .Decimal(qp->dport)
                .Comma()
                .Decimal(qp->endSeq)
                .Comma()
                .Fixed6(static_cast<double>(qp->GetRate()) / 1e9)
                .End();
            m_file.Take(line);
        }
    });
}

} // namespace ns3
