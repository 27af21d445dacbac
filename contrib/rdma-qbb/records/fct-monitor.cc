/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fct-writer.h"
#include "file-monitor.h"
#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/callback.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-clock.h"
#include "ns3/qbb-mail.h"
#include "ns3/trace-source.h"

#include <string>

namespace ns3
{

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief Writes fct.txt: one line per message when its sender has the last acknowledgement.
 *
 * `sip dip sport dport bytes start_ns fct_ns ideal_ns`, addresses in hexadecimal. The ideal is the
 * base RTT plus the message's bytes with headers at the path's bottleneck rate. Contributions to
 * in-network reductions end at a switch and are not listed.
 */
class FctMonitor : public QbbAddressee, public FileMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    FctMonitor(RdmaFabric& fabric, const std::string& path)
        : m_fabric(fabric),
          m_writer(fabric.GetTopology(), path)
    {
        m_clock.NowPs(); // chooses the clock now, on one thread; several may ask for the time later
        const TraceSource<RdmaHw> source("MessageSent");
        const auto sink = MakeCallback(&FctMonitor::OnMessageSent, this);
        ForEachHost(m_fabric, [&](RdmaHw& host) { source.Connect(host, sink); });
    }

    ~FctMonitor() override
    {
        const TraceSource<RdmaHw> source("MessageSent");
        const auto sink = MakeCallback(&FctMonitor::OnMessageSent, this);
        ForEachHost(m_fabric, [&](RdmaHw& host) { source.Disconnect(host, sink); });
    }

    void Finish() override
    {
        m_writer.Finish();
    }

  private:
    /// A message has been acknowledged.
    struct Told
    {
        FctRecord record; ///< without its ideal

        void operator()(FctMonitor& monitor) const
        {
            FctRecord whole = record;
            whole.idealPs = monitor.m_fabric.GetIdealFctPs(record.src, record.dst, record.bytes);
            monitor.m_writer.Write(whole);
        }
    };

    void OnMessageSent(const RdmaQueuePair& qp, const RdmaMessage& message)
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

    RdmaFabric& m_fabric;
    QbbClock m_clock;
    FctWriter m_writer;
};

const FileMonitor::Kind FCT("FCT_OUTPUT_FILE",
                            &FabricConf::fctOutputFile,
                            [](const FileMonitor::Site& site) -> std::unique_ptr<FileMonitor> {
                                return std::make_unique<FctMonitor>(site.fabric, site.path());
                            });

} // namespace

} // namespace ns3
