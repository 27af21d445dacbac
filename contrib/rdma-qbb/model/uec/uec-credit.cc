/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-credit.h"

#include "ns3/log.h"
#include "ns3/path-timing.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ns3
{

// Hot path: accounts and pacers change with every packet, if receivers grant credits.

NS_LOG_COMPONENT_DEFINE("UecCredit");

// Grants and targets count bytes from the begin of the connection. A target is what has been
// granted, and what is left to be sent less the credit at hand. Data frames carry it, so that a
// receiver knows how much more each sender could use; it grants no more than that. Headers of
// trimmed frames overtake data, and the sender hears of them a round trip later than the receiver.
// So the receiver counts a frame for each of its own, and the sender, for each NACK, one less.

// --- the sender's account

void
UecCreditAccount::Post(uint64_t wireBytes, bool isIdle, int64_t nowPs)
{
    m_backlog += wireBytes;
    if (isIdle)
    {
        m_heardPs = nowPs;
        m_unsolicited = static_cast<int64_t>(m_sizes.unsolicited);
    }
}

bool
UecCreditAccount::Spend(uint32_t wireBytes, bool isRepeated)
{
    if (!isRepeated)
    {
        m_backlog -= std::min<uint64_t>(m_backlog, wireBytes);
    }
    const bool isUnsolicited = m_unsolicited > 0;
    (isUnsolicited ? m_unsolicited : m_credit) -= wireBytes;
    return isUnsolicited;
}

void
UecCreditAccount::Grant(uint64_t granted, int64_t nowPs)
{
    m_patiencePs = 2 * (nowPs - std::exchange(m_heardPs, nowPs));
    if (granted > m_granted)
    {
        m_credit += static_cast<int64_t>(granted - m_granted);
        m_granted = granted;
    }
}

bool
UecCreditAccount::Withdraw()
{
    return std::exchange(m_unsolicited, 0) > 0;
}

bool
UecCreditAccount::IsOverdue(int64_t nowPs)
{
    const int64_t silentPs = nowPs - m_heardPs;
    if (silentPs < m_patiencePs)
    {
        return false;
    }
    m_patiencePs = 2 * silentPs;
    m_heardPs = nowPs;
    return true;
}

int64_t
UecCreditAccount::GetTarget(uint64_t lostFrames) const
{
    const uint64_t left = m_backlog + lostFrames * m_sizes.frame;
    const int64_t need =
        static_cast<int64_t>(std::min(left, m_sizes.mostWanted)) - m_credit - m_unsolicited;
    return static_cast<int64_t>(m_granted) + std::max<int64_t>(need, 0) -
           static_cast<int64_t>(m_trimmed * m_sizes.frame);
}

// --- the receiver's pacer

UecCreditPacer::UecCreditPacer(RdmaHw& hw, uint16_t nic, uint32_t grantFrames, double share)
    : m_hw(hw),
      m_nic(nic),
      m_grantFrames(grantFrames),
      m_share(share),
      m_timer([this] { Grant(Simulator::Now().GetTimeStep()); }, hw.GetNodeId())
{
}

int64_t
UecCreditPacer::TxTimePs(uint64_t wireBytes) const
{
    constexpr uint64_t MOST = std::numeric_limits<uint32_t>::max();
    return m_hw.GetNicPort(m_nic).GetTxTimePs(static_cast<uint32_t>(std::min(wireBytes, MOST)));
}

void
UecCreditPacer::Charge(uint64_t wireBytes, int64_t nowPs)
{
    if (!m_waiting.empty())
    {
        m_nextPs = std::max(m_nextPs, nowPs) + TxTimePs(wireBytes);
        m_timer.SetDeadline(m_nextPs);
    }
}

void
UecCreditPacer::OnUnsolicited(const RdmaRxQueuePair& rx, uint32_t wireBytes, int64_t nowPs)
{
    if (m_waiting.empty())
    {
        m_freeBytes = BdpBytes(m_hw.GetNicPort(m_nic).GetRateBps(), rx.peer.baseRttPs);
    }
    const uint64_t isFree = std::min<uint64_t>(m_freeBytes, wireBytes);
    m_freeBytes -= isFree;
    Charge(wireBytes - isFree, nowPs);
}

void
UecCreditPacer::Reconsider(RdmaRxQueuePair& rx, bool hasMissed, int64_t nowPs)
{
    auto& claim = static_cast<UecClaim&>(*rx.transport);
    if (claim.waits || (claim.GetNeed() == 0 && !hasMissed))
    {
        return;
    }
    claim.waits = true;
    m_waiting.push_back(&rx);
    if (!m_timer.IsRunning())
    {
        m_nextPs = std::max(m_nextPs, nowPs);
        m_timer.SetDeadline(m_nextPs);
    }
}

void
UecCreditPacer::Grant(int64_t nowPs)
{
    if (m_waiting.empty())
    {
        return;
    }
    RdmaRxQueuePair& rx = *m_waiting.front();
    m_waiting.pop_front();
    auto& claim = static_cast<UecClaim&>(*rx.transport);
    const uint64_t most = uint64_t{m_grantFrames} * m_hw.GetDataWireBytes(rx.mtu, false);
    const uint64_t bytes = std::min(most, claim.GetNeed());
    claim.granted += bytes;
    NS_LOG_LOGIC("host " << m_hw.GetHostIndex() << " grants " << bytes << " bytes to host "
                         << rx.peer.host);
    m_hw.SendControl(rx, {.type = CREDIT, .value = claim.granted}, nowPs);
    const auto txPs = static_cast<double>(TxTimePs(std::max<uint64_t>(bytes, 1)));
    const double share = m_rate ? m_share * m_rate->Get(nowPs) : m_share;
    m_nextPs = nowPs + static_cast<int64_t>(txPs / share);
    claim.waits = claim.GetNeed() > 0;
    if (claim.waits)
    {
        m_waiting.push_back(&rx);
    }
    if (!m_waiting.empty())
    {
        m_timer.SetDeadline(m_nextPs);
    }
}

void
UecCreditPacer::Forget(RdmaRxQueuePair& rx)
{
    std::erase(m_waiting, &rx);
}

} // namespace ns3
