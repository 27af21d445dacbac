/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QLEN_MONITOR_H
#define QLEN_MONITOR_H

#include "sampling-monitor.h"

#include <string>

namespace ns3
{

class RdmaFabric;

/**
 * @ingroup rdma-qbb
 * @brief Writes queue.txt: the queues of switches at sampling times.
 *
 * `time, sw_id, port_id, q_id, q_len, port_len`: nanoseconds, port from 1, bytes on the wire that
 * wait in the queue and in all queues of its port. Empty queues are not listed.
 */
class QlenMonitor : public SamplingMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    QlenMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times);

  protected:
    void Sample(int64_t nowPs, bool first) override;

  private:
    RdmaFabric& m_fabric;
};

} // namespace ns3

#endif /* QLEN_MONITOR_H */
