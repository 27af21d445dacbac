/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_QUEUE_PAIR_H
#define RDMA_QUEUE_PAIR_H

#include "rdma-message.h"

#include "ns3/fetch-lines.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-deadline-timer.h"
#include "ns3/rdma-loss-recovery.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ns3
{

class RdmaHw;
class RdmaMessageWire;
class RdmaNic;

/**
 * @ingroup rdma-qbb
 * @brief Sender side of an RDMA connection: a stream of bytes cut into messages.
 *
 * Sequence numbers are 64-bit byte offsets. Rate (bit/s on the wire) and window (payload bytes in
 * flight; 0 lets nothing go, NO_WINDOW everything) bound the sender together; a congestion control
 * sets both through SetRate() and SetWindow(), so that the packet path reads plain fields.
 */
class alignas(64) RdmaQueuePair
{
  public:
    static constexpr uint64_t NO_WINDOW = UINT64_MAX; ///< argument of SetWindow()

    RdmaQueuePair();
    ~RdmaQueuePair();
    RdmaQueuePair(RdmaQueuePair&&) noexcept;
    RdmaQueuePair& operator=(RdmaQueuePair&&) noexcept;

    // --- worked out once
    RdmaHw* hw{nullptr};     ///< the host's RDMA engine
    uint64_t lineRateBps{0}; ///< rate of the NIC port, or the cap set for the connection
    int64_t baseRttPs{0};    ///< round trip of one full frame and its ACK on an idle path

  private: // seldom touched; they fill the first cache line
    uint64_t m_minRateBps{0};
    uint64_t m_windowBytes{NO_WINDOW};

  public:
    std::unique_ptr<RdmaCongestionState> congestion; ///< owned by the congestion control

    // --- touched by each message
    RdmaMessage* lastMessage{nullptr};  ///< newest message, while there is one
    RdmaMessageWire* messages{nullptr}; ///< to the receiver; null if it ends at a switch

    // --- touched by each frame, from here to m_timer: three cache lines
    RdmaNic* nic{nullptr}; ///< the NIC it sends from
    uint32_t qpn{0};       ///< number at this host
    uint32_t peerQpn{0}; ///< number of the receiving side at the peer; its own until that is known
    uint32_t src{0};     ///< host index
    uint32_t dst{0};     ///< host index
    uint32_t hash{0};    ///< 5-tuple hash for ECMP
    uint16_t sport{0};
    uint16_t dport{0};
    uint8_t priority{3};        ///< priority group (PFC class and queue)
    uint8_t retries{0};         ///< timeouts since something was acknowledged
    uint8_t pausedTimeouts{0};  ///< timeouts since then that found the port paused
    bool contribution{false};   ///< ends at a switch: peerQpn is the operation, dport the member
    bool failed : 1 {false};    ///< its retries are used up
    bool droppable : 1 {false}; ///< switches may lack room for its frames: no PFC
    bool closeWhenDone : 1 {false}; ///< ends by itself when all its messages are acknowledged
    bool acksWanted{true};          ///< the congestion control's OnAck() has something to do
    bool lossless{false};           ///< on NVLink: no congestion control, ACK at message ends only
    bool nvlinkFrames{false};       ///< its frames have NVLink's overhead
    uint16_t mtu{1000};             ///< payload bytes of a full frame
    uint16_t moreOverhead{0};       ///< bytes of overhead that its NVLink frames have in addition

  private:
    uint32_t m_lastTxBytes{0}; ///< wire bytes of the last frame
    int64_t m_lastTxPs{0};     ///< start of the last frame
    int64_t m_nextAvailPs{0};  ///< pacing: no frame before this time
    uint64_t m_sndNxt{0};      ///< next byte to send

  public:
    uint64_t sndUna{0}; ///< first byte not acknowledged
    uint64_t endSeq{0}; ///< bytes posted so far

  private:
    uint64_t m_highestSent{0}; ///< m_sndNxt's maximum: below it a frame is a retransmission

  public:
    RdmaMessage* firstMessage{nullptr};          ///< oldest message not wholly acknowledged
    std::unique_ptr<RdmaRecoveryState> recovery; ///< owned by the loss recovery

    /// Bring the lines that a frame touches into the cache.
    void FetchAhead() const
    {
        FetchLines<3>(&nic);
    }

    /// @return whether peerQpn is the receiver's number; until it is, frames have the sender's own
    bool KnowsPeer() const
    {
        return !m_namesItself;
    }

    /// @return next byte to send
    uint64_t GetSndNxt() const;

    /// Go on from this byte.
    void SetSndNxt(uint64_t seq);

    /// @return the greatest that GetSndNxt() has been: below it a frame is a retransmission
    uint64_t GetHighestSent() const;

    /// @return bytes on the wire of the frame sent last
    uint32_t GetLastTxBytes() const;

    /// Note that a frame of so many bytes on the wire begins to be sent.
    void NoteSent(uint32_t wireBytes, int64_t nowPs)
    {
        m_lastTxPs = nowPs;
        m_lastTxBytes = wireBytes;
    }

    /// @return the sending rate in bit/s
    uint64_t GetRate() const
    {
        return m_rateBps;
    }

    /**
     * Set the sending rate, clamped to [minimum, line rate]. Takes effect at once: the gap after
     * the frame sent last is worked out again.
     * @param rateBps bit/s
     */
    void SetRate(uint64_t rateBps);

    /// Set the least rate that SetRate() accepts, in bit/s.
    void SetMinRate(uint64_t rateBps)
    {
        m_minRateBps = rateBps;
    }

    /// Set the window in payload bytes: 0 lets nothing go, NO_WINDOW everything. Outside of a
    /// plug-in's hooks for this queue pair, Wake() follows.
    void SetWindow(uint64_t bytes);

    /// Look again at whether the pair may send: its window, or what its plug-ins answer about it,
    /// has changed. Sends at once if the port is free.
    void Wake();

    /// @return the window set, before scaling by rate; NO_WINDOW for none
    uint64_t GetWindow() const
    {
        return m_windowBytes;
    }

    /// If true the window in force is window * rate / line rate (VAR_WIN).
    void SetVariableWindow(bool variable);

    /// If false the rate does not space frames (RATE_BOUND 0): only a variable window follows it.
    void SetPaced(bool paced)
    {
        m_paced = paced;
    }

    /// @return whether the rate spaces frames
    bool IsPaced() const
    {
        return m_paced;
    }

    /// @return the window in force, UINT64_MAX for none
    uint64_t GetEffectiveWindow() const
    {
        return m_effectiveWindow;
    }

    /// @return bytes sent and not acknowledged
    uint64_t GetInFlight() const;

    /// @return whether something is left to send and the window lets it
    bool CanSend() const;

    /// @return whether the pair is between Connect() and its end
    bool IsOpen() const
    {
        return m_open;
    }

    /// @return "src->dst sport:dport" for messages to people
    std::string Describe() const;

  private:
    friend class RdmaHw;
    friend class RdmaNic;
    friend class RdmaSender;

    void UpdateEffectiveWindow();
    /// Work out the gap after the frame sent last again.
    void UpdateGap();

    /// @return @p state, which its port changes, as it is at the present moment
    template <typename T>
    T& Present(T& state) const;

    // For the engine, which knows that the state is up to date: the public functions without
    // Present().
    uint64_t InFlight() const
    {
        return m_sndNxt > sndUna ? m_sndNxt - sndUna : 0;
    }

    bool MaySend() const
    {
        return m_sndNxt < endSeq && InFlight() < m_effectiveWindow;
    }

    /// @return time that the rate puts between the begin of a frame and of the next, in picoseconds
    int64_t GapPs(uint32_t wireBytes) const
    {
        return static_cast<int64_t>(wireBytes * 8e12 / static_cast<double>(m_rateBps));
    }

    /// Its place in RdmaNic.
    enum class Place : uint8_t
    {
        Idle,  ///< nothing to send, or the window is full
        Ready, ///< in the round-robin ring of its priority
        Paced, ///< in the queue of those held back by their rate
    };

    RdmaMessage* m_sendMessage{nullptr}; ///< the one that sndNxt is in; null at the end
    uint64_t m_sendEndSeq{0};            ///< its endSeq: most frames need no look at it
    uint64_t m_rateBps{0};
    uint64_t m_effectiveWindow{UINT64_MAX};
    Place m_place{Place::Idle};
    bool m_open : 1 {false}; ///< between Connect() and its end
    bool m_paced : 1 {true};
    bool m_variableWindow : 1 {false};
    bool m_isAfar : 1 {false};      ///< the receiving side is in another server, elsewhere
    bool m_namesItself : 1 {false}; ///< the receiving side's number is not known yet
    bool m_hasWaited : 1 {false};   ///< RdmaSender::WaitForQueues(), since the timer was restarted
    bool m_sendsFirst{false};       ///< whether the next frame is the first of m_sendMessage
    uint32_t m_unrequestedBytes{0}; ///< lossless: sent since a frame that asked for an answer
    RdmaHw* m_peer{nullptr};        ///< the receiving host; null if it ends at a switch

    union {
        RdmaQueuePair* m_nextReady{nullptr}; ///< in the ring; Place::Ready
        int64_t m_pacedForPs;                ///< time of its valid entry; Place::Paced
    };

    RdmaDeadlineTimer m_timer; ///< retransmission
};

static_assert(sizeof(RdmaQueuePair) == 256);

} // namespace ns3

#endif /* RDMA_QUEUE_PAIR_H */
