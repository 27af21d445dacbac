/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_CREDIT_H
#define UEC_CREDIT_H

#include "uec-credit-rate.h"

#include "ns3/rdma-deadline-timer.h"
#include "ns3/rdma-transport.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace ns3
{

class RdmaHw;
class RdmaQueuePair;
struct RdmaRxQueuePair;

/// Sizes of receiver credits, in bytes on the wire.
struct UecCreditSizes
{
    uint64_t unsolicited{0}; ///< that a sender may send before the first credit
    uint64_t mostWanted{0};  ///< that it asks for at a time
    uint64_t frame{0};       ///< of a full frame
};

/**
 * @ingroup rdma-qbb
 * @brief A sender's account of its receiver's credits, in bytes on the wire.
 *
 * A frame may go while any credit is left, so the account may fall below 0 by less than a frame. At
 * the begin of a connection, and of a message after silence, there is unsolicited credit, which
 * ends with the first answer. Both ends count grants from the begin of the connection, so that a
 * grant that is lost is part of the next one.
 */
class UecCreditAccount
{
  public:
    explicit UecCreditAccount(const UecCreditSizes& sizes)
        : m_sizes(sizes)
    {
    }

    bool MaySend() const
    {
        return m_unsolicited > 0 || m_credit > 0;
    }

    /// A message of so many bytes on the wire is to be sent. @param isIdle nothing else is
    void Post(uint64_t wireBytes, bool isIdle, int64_t nowPs);

    /// A frame is sent. @return whether on unsolicited credit
    bool Spend(uint32_t wireBytes, bool isRepeated);

    /// The receiver has granted this much up to now.
    void Grant(uint64_t granted, int64_t nowPs);

    /// An answer has come: the receiver knows of the connection.
    /// @return whether this ends unsolicited credit
    bool Withdraw();

    /// Ask the receiver, in case that a grant was lost. @return whether it is time to: not before
    /// twice the time between the two latest grants, and twice as late each time
    bool IsOverdue(int64_t nowPs);

    /// A NACK of a trimmed frame has come, for which the receiver makes its own account.
    void NoteTrimmed()
    {
        ++m_trimmed;
    }

    /// @return what the receiver should have granted for all that is to be sent, but for a frame
    /// for each that was trimmed; below 0 if that is all
    /// @param lostFrames of these, those to be sent again
    int64_t GetTarget(uint64_t lostFrames) const;

  private:
    UecCreditSizes m_sizes;
    int64_t m_unsolicited{0};
    int64_t m_credit{0};
    uint64_t m_granted{0};
    uint64_t m_backlog{0};   ///< posted and never sent
    uint64_t m_trimmed{0};   ///< frames
    int64_t m_heardPs{0};    ///< time of the latest grant, or of asking for it
    int64_t m_patiencePs{0}; ///< how long the next one may take
};

/// A connection's side of UecCreditPacer.
struct UecClaim : public RdmaTransportState
{
    int64_t target{0};   ///< the largest that UecCreditAccount::GetTarget() has come to
    uint64_t trimmed{0}; ///< bytes of full frames for those that came without their payload
    uint64_t granted{0}; ///< up to now
    bool waits{false};   ///< is in turn for a grant

    /// @return bytes that the sender could use beside those granted
    uint64_t GetNeed() const
    {
        const int64_t need = target + static_cast<int64_t>(trimmed) - static_cast<int64_t>(granted);
        return need > 0 ? static_cast<uint64_t>(need) : 0;
    }
};

/**
 * @ingroup rdma-qbb
 * @brief Grants credits to the senders of one NIC port, in turn, at the rate of its link.
 *
 * All else that comes by the link takes its time from the grants: answers, headers of trimmed
 * packets, and unsolicited data beyond one round trip's worth. So the data granted and all else
 * come to the rate of the link, and the queue that unsolicited data of many senders leaves drains.
 * Where the fabric is oversubscribed, a UecCreditRate makes the grants rarer.
 */
class UecCreditPacer
{
  public:
    static constexpr uint16_t CREDIT = 1;  ///< RdmaControl::type; value: granted up to now
    static constexpr uint16_t REQUEST = 2; ///< the same; value: the target

    /// @param grantFrames full frames of a grant
    /// @param share of the link's rate
    UecCreditPacer(RdmaHw& hw, uint16_t nic, uint32_t grantFrames, double share);

    /// From now on the rate follows the congestion of the fabric.
    void Adapt(const UecCreditRate& rate)
    {
        m_rate = rate;
    }

    /// A data frame has come, with its payload or without.
    void OnFrame(const QbbFrame& frame, int64_t nowPs)
    {
        if (m_rate)
        {
            m_rate->OnFrame(frame, nowPs);
        }
    }

    /// The link has carried something else.
    void Charge(uint64_t wireBytes, int64_t nowPs);

    /// A sender's claim has changed. @param hasMissed whether it may have missed the latest grant
    void Reconsider(RdmaRxQueuePair& rx, bool hasMissed, int64_t nowPs);

    /// An unsolicited frame has come.
    void OnUnsolicited(const RdmaRxQueuePair& rx, uint32_t wireBytes, int64_t nowPs);

    /// The connection ends.
    void Forget(RdmaRxQueuePair& rx);

  private:
    /// Grant to the sender whose turn it is.
    void Grant(int64_t nowPs);

    int64_t TxTimePs(uint64_t wireBytes) const;

    RdmaHw& m_hw;
    uint16_t m_nic;
    uint32_t m_grantFrames;
    double m_share;
    std::optional<UecCreditRate> m_rate; ///< part of that share; none: all of it
    std::deque<RdmaRxQueuePair*> m_waiting;
    int64_t m_nextPs{0};     ///< no grant before
    uint64_t m_freeBytes{0}; ///< unsolicited bytes that take no time from grants
    RdmaDeadlineTimer m_timer;
};

} // namespace ns3

#endif /* UEC_CREDIT_H */
