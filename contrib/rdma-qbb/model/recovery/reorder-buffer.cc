/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reorder-buffer.h"

#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{

/// Reach of a buffer in frames, however short the path.
constexpr uint64_t LEAST_FRAMES = 4096;

} // namespace

ReorderBuffer::ReorderBuffer(RdmaRxQueuePair& rx,
                             uint64_t flightBytes,
                             const RdmaLossRecovery::Reordering& reordering,
                             bool selective)
    : m_rx(rx),
      m_reachBytes(reordering.frames ? uint64_t{reordering.frames} * rx.mtu
                                     : std::max(LEAST_FRAMES * rx.mtu, flightBytes + rx.mtu)),
      m_limitPs(reordering.limitPs),
      m_selective(selective)
{
    if (m_limitPs > 0)
    {
        m_timer =
            std::make_unique<RdmaDeadlineTimer>([this] { OnLimit(); },
                                                rx.hw ? rx.hw->GetNodeId() : Simulator::NO_CONTEXT);
    }
}

std::unique_ptr<ReorderBuffer>
ReorderBuffer::Make(RdmaRxQueuePair& rx,
                    uint64_t flightBytes,
                    const std::optional<RdmaLossRecovery::Reordering>& reordering,
                    bool selective)
{
    return reordering ? std::make_unique<ReorderBuffer>(rx, flightBytes, *reordering, selective)
                      : nullptr;
}

double
ReorderBuffer::FramesAhead(const RdmaQueuePair& qp, uint64_t bdpBytes, int64_t latePs)
{
    const auto roundTripPs = static_cast<double>(std::max<int64_t>(qp.baseRttPs, 1));
    return std::ceil(static_cast<double>(bdpBytes) * static_cast<double>(latePs) / roundTripPs /
                     qp.mtu);
}

bool
ReorderBuffer::Keep(const QbbFrame& frame, int64_t nowPs)
{
    m_port = frame.inPort;
    const uint64_t end = frame.seq + frame.payloadBytes;
    if (end - m_rx.expectedSeq > m_reachBytes)
    {
        return false;
    }
    if (m_timer && m_kept.IsEmpty())
    {
        m_timer->SetDeadline(nowPs + m_limitPs);
    }
    m_kept.Add(frame.seq, end);
    return true;
}

bool
ReorderBuffer::Advance(int64_t nowPs)
{
    if (m_kept.IsEmpty())
    {
        return false;
    }
    const uint64_t before = m_rx.expectedSeq;
    m_rx.expectedSeq = m_kept.FirstMissing(before);
    m_rx.unacknowledged += m_rx.expectedSeq - before;
    m_kept.TrimBelow(m_rx.expectedSeq);
    if (m_timer)
    {
        if (m_kept.IsEmpty())
        {
            m_timer->Stop();
        }
        else
        {
            m_timer->SetDeadline(nowPs + m_limitPs);
        }
    }
    return m_rx.expectedSeq != before;
}

void
ReorderBuffer::NameFirstKept()
{
    m_rx.namedSeq = m_kept.IsEmpty() ? m_rx.expectedSeq : m_kept.LowestBegin();
}

void
ReorderBuffer::OnLimit()
{
    NameFirstKept();
    m_rx.hw->RequestRepair(m_rx, m_port, m_selective);
    m_timer->SetDeadline(Simulator::Now().GetTimeStep() + m_limitPs);
}

} // namespace ns3
