/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BANDWIDTH_MONITOR_H
#define BANDWIDTH_MONITOR_H

#include "sampling-monitor.h"

#include <string>
#include <vector>

namespace ns3
{

class RdmaFabric;

/**
 * @ingroup rdma-qbb
 * @brief Writes bandwidth.txt: the bytes that each port has sent per sampling interval.
 *
 * `time, node_id, port_id, bandwidth`: nanoseconds at the interval's end, port from 1, Gb/s (10^9)
 * on the wire, preambles and gaps included. A frame being sent counts with the bits that have left.
 * Ports that sent nothing are not listed.
 */
class BandwidthMonitor : public SamplingMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    BandwidthMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times);

  protected:
    void Sample(int64_t nowPs, bool first) override;

  private:
    RdmaFabric& m_fabric;
    std::vector<std::vector<double>> m_lastBits; ///< by node and port: bits sent at the last sample
};

} // namespace ns3

#endif /* BANDWIDTH_MONITOR_H */
