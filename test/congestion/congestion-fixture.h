/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONGESTION_FIXTURE_H
#define CONGESTION_FIXTURE_H

#include "ns3/object-factory.h"
#include "ns3/qbb-frame.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-queue-pair.h"

#include <gtest/gtest.h>

namespace ns3
{

/// A queue pair without a host: a sender that always has data, at 100 Gb/s with a base RTT of 10
/// us.
class CongestionTest : public testing::Test
{
  protected:
    static constexpr double LINE_BPS = 100e9;
    static constexpr double BASE_RTT_PS = 10e6;

    CongestionTest()
    {
        m_qp.lineRateBps = static_cast<uint64_t>(LINE_BPS);
        m_qp.baseRttPs = static_cast<int64_t>(BASE_RTT_PS);
        m_qp.mtu = 1000;
        m_qp.endSeq = uint64_t{1} << 40;
        m_qp.SetRate(m_qp.lineRateBps);
    }

    static Ptr<RdmaCongestionOps> Make(const char* type)
    {
        return ObjectFactory(type).Create<RdmaCongestionOps>();
    }

    /// Let the algorithm see a full frame acknowledged at a time.
    void Ack(RdmaCongestionOps& ops,
             int64_t nowPs,
             bool marked = false,
             const QbbTelemetry* telemetry = nullptr,
             uint64_t bytes = 1000)
    {
        m_qp.sndUna += bytes;
        m_qp.SetSndNxt(std::max(m_qp.GetSndNxt(), m_qp.sndUna));
        ops.OnAck(m_qp, {nowPs, m_qp.sndUna, bytes, marked, telemetry, bytes});
    }

    RdmaQueuePair m_qp;
};

} // namespace ns3

#endif /* CONGESTION_FIXTURE_H */
