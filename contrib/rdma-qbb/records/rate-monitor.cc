/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rate-monitor.h"

#include "rdma-qbb/fabric/fabric-identity.h"

namespace ns3
{

RateMonitor::RateMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
    : SamplingMonitor(times, path, "time, src, dst, sport, dport, size, curr_rate, qpn\n"),
      m_fabric(fabric)
{
}

void
RateMonitor::Sample(int64_t nowPs, bool first)
{
    const ClusterTopology& topology = m_fabric.GetTopology();
    ForEachHost(m_fabric, [&](RdmaHw& host) {
        char room[TextLine::ROOM];
        TextPiece<40> begin;
        begin = TextLine(room)
                    .Decimal(NearestNs(nowPs))
                    .Comma()
                    .Decimal(topology.NodeOfHost(host.GetHostIndex()))
                    .Comma()
                    .View();
        host.ForEachControlled([&](const RdmaQueuePair& qp) {
            if (qp.sndUna == qp.endSeq)
            {
                return;
            }
            if (m_last.posted != qp.endSeq || m_last.rateBps != qp.GetRate() ||
                m_last.dport != qp.dport)
            {
                Spell(qp);
            }
            char place[TextLine::ROOM];
            TextLine line(place);
            line.Text(begin)
                .Decimal(topology.NodeOfHost(qp.dst))
                .Comma()
                .Decimal(qp.sport)
                .Text(m_last.text)
                .Decimal(qp.qpn)
                .End();
            Write(host.GetNodeId(), line);
        });
    });
}

void
RateMonitor::Spell(const RdmaQueuePair& qp)
{
    char room[TextLine::ROOM];
    m_last.posted = qp.endSeq;
    m_last.rateBps = qp.GetRate();
    m_last.dport = qp.dport;
    m_last.text = TextLine(room)
                      .Comma()
                      .Decimal(qp.dport)
                      .Comma()
                      .Decimal(qp.endSeq)
                      .Comma()
                      .Fixed<6>(static_cast<double>(qp.GetRate()) / 1e9)
                      .Comma()
                      .View();
}

} // namespace ns3
