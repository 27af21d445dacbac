/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-qbb/fabric/fabric-identity.h"
#include "sampling-monitor.h"

#include "ns3/callback.h"
#include "ns3/simulator.h"
#include "ns3/trace-source.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief Writes cnp.txt: congestion notifications that reached each queue pair.
 *
 * `time, src, dst, sport, dport, size, cnp_number, qpn`: nanoseconds, node ids, bytes posted so
 * far, notifications since the queue pair was opened, the pair's number at its source. A pair is
 * listed at a sampling time if it had some since the one before, and when it ends.
 */
class CnpMonitor : public SamplingMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    CnpMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
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

    ~CnpMonitor() override
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

  protected:
    void Sample(int64_t nowPs, bool first) override
    {
        for (uint32_t host = 0; host < m_counts.size(); ++host)
        {
            if (m_counts[host].empty())
            {
                continue;
            }
            m_fabric.GetHw(host).GetSender().ForEachControlled([&](const RdmaQueuePair& qp) {
                if (Count* count = Find(qp))
                {
                    List(qp, *count, nowPs);
                }
            });
        }
    }

  private:
    /// Notifications of a queue pair.
    struct Count
    {
        uint32_t qpn{0};
        uint64_t total{0};
        uint64_t listed{0}; ///< total when it was listed last
    };

    void OnCnp(const RdmaQueuePair& qp)
    {
        Count* count = Find(qp);
        if (!count)
        {
            auto& counts = m_counts[qp.src];
            const auto place = std::ranges::lower_bound(counts, qp.qpn, {}, &Count::qpn);
            count = &*counts.insert(place, Count{qp.qpn, 0, 0});
        }
        ++count->total;
    }

    void OnClose(const RdmaQueuePair& qp)
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

    void List(const RdmaQueuePair& qp, Count& count, int64_t nowPs)
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

    Count* Find(const RdmaQueuePair& qp)
    {
        auto& counts = m_counts[qp.src];
        const auto found = std::ranges::lower_bound(counts, qp.qpn, {}, &Count::qpn);
        return found != counts.end() && found->qpn == qp.qpn ? &*found : nullptr;
    }

    RdmaFabric& m_fabric;
    int64_t m_endPs;
    std::vector<std::vector<Count>> m_counts; ///< by host; the few pairs that had notifications
};

const FileMonitor::Kind CNP("CNP_MON_FILE",
                            &FabricConf::cnpMonFile,
                            MakeSampled<CnpMonitor, &FabricConf::qpMonIntervalPs>);

} // namespace

} // namespace ns3
