/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RATE_MONITOR_H
#define RATE_MONITOR_H

#include "sampling-monitor.h"

#include <string>

namespace ns3
{

class RdmaFabric;
class RdmaQueuePair;

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
    RateMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times);

  protected:
    void Sample(int64_t nowPs, bool first) override;

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
    void Spell(const RdmaQueuePair& qp);

    RdmaFabric& m_fabric;
    LastPiece m_last;
};

} // namespace ns3

#endif /* RATE_MONITOR_H */
