/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-queue-pair.h"

#include "rdma-nic.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

RdmaQueuePair::RdmaQueuePair() = default;

RdmaQueuePair::~RdmaQueuePair() = default;

RdmaQueuePair::RdmaQueuePair(RdmaQueuePair&&) noexcept = default;

RdmaQueuePair& RdmaQueuePair::operator=(RdmaQueuePair&&) noexcept = default;

void
RdmaQueuePair::SetRate(uint64_t rateBps)
{
    const uint64_t rate = std::min(std::max(rateBps, m_minRateBps), lineRateBps);
    if (rate == m_rateBps)
    {
        return;
    }
    Settle();
    m_rateBps = rate;
    if (m_paced && lastTxBytes && rate)
    {
        nextAvailPs = lastTxPs + GapPs(lastTxBytes);
    }
    UpdateEffectiveWindow();
    if (nic)
    {
        nic->OnChange(*this);
    }
}

void
RdmaQueuePair::Settle()
{
    if (nic && nic->IsPending())
    {
        nic->SettleBefore(Simulator::Now().GetTimeStep());
    }
}

void
RdmaQueuePair::SetWindow(uint64_t bytes)
{
    Settle();
    m_windowBytes = bytes;
    UpdateEffectiveWindow();
    if (nic && !CanSend())
    {
        nic->OnChange(*this);
    }
}

void
RdmaQueuePair::SetVariableWindow(bool variable)
{
    m_variableWindow = variable;
    UpdateEffectiveWindow();
}

void
RdmaQueuePair::UpdateEffectiveWindow()
{
    if (m_windowBytes == 0)
    {
        m_effectiveWindow = UINT64_MAX;
    }
    else if (m_variableWindow && lineRateBps)
    {
        const double scaled =
            static_cast<double>(m_windowBytes) * m_rateBps / static_cast<double>(lineRateBps);
        m_effectiveWindow = std::max<uint64_t>(static_cast<uint64_t>(scaled), 1);
    }
    else
    {
        m_effectiveWindow = m_windowBytes;
    }
}

std::string
RdmaQueuePair::Describe() const
{
    return std::to_string(src) + "->" + std::to_string(dst) + " " + std::to_string(sport) + ":" +
           std::to_string(dport);
}

} // namespace ns3
