/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_SENDER_H
#define RDMA_SENDER_H

#include "rdma-message.h"
#include "rdma-pair-table.h"
#include "rdma-queue-pair.h"

#include "ns3/qbb-frame.h"

#include <boost/dynamic_bitset.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace ns3
{

class RdmaHw;

/// Parameters of a connection.
struct RdmaQueuePairConfig
{
    RdmaHw* peer{nullptr};      ///< receiving host
    uint16_t nic{0};            ///< index of the NIC port to send from
    uint16_t sport{0};          ///< UDP source port: decides the path with ECMP
    uint16_t dport{0};          ///< destination port, for records
    uint8_t priority{3};        ///< priority group, 1..7
    bool lossless{false};       ///< NVLink: no congestion control, few acknowledgements
    bool networkFrames{false};  ///< lossless, but with frames of the network's sizes
    uint16_t moreOverhead{0};   ///< bytes that frames on NVLink have besides
    bool closeWhenDone{false};  ///< end when all that was posted is acknowledged
    int64_t baseRttPs{0};       ///< of a full frame and its ACK on an idle path
    uint64_t bdpBytes{0};       ///< bandwidth-delay product of the path; 0 if not known
    uint64_t flightBytes{0};    ///< bytes in flight that fill it while nothing queues; as above
    int64_t spreadPs{0};        ///< most that a frame may be overtaken by on idle paths
    bool droppable{false};      ///< switches may lack room for its frames: no PFC
    int64_t drainPs{0};         ///< in which a full buffer drains into its slowest link
    uint64_t windowBytes{0};    ///< payload bytes in flight; 0 for no window
    bool variableWindow{false}; ///< scale the window by rate / line rate
    bool paced{true};           ///< space frames by the rate
    uint64_t rateCapBps{0};     ///< upper bound of the rate; 0 for the line rate

    static constexpr uint32_t NO_OPERATION = UINT32_MAX;
    uint32_t inNetworkOperation{NO_OPERATION}; ///< sends a contribution to it; peer is null
    uint16_t inNetworkMember{0};               ///< that contributes
};

/**
 * @ingroup rdma-qbb
 * @brief The sending half of a host's RDMA engine: its queue pairs, from messages to frames, and
 * from answers to messages that are done.
 *
 * Part of RdmaHw, whose attributes, plug-ins, NIC ports, counters and trace sources it uses. The
 * other host is known by its answers only.
 */
class RdmaSender
{
  public:
    /// @param hw its host
    explicit RdmaSender(RdmaHw& hw)
        : m_hw(hw)
    {
    }

    /// A connection begins. @return its queue pair, of which nobody has been told
    RdmaQueuePair& Take(const RdmaQueuePairConfig& config);

    /// The other host of a new queue pair is known: it may be used.
    void Open(RdmaQueuePair& qp, const RdmaQueuePairConfig& config);

    /// A connection ends; messages that are not complete are forgotten.
    void Close(RdmaQueuePair& qp);

    /// The host ends.
    void Clear()
    {
        m_pairs.Clear();
    }

    /// Send a queue pair's frames from another NIC port from now on.
    void Move(uint32_t qpn, uint16_t nic);

    /**
     * Post a message.
     * @param bytes its size, 1 or more
     * @param message told how it fares
     * @param startPs time in picoseconds that it has waited since for a path; by default now
     */
    void Post(RdmaQueuePair& qp,
              uint64_t bytes,
              RdmaMessage& message,
              std::optional<int64_t> startPs);

    /// @return the open queue pair that has this number, or null; numbers come again late
    RdmaQueuePair* Find(uint32_t qpn)
    {
        RdmaQueuePair& qp = m_pairs.AtPlaceOf(qpn);
        return qp.qpn == qpn && qp.m_open ? &qp : nullptr;
    }

    /// @return the connections that are open, in the order of their places
    std::vector<const RdmaQueuePair*> GetOpen() const;

    /// Run f(queue pair) for each open connection under congestion control, in the same order.
    template <typename Function>
    void ForEachControlled(Function f) const
    {
        for (std::size_t index = m_controlled.find_first(); index != m_controlled.npos;
             index = m_controlled.find_next(index))
        {
            f(m_pairs[index]);
        }
    }

    /// @return the time for which the retransmission timer of @p qp was set
    int64_t GetTimerLengthPs(const RdmaQueuePair& qp) const;

    /// An ACK, a NACK or a CNP has come. It ends here.
    void OnAnswer(QbbFrame* frame, int64_t nowPs);

    /// Put a pair among those that want to send, or take it away, as it may send now.
    void Reconsider(RdmaQueuePair& qp, int64_t nowPs);

    /// Address a frame to the receiver of the pair.
    static void Address(QbbFrame& frame, const RdmaQueuePair& qp)
    {
        frame.src = qp.src;
        frame.dst = qp.dst;
        frame.qpn = qp.peerQpn;
        frame.hash = qp.hash;
        frame.sport = qp.sport;
        frame.dport = qp.dport;
    }

    // --- for RdmaNic
    /// @return whether the pair has a frame that window and recovery let it send
    bool CanSend(const RdmaQueuePair& qp) const
    {
        return qp.recovery ? RecoveryCanSend(qp) : qp.MaySend();
    }

    /// @return bytes on the wire of the pair's next frame; 0 if it has none, or its recovery
    /// decides
    uint32_t GetNextWireBytes(const RdmaQueuePair& qp) const;

    /// Build the pair's next frame and advance it.
    QbbFrame* BuildFrame(RdmaQueuePair& qp, int64_t nowPs);

  private:
    void Configure(RdmaQueuePair& qp, const RdmaQueuePairConfig& config);
    void ForgetMessages(RdmaQueuePair& qp);

    /// @return bytes on the wire of a data frame of the pair
    uint32_t WireBytesOf(const RdmaQueuePair& qp, uint32_t payloadBytes) const;
    /// CanSend() where the recovery has a say.
    bool RecoveryCanSend(const RdmaQueuePair& qp) const;
    /// Find the message that sndNxt is in.
    void SeekSendMessage(RdmaQueuePair& qp);
    /// Go on to send @p message, which sndNxt is in; null: there is no more.
    static void SetSendMessage(RdmaQueuePair& qp, RdmaMessage* message);
    /// Say which bytes a frame has: from its seq on, to the end of the message at most.
    static void Cut(const RdmaQueuePair& qp, QbbFrame& frame, bool isFirst, uint64_t endSeq);
    /// Cut the frame that follows the ones sent.
    static void CutNext(RdmaQueuePair& qp, QbbFrame& frame);
    /// Cut the frame that the recovery wants to be sent again.
    void CutAgain(RdmaQueuePair& qp, QbbFrame& frame, int64_t nowPs);

    void Acknowledge(RdmaQueuePair& qp, uint64_t seq, int64_t nowPs);
    void CompleteMessages(RdmaQueuePair& qp);

    void OnTimeout(RdmaQueuePair& qp);
    void RestartTimer(RdmaQueuePair& qp, int64_t nowPs);
    int64_t TimeoutPs(const RdmaQueuePair& qp) const;
    /// @return the longest that a frame and its answer may take through full buffers
    int64_t LongestPs(const RdmaQueuePair& qp) const;
    /// @return whether a queue pair that has timed out so often gives up now
    bool GivesUp(const RdmaQueuePair& qp, int64_t nowPs);
    /// A timer has expired: let it run on while frames may wait in a full buffer on the path.
    /// @return whether it does
    bool WaitForQueues(RdmaQueuePair& qp, int64_t nowPs);

    RdmaHw& m_hw;
    RdmaPairTable<RdmaQueuePair> m_pairs;
    std::vector<int64_t> m_drainPs;       ///< by index: RdmaQueuePairConfig::drainPs
    boost::dynamic_bitset<> m_controlled; ///< by index: open, and under congestion control
    /// By number of a queue pair: since when nothing has been acknowledged, with
    /// RdmaHw::GiveUpTime.
    boost::unordered_flat_map<uint32_t, int64_t> m_silentSincePs;
};

} // namespace ns3

#endif /* RDMA_SENDER_H */
