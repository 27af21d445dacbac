/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-queue-pair.h"

#include "rdma-hw.h"

#include "ns3/clock-range.h"
#include "ns3/shared-log.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

RdmaQueuePair::RdmaQueuePair() = default;

RdmaQueuePair::~RdmaQueuePair() = default;

RdmaQueuePair::RdmaQueuePair(RdmaQueuePair&&) noexcept = default;

RdmaQueuePair& RdmaQueuePair::operator=(RdmaQueuePair&&) noexcept = default;

template <typename T>
T&
RdmaQueuePair::Present(T& state) const
{
    return hw ? hw->Present(state) : state;
}

void
RdmaQueuePair::SetRate(uint64_t rateBps)
{
    const uint64_t rate = std::min(std::max(rateBps, m_minRateBps), lineRateBps);
    if (rate == m_rateBps)
    {
        return;
    }
    const uint64_t before = std::exchange(Present(m_rateBps), rate);
    NS_LOG_LOGIC(Describe() << " changes its rate from " << before << " to " << rate << " bps");
    UpdateGap();
    UpdateEffectiveWindow();
    if (nic)
    {
        nic->OnChange(*this);
    }
    if (hw && hw->IsWatched()) [[unlikely]]
    {
        hw->TraceRate(*this, before);
    }
}

void
RdmaQueuePair::UpdateGap()
{
    if (m_paced && m_lastTxBytes && m_rateBps)
    {
        m_nextAvailPs = AddPs(m_lastTxPs, GapPs(m_lastTxBytes));
    }
}

uint64_t
RdmaQueuePair::GetSndNxt() const
{
    return Present(m_sndNxt);
}

void
RdmaQueuePair::SetSndNxt(uint64_t seq)
{
    Present(m_sndNxt) = seq;
    m_highestSent = std::max(m_highestSent, seq);
}

uint64_t
RdmaQueuePair::GetHighestSent() const
{
    return Present(m_highestSent);
}

uint32_t
RdmaQueuePair::GetLastTxBytes() const
{
    return Present(m_lastTxBytes);
}

uint64_t
RdmaQueuePair::GetInFlight() const
{
    return Present(*this).InFlight();
}

bool
RdmaQueuePair::CanSend() const
{
    return Present(*this).MaySend();
}

void
RdmaQueuePair::SetWindow(uint64_t bytes)
{
    Present(m_windowBytes) = bytes;
    UpdateEffectiveWindow();
    if (nic && !MaySend())
    {
        nic->OnChange(*this);
    }
}

void
RdmaQueuePair::Wake()
{
    Present(*hw).Wake(*this);
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
    const uint64_t before = m_effectiveWindow;
    if (m_variableWindow && lineRateBps && m_windowBytes != 0 && m_windowBytes != NO_WINDOW)
    {
        const double scaled =
            static_cast<double>(m_windowBytes) * m_rateBps / static_cast<double>(lineRateBps);
        m_effectiveWindow = std::max<uint64_t>(static_cast<uint64_t>(scaled), 1);
    }
    else
    {
        m_effectiveWindow = m_windowBytes;
    }
    NS_LOG_LOGIC(Describe() << " has a window of " << m_effectiveWindow << " bytes");
    if (m_effectiveWindow != before && hw && hw->IsWatched()) [[unlikely]]
    {
        hw->TraceWindow(*this, before);
    }
}

std::string
RdmaQueuePair::Describe() const
{
    return std::to_string(src) + "->" + std::to_string(dst) + " " + std::to_string(sport) + ":" +
           std::to_string(dport);
}

} // namespace ns3
