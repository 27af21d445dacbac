/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_RECEIVER_H
#define RDMA_RECEIVER_H

#include "rdma-pair-table.h"
#include "rdma-rx-queue-pair.h"

#include "ns3/qbb-frame.h"
#include "ns3/rdma-loss-recovery.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

namespace ns3
{

class LinkPort;
class RdmaHw;

/**
 * @ingroup rdma-qbb
 * @brief The receiving half of a host's RDMA engine: from data frames to answers, and to messages
 * that are delivered.
 *
 * Part of RdmaHw, whose attributes, plug-ins, NIC ports, counters and trace sources it uses. The
 * sender is known by its frames and by connection set-up only.
 */
class RdmaReceiver
{
  public:
    /// @param hw its host
    explicit RdmaReceiver(RdmaHw& hw)
        : m_hw(hw)
    {
    }

    /// Another host sets up a connection to this one: the receiving side. @return facts for it
    RdmaAcceptance Accept(const RdmaPeer& peer);

    /// Another host ends a connection to this one. @param qpn of the receiving side
    void Disconnect(uint32_t qpn);

    /// The host ends.
    void Clear()
    {
        m_pairs.Clear();
    }

    // --- senders of other servers in a run with partitions, which name connections by their own
    // numbers
    /// As Accept(). @return number of the receiving side
    uint32_t AcceptFromAfar(const RdmaPeer& peer);
    /// As Disconnect().
    void DisconnectFromAfar(uint32_t host, uint32_t qpn);
    /// Such a sender has posted a message.
    void ExpectFromAfar(uint32_t host, uint32_t qpn, const RdmaExpectedMessage& message);

    /// @return the open connection that a frame is for, or null
    RdmaRxQueuePair* Find(const QbbFrame& frame)
    {
        return frame.flags & QBB_FLAG_FROM_AFAR ? FindFromAfar(frame.src, frame.qpn)
                                                : Find(frame.qpn);
    }

    /// Run f(receiving side) for each open connection.
    template <typename Function>
    void ForEachOpen(Function f) const
    {
        for (std::size_t index = 0; index < m_pairs.Size(); ++index)
        {
            if (m_pairs[index].messages)
            {
                f(m_pairs[index]);
            }
        }
    }

    /// A data frame has come. It ends here, or becomes the answer.
    void OnData(uint16_t port, QbbFrame* frame, int64_t nowPs);

    /// Make a frame from receiver to sender that answers no frame.
    QbbFrame* MakeAnswer(LinkPort& port, const RdmaRxQueuePair& rx, QbbFrameKind kind);

    /// As RdmaHw::RequestRepair().
    void RequestRepair(RdmaRxQueuePair& rx, uint16_t port, bool selective);

    /// An answer leaves the host: it gets back the priority that it had waited without.
    static void RestorePriority(QbbFrame& answer);

  private:
    RdmaRxQueuePair* Find(uint32_t qpn)
    {
        RdmaRxQueuePair& rx = m_pairs.AtPlaceOf(qpn);
        return rx.qpn == qpn && rx.messages ? &rx : nullptr;
    }

    RdmaRxQueuePair* FindFromAfar(uint32_t host, uint32_t qpn);
    RdmaRxQueuePair& Take();

    /// A data frame that is not the one expected next.
    void OnUnexpected(uint16_t port,
                      RdmaRxQueuePair& rx,
                      QbbFrame* frame,
                      bool mark,
                      int64_t nowPs);
    /// A data frame without its payload.
    void OnTrimmed(uint16_t port, RdmaRxQueuePair& rx, QbbFrame* frame, bool mark, int64_t nowPs);
    /// Answer @p frame, which becomes the answer.
    /// @param naming 0, or which QbbAnswerFlags say that it names the frame at rx.namedSeq
    void Answer(uint16_t port,
                RdmaRxQueuePair& rx,
                QbbFrame* frame,
                QbbFrameKind kind,
                bool mark,
                uint8_t naming,
                int64_t nowPs);
    /// The same, as the loss recovery wants it. @param naming of a NACK
    void Answer(uint16_t port,
                RdmaRxQueuePair& rx,
                QbbFrame* frame,
                RdmaLossRecovery::Verdict verdict,
                bool mark,
                uint8_t naming,
                int64_t nowPs);
    /// Give an answer that has its data's priority the one that it waits in at this host.
    void Prioritize(QbbFrame& answer) const;
    void SendCnp(uint16_t port, RdmaRxQueuePair& rx, int64_t nowPs);
    void Deliver(RdmaRxQueuePair& rx);

    RdmaHw& m_hw;
    RdmaPairTable<RdmaRxQueuePair> m_pairs;
    boost::unordered_flat_map<uint64_t, uint32_t> m_fromAfar; ///< numbers by host and its number
};

} // namespace ns3

#endif /* RDMA_RECEIVER_H */
