/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_DELIVERY_H
#define UEC_DELIVERY_H

#include "packet-set.h"
#include "uec-credit.h"
#include "uec-entropy.h"

#include "ns3/nstime.h"
#include "ns3/rdma-loss-recovery.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The sender's record of its packets, from the first that has not been acknowledged on.
 *
 * Packets are numbered as they are first sent; sent again, they keep their numbers.
 */
class UecSender : public RdmaRecoveryState
{
  public:
    /// Knowledge about a packet.
    enum class Fate : uint8_t
    {
        InFlight,
        Arrived,
        Lost, ///< and not yet sent again
    };

    struct Packet
    {
        uint64_t seq; ///< its first byte
        int64_t sentPs;
        uint16_t bytes;
        uint16_t entropy;
        Fate fate;
    };

    /// Take in a packet that is sent for the first time.
    void Append(uint64_t seq, uint16_t bytes, int64_t nowPs);

    /// Forget the packets before a byte. @return bytes of those that had not been known to arrive
    uint64_t ForgetBelow(uint64_t seq);

    /// Note as arrived a packet and those of the 63 before it that @p bits names.
    /// @return bytes that this is the first news of
    uint64_t NoteArrived(uint64_t number, uint64_t bits);

    /// @return the first byte of the first packet that has not arrived; 0 if nothing was sent
    uint64_t GetArrivedUpTo() const;

    /// Note as lost a packet in flight, if it was sent at that time. @return whether it was
    bool NoteLost(uint64_t number, int64_t sentPs);

    /// Send a lost packet again, of which there is one. @return it
    const Packet& TakeLost(int64_t nowPs);

    /// @return the packet that was sent last
    Packet& GetCurrent()
    {
        return At(m_current);
    }

    uint64_t GetCurrentNumber() const
    {
        return m_current;
    }

    uint64_t GetFirst() const
    {
        return m_first;
    }

    uint64_t GetEnd() const
    {
        return m_end;
    }

    /// @return a packet between GetFirst() and GetEnd()
    Packet& At(uint64_t number)
    {
        return m_ring[number & (m_ring.size() - 1)];
    }

    /// @return payload bytes in flight
    uint64_t GetInFlight() const
    {
        return m_inFlight;
    }

    /// @return payload bytes of the packets that have arrived or are lost
    uint64_t GetResolved() const
    {
        return m_resolved;
    }

    bool HasLost() const
    {
        return m_lostPackets > 0;
    }

    /// @return packets that are lost and not yet sent again
    uint64_t GetLostPackets() const
    {
        return m_lostPackets;
    }

    /// @return whether the receiver's credits, if there are such, let a packet go
    bool HasCredit() const
    {
        return !credit || credit->MaySend();
    }

    std::unique_ptr<UecEntropy> entropy;      ///< the transport's
    std::unique_ptr<UecCreditAccount> credit; ///< the transport's; null: the receiver grants none
    uint64_t newlyArrived{0};                 ///< bytes since the last answer

  private:
    void Grow();

    std::vector<Packet> m_ring; ///< a power of two of places
    uint64_t m_first{0};
    uint64_t m_end{0};
    uint64_t m_current{0};
    uint64_t m_inFlight{0};
    uint64_t m_resolved{0};
    uint64_t m_lostPackets{0};
    uint64_t m_lowestLost{0}; ///< no packet before it is lost
};

/// @brief The receiver's record: which packets have come, and how long those out of order are.
class UecReceiver : public RdmaRecoveryState
{
  public:
    /// From now on, answers tell of one packet each (RUDI). This record then serves nobody but the
    /// simulator, which tells when a message is complete.
    void SetStateless()
    {
        m_isStateless = true;
    }

    bool IsStateless() const
    {
        return m_isStateless;
    }

    /// @return whether a packet has come
    bool Has(uint64_t number) const
    {
        return m_packets.Contains(number);
    }

    /// Keep a packet that is not the one expected.
    void Keep(uint64_t number, uint16_t bytes);

    /// The packet expected has come. @return bytes of the packets behind it that are passed, too
    uint64_t Advance();

    /// @return the selective acknowledgement of a packet and the 63 before it
    uint64_t GetBitmap(uint64_t number) const
    {
        return m_isStateless ? uint64_t{1} << 63 : m_packets.Last64(number);
    }

  private:
    bool m_isStateless{false};
    PacketSet m_packets;
    std::vector<uint16_t> m_bytes; ///< ring of a power of two of places
};

/**
 * @ingroup rdma-qbb
 * @brief Reliable unordered delivery (RUD) of Ultra Ethernet 1.0: packets are written to memory as
 * they come, acknowledgements name each one, and exactly the lost ones are sent again.
 *
 * A packet counts as lost if a switch has trimmed it, of which a NACK tells at once, or if the
 * timeout finds it unanswered. Packets out of order are no sign of a loss. Retransmissions go
 * before new data, within the window.
 *
 * A message is complete when all its packets and all messages posted before it on its connection
 * have arrived. Connections on NVLink keep order and lose nothing; they have no records.
 *
 * For idempotent operations (RUDI), the receiver has no state: it answers every packet by itself,
 * places one that comes twice twice, and cannot tell of packets whose answers were lost. The
 * initiator's record alone says what has arrived, and it sends again all that it has no answer to.
 *
 * Belongs to UecTransport, which numbers the packets and writes acknowledgements.
 */
class UecDelivery : public RdmaLossRecovery
{
  public:
    static TypeId GetTypeId();

    void OnReceiverInit(RdmaRxQueuePair& rx) override;
    Verdict OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override;
    Verdict OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override;
    void OnInOrder(RdmaRxQueuePair& rx, int64_t nowPs) override;
    void OnQpInit(RdmaQueuePair& qp, uint64_t flightBytes) override;
    void OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t nowPs) override;
    void OnAck(RdmaQueuePair& qp, int64_t nowPs) override;
    uint64_t OnAnswer(RdmaQueuePair& qp,
                      const QbbFrame& answer,
                      uint64_t newlyAcked,
                      int64_t nowPs) override;
    void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) override;
    bool HasRetransmission(const RdmaQueuePair& qp) const override;
    uint64_t NextRetransmission(RdmaQueuePair& qp, int64_t nowPs) override;
    int64_t GetTimeoutPs(const RdmaQueuePair& qp) const override;
    bool AllowsForQueues(const RdmaQueuePair& qp) const override;
    uint64_t GetResolved(const RdmaQueuePair& qp) const override;
    uint64_t GetFlightLimit(const RdmaQueuePair& qp) const override;

  private:
    Time m_timeout;
};

} // namespace ns3

#endif /* UEC_DELIVERY_H */
