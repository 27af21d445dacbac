/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-qbb/fabric/fabric-identity.h"
#include "sampling-monitor.h"

#include <string>

namespace ns3
{

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief Writes rate.txt: the rate that congestion control allows each queue pair, by time.
 *
 * `time, src, dst, sport, dport, size, curr_rate, qpn`: nanoseconds, node ids, bytes posted so far,
 * Gb/s (10^9), the pair's number at its source. Queue pairs with nothing left to send or to be
 * acknowledged, and those on NVLink, which run no congestion control, are not listed.
 */
class RateMonitor : public SamplingMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    RateMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
        : SamplingMonitor(times, path, "time, src, dst, sport, dport, size, curr_rate, qpn\n"),
          m_fabric(fabric)
    {
    }

  protected:
    void Sample(int64_t nowPs, bool first) override
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
            host.GetSender().ForEachControlled([&](const RdmaQueuePair& qp) {
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

  private:
    /// Middle of a line; many pairs have posted as much and send as fast as the one before.
    struct LastPiece
    {
        uint64_t posted{0};
        uint64_t rateBps{0};
        uint16_t dport{0};
        TextPiece<56> text; ///< ", dport, size, curr_rate, "
    };

    /// Make m_last the middle of a pair's line.
    void Spell(const RdmaQueuePair& qp)
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

    RdmaFabric& m_fabric;
    LastPiece m_last;
};

const FileMonitor::Kind RATE("RATE_MON_FILE",
                             &FabricConf::rateMonFile,
                             MakeSampled<RateMonitor, &FabricConf::qpMonIntervalPs>);

} // namespace

} // namespace ns3
