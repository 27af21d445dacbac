/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CNP_MONITOR_H
#define CNP_MONITOR_H

#include "sampling-monitor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

class RdmaFabric;
class RdmaQueuePair;

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
    CnpMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times);
    ~CnpMonitor() override;

  protected:
    void Sample(int64_t nowPs, bool first) override;

  private:
    /// Notifications of a queue pair.
    struct Count
    {
        uint32_t qpn{0};
        uint64_t total{0};
        uint64_t listed{0}; ///< total when it was listed last
    };

    void OnCnp(const RdmaQueuePair& qp);
    void OnClose(const RdmaQueuePair& qp);
    void List(const RdmaQueuePair& qp, Count& count, int64_t nowPs);
    Count* Find(const RdmaQueuePair& qp);

    RdmaFabric& m_fabric;
    int64_t m_endPs;
    std::vector<std::vector<Count>> m_counts; ///< by host; the few pairs that had notifications
};

} // namespace ns3

#endif /* CNP_MONITOR_H */
