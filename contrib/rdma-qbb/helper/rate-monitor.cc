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
            m_file.Print("%lu, %u, %u, %u, %u, %lu, %.6f\n",
                         NearestNs(nowPs),
                         topology.NodeOfHost(qp->src),
                         topology.NodeOfHost(qp->dst),
                         qp->sport,
                         qp->dport,
                         qp->endSeq,
                         static_cast<double>(qp->GetRate()) / 1e9);
        }
    });
}

} // namespace ns3
