/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FCT_MONITOR_H
#define FCT_MONITOR_H

#include "fct-writer.h"

#include "ns3/qbb-call.h"
#include "ns3/qbb-clock.h"

#include <string>

namespace ns3
{

class RdmaFabric;
class RdmaMessage;
class RdmaQueuePair;

/**
 * @ingroup rdma-qbb
 * @brief Writes fct.txt: one line per message when its sender has the last acknowledgement.
 *
 * `sip dip sport dport bytes start_ns fct_ns ideal_ns`, addresses in hexadecimal. The ideal is the
 * base RTT plus the message's bytes with headers at the path's bottleneck rate. Contributions to
 * in-network reductions end at a switch and are not listed.
 */
class FctMonitor : public QbbAddressee
{
  public:
    /// @param fabric must outlive the object @param path file to write
    FctMonitor(RdmaFabric& fabric, const std::string& path);
    ~FctMonitor();

    /// Complete the file. @throw InputError if it cannot be written
    void Finish()
    {
        m_writer.Finish();
    }

  private:
    /// A message has been acknowledged.
    struct Told
    {
        FctRecord record; ///< without its ideal

        void operator()(FctMonitor& monitor) const;
    };

    void OnMessageSent(const RdmaQueuePair& qp, const RdmaMessage& message);

    RdmaFabric& m_fabric;
    QbbClock m_clock;
    FctWriter m_writer;
};

} // namespace ns3

#endif /* FCT_MONITOR_H */
