/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HW_H
#define RDMA_HW_H

#include "rdma-message.h"
#include "rdma-nic.h"
#include "rdma-queue-pair.h"
#include "rdma-rx-queue-pair.h"

#include "ns3/in-network-hook.h"
#include "ns3/link-node.h"
#include "ns3/object.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-net-device.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-loss-recovery.h"
#include "ns3/rdma-transport.h"
#include "ns3/stable-array.h"
#include "ns3/traced-callback.h"
#include "ns3/watched-trace.h"

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/dynamic_bitset.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ns3
{

class Node;
class Packet;

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

/// A constant of a plug-in that keeps a connection from the speed of its path.
struct RdmaMisfit
{
    int64_t baseRttPs{-1}; ///< of the path; below 0: there is none
    std::string text;      ///< which constant, and why
};

/// Counters of a host's RDMA engine; the conservation law is checked on them.
struct RdmaHwCounters
{
    uint64_t postedBytes{0};       ///< message bytes posted
    uint64_t sentPayload{0};       ///< payload bytes put into frames, retransmissions included
    uint64_t retransmitted{0};     ///< payload bytes sent more than once
    uint64_t receivedPayload{0};   ///< payload bytes that arrived, all
    uint64_t deliveredBytes{0};    ///< message bytes delivered in order
    uint64_t acknowledgedBytes{0}; ///< message bytes acknowledged to this sender
    uint64_t acksSent{0};
    uint64_t nacksSent{0};
    uint64_t cnpsReceived{0}; ///< notifications: CNP frames, and marks on acknowledgements
    uint64_t timeouts{0};
    uint64_t outOfOrderFrames{0}; ///< data frames that came before one sent earlier
    uint64_t reorderBytes{0};     ///< farthest that one reached beyond the byte expected
    uint64_t staleFrames{0};      ///< frames for connections that had ended
};

/**
 * @ingroup rdma-qbb
 * @brief A host's RDMA engine: queue pairs, transport, and the NIC ports they use.
 *
 * Models reliable-connected RoCEv2: messages cut into frames of the MTU, 64-bit sequence numbers,
 * cumulative acknowledgements, NACKs, CNPs, a retransmission timer. Congestion control and loss
 * recovery are plug-ins (RdmaCongestionOps, RdmaLossRecovery).
 *
 * Left out: verbs other than WRITE, completion queues, memory registration, connection set-up time.
 */
class RdmaHw : public Object, public LinkNode, public QbbAddressee
{
  public:
    static TypeId GetTypeId();

    RdmaHw();
    ~RdmaHw() override;

    /// Set the host's index in the topology; frames carry it as their address.
    void SetHostIndex(uint32_t index)
    {
        m_hostIndex = index;
    }

    /// @return the host's index in the topology
    uint32_t GetHostIndex() const
    {
        return m_hostIndex;
    }

    /// Hosts of other servers are told of connections and messages by QbbMail::Post(), as
    /// they may be in other partitions. @param server number of this host's
    void SetDivided(uint32_t server);

    /// Add @p device, which is on this host's node, as the next NIC port. @return its index
    uint16_t AddNic(Ptr<QbbNetDevice> device);

    /// Use this congestion control; before the first queue pair.
    void SetCongestionOps(Ptr<RdmaCongestionOps> ops);

    /// @return the congestion control, of the type that attribute CongestionControl says
    Ptr<RdmaCongestionOps> GetCongestionOps() const
    {
        return m_congestion ? m_congestion : MakeCongestionOps();
    }

    /// @return the loss recovery, of the type that attribute LossRecoveryType says
    Ptr<RdmaLossRecovery> GetLossRecovery() const
    {
        return m_recovery ? m_recovery : MakeLossRecovery();
    }

    /// @return RdmaLossRecovery::GetResolved(); 0 for a pair whose network loses nothing
    uint64_t GetResolved(const RdmaQueuePair& qp) const
    {
        return qp.recovery ? m_recovery->GetResolved(qp) : 0;
    }

    /// @return the transport, of the type that attribute TransportType says; null for RoCE
    Ptr<RdmaTransport> GetTransport() const
    {
        return m_transport;
    }

    /// Let data frames and their acknowledgements carry QbbTelemetry::routingField; before the
    /// first queue pair. @param bytes on the wire; 0: they do not carry it
    void SetRoutingFieldBytes(uint32_t bytes)
    {
        m_routingFieldBytes = bytes;
    }

    /**
     * Tell the loss recovery that frames overtake each other; before the first queue pair.
     * @param lossTime see RdmaLossRecovery::ExpectReordering()
     */
    void ExpectReordering(Time lossTime);

    /// Set where results of in-network operations go.
    void SetInNetworkHook(Ptr<InNetworkHook> hook)
    {
        m_inNetwork = hook;
    }

    /// Set a function from IPv4 addresses to hosts (UINT32_MAX: none), for other traffic.
    void SetAddressResolver(std::function<uint32_t(uint32_t)> resolver)
    {
        m_resolver = std::move(resolver);
    }

    /// Set up a connection, both sides. @return the sender; owned by this object
    RdmaQueuePair* Connect(const RdmaQueuePairConfig& config);

    /// Another host sets up a connection to this one: the receiving side. @return facts for it
    RdmaAcceptance Accept(const RdmaPeer& peer);

    /// Another host ends a connection to this one. @param qpn of the receiving side
    void Disconnect(uint32_t qpn);

    /**
     * Post a message.
     * @param bytes its size, 1 or more
     * @param message told how it fares
     * @param startPs time in picoseconds that it has waited since for a path; by default now
     */
    void PostMessage(RdmaQueuePair& qp,
                     uint64_t bytes,
                     RdmaMessage& message,
                     std::optional<int64_t> startPs = std::nullopt);

    /**
     * Post a message.
     * @param bytes its size, 1 or more
     * @param sent called at its last acknowledgement; may be empty
     * @param delivered called when the receiver has all of it in order; may be empty
     * @param startPs as above
     */
    void PostMessage(RdmaQueuePair& qp,
                     uint64_t bytes,
                     std::function<void()> sent,
                     std::function<void()> delivered,
                     std::optional<int64_t> startPs = std::nullopt);

    /// @return the open queue pair that has the number @p qpn, or null; numbers come again late
    RdmaQueuePair* FindQueuePair(uint32_t qpn)
    {
        return FindSender(qpn);
    }

    /// @return the time for which the retransmission timer of @p qp was set
    int64_t GetTimerLengthPs(const RdmaQueuePair& qp) const;

    /// End a connection, both sides; messages that are not complete are forgotten.
    void Close(RdmaQueuePair& qp);

    /// Send a queue pair's frames from another NIC port from now on.
    void MoveQueuePair(uint32_t qpn, uint16_t nic);

    /// @return the connections that are open, in the order of their places
    std::vector<const RdmaQueuePair*> GetOpenQueuePairs() const;

    /// Run f(queue pair) for each open connection under congestion control, in the same order.
    template <typename Function>
    void ForEachControlled(Function f) const
    {
        for (std::size_t index = m_controlled.find_first(); index != m_controlled.npos;
             index = m_controlled.find_next(index))
        {
            f(m_senders[index]);
        }
    }

    /// @return counters up to now
    RdmaHwCounters GetCounters() const;

    /// @return payload bytes of a full frame
    uint32_t GetMtu() const
    {
        return m_mtu;
    }

    /// @return bytes received in order before an acknowledgement is due
    uint64_t GetAckInterval() const
    {
        return m_ackInterval;
    }

    /// @return bytes on the wire of a data frame with @p payload bytes
    uint32_t GetDataWireBytes(uint32_t payload, bool lossless) const;

    /// @return bytes on the wire of an acknowledgement
    uint32_t GetAckWireBytes(bool lossless) const;

    /// @return constants of congestion control or loss recovery that do not fit a path on which
    /// this host has opened a connection: for each of the two, that of its longest such path
    std::span<const RdmaMisfit> GetMisfits() const
    {
        return m_misfits;
    }

    /// Fix the random streams. @return how many were used
    int64_t AssignStreams(int64_t stream);

    // --- for RdmaNic
    /// @return whether the pair has a frame that window and recovery let it send
    bool CanSend(const RdmaQueuePair& qp) const
    {
        return qp.recovery ? RecoveryCanSend(qp) : qp.MaySend();
    }

    /// @return bytes on the wire of the pair's next frame; 0 if it has none, or its recovery
    /// decides
    uint32_t GetNextWireBytes(const RdmaQueuePair& qp) const
    {
        if (!qp.m_sendMessage || qp.recovery)
        {
            return 0;
        }
        const uint64_t left = qp.m_sendEndSeq - qp.m_sndNxt;
        return WireBytesOf(qp, static_cast<uint32_t>(std::min<uint64_t>(qp.mtu, left)));
    }

    /// Build the pair's next frame and advance it.
    QbbFrame* BuildFrame(RdmaQueuePair& qp, int64_t nowPs);

    // --- for RdmaQueuePair
    /// @return whether somebody has connected to "RateChange" or "WindowChange"
    bool IsWatched() const
    {
        return m_watched;
    }

    /// A pair may have become able to send, or may not send any more.
    void Wake(RdmaQueuePair& qp);

    /// The rate of a pair has changed.
    void TraceRate(const RdmaQueuePair& qp, uint64_t beforeBps) const;

    /// The window in force of a pair has changed.
    void TraceWindow(const RdmaQueuePair& qp, uint64_t beforeBytes) const;

    /// Somebody connects to a trace source of rates or windows.
    void OnWatched()
    {
        m_watched = true;
    }

    // --- for RdmaTransport
    /// Send a control frame to the receiver of a queue pair.
    void SendControl(const RdmaQueuePair& qp, const RdmaControl& control, int64_t nowPs);

    /// Send a control frame to the sender of a connection to this host.
    void SendControl(const RdmaRxQueuePair& rx, const RdmaControl& control, int64_t nowPs);

    /// @return NIC port @p index
    LinkPort& GetNicPort(uint16_t index) const
    {
        return m_nics[index]->GetPort();
    }

    // --- for RdmaLossRecovery
    /**
     * Ask the sender, with a frame of its own, for the data that a receiver of this host misses.
     * @param port NIC port to send by
     * @param selective whether to name the frame at rx.namedSeq as received
     */
    void RequestRepair(RdmaRxQueuePair& rx, uint16_t port, bool selective);

    // --- LinkNode
    void OnFrameArrival(uint16_t port, QbbFrame* frame, int64_t nowPs) final;
    ArrivalCall GetArrivalCall() const override;
    bool IsEndpoint() const override;
    void OnFrameDeparture(uint16_t port, QbbFrame& frame, int64_t nowPs) override;
    void OnOtherSend(uint16_t port,
                     QbbFrame& frame,
                     const Packet& packet,
                     uint16_t protocol) override;

    /// Signature of "MessageSent".
    typedef void (*MessageCallback)(const RdmaQueuePair& qp, const RdmaMessage& message);
    /// Signature of "MessageDelivered".
    typedef void (*DeliveryCallback)(const RdmaRxQueuePair& rx, const RdmaExpectedMessage& message);
    /// Signature of "QpOpen", "QpNamed", "QpClose", "QpFailed", "CnpReceived", "NackReceived" and
    /// "Timeout".
    typedef void (*QpCallback)(const RdmaQueuePair& qp);
    /// Signature of "RateChange" (bit/s) and "WindowChange" (bytes, UINT64_MAX for no window).
    typedef void (*ChangeCallback)(const RdmaQueuePair& qp, uint64_t before, uint64_t now);

  protected:
    void DoDispose() override;

  private:
    /// Queue pair numbers are an index and a generation, so that a late frame of a connection that
    /// has ended cannot reach the one that has its place.
    static constexpr uint32_t INDEX_BITS = 20;
    static constexpr uint32_t INDEX_MASK = (1U << INDEX_BITS) - 1;

    /// The plug-ins' demands on frames: asked once per connection, not per frame.
    struct FrameWishes
    {
        int64_t cnpIntervalPs{0};
        uint32_t telemetryBytes{0};
        uint32_t answerBytes{0}; ///< the same, of answers
        RdmaCongestionOps::Telemetry telemetry{RdmaCongestionOps::Telemetry::None};
        EcnCodepoint ecn{EcnCodepoint::NotEct};
        bool carriesRecord{false}; ///< a QbbTelemetry, for telemetry or fields
    };

    /// Make the plug-ins if need be, and ask the congestion control for its telemetry.
    void PrepareForPair();
    Ptr<RdmaCongestionOps> MakeCongestionOps() const;
    Ptr<RdmaLossRecovery> MakeLossRecovery() const;
    void SetTransportType(TypeId type);
    TypeId GetTransportType() const;
    /// @return bytes on the wire that telemetry and fields add to data frames
    uint32_t GetRecordBytes() const;
    /// @return the same, of acknowledgements
    uint32_t GetAnswerRecordBytes() const;

    /// @return whether a queue pair has a transport
    bool HasTransport(const RdmaQueuePair& qp) const
    {
        return m_transport && !qp.lossless && !qp.contribution;
    }

    void OnControl(uint16_t port, QbbFrame* frame, int64_t nowPs);
    /// Put a pair among those that want to send, or take it away, as it may send now.
    void Reconsider(RdmaQueuePair& qp, int64_t nowPs);
    void SendControl(LinkPort& port, QbbFrame* frame, const RdmaControl& control, int64_t nowPs);
    void SetCongestionType(TypeId type);
    TypeId GetCongestionType() const;
    void SetLossRecoveryType(TypeId type);
    TypeId GetLossRecoveryType() const;

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

    /// @return bytes on the wire of a data frame of the pair
    uint32_t WireBytesOf(const RdmaQueuePair& qp, uint32_t payloadBytes) const
    {
        return qp.nvlinkFrames ? payloadBytes + m_nvlinkOverhead + qp.moreOverhead
                               : std::max(payloadBytes + m_dataOverhead + m_wishes.telemetryBytes,
                                          QbbNetDevice::MIN_WIRE_BYTES);
    }

    /// CanSend() where the recovery has a say.
    bool RecoveryCanSend(const RdmaQueuePair& qp) const;
    void OnData(uint16_t port, QbbFrame* frame, int64_t nowPs);
    /// A data frame that is not the one expected next.
    void OnUnexpected(uint16_t port,
                      RdmaRxQueuePair& rx,
                      QbbFrame* frame,
                      bool mark,
                      int64_t nowPs);
    void OnAck(QbbFrame* frame, int64_t nowPs);
    void OnTimeout(RdmaQueuePair& qp);
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
    /// A data frame without its payload.
    void OnTrimmed(uint16_t port, RdmaRxQueuePair& rx, QbbFrame* frame, bool mark, int64_t nowPs);
    /// Give an answer that has its data's priority the one that it waits in at this host.
    void Prioritize(QbbFrame& answer) const;
    /// Make a frame from receiver to sender that answers no frame.
    QbbFrame* MakeAnswer(LinkPort& port, const RdmaRxQueuePair& rx, QbbFrameKind kind);
    void SendCnp(uint16_t port, RdmaRxQueuePair& rx, int64_t nowPs);
    void Deliver(RdmaRxQueuePair& rx);

    void Acknowledge(RdmaQueuePair& qp, uint64_t seq, int64_t nowPs);
    void CompleteMessages(RdmaQueuePair& qp);
    void RestartTimer(RdmaQueuePair& qp, int64_t nowPs);
    int64_t TimeoutPs(const RdmaQueuePair& qp) const;
    /// @return whether a queue pair that has timed out so often gives up now
    bool GivesUp(const RdmaQueuePair& qp, int64_t nowPs);
    /// A timer has expired: let it run on while frames may wait in a full buffer on the path.
    /// @return whether it does
    bool WaitForQueues(RdmaQueuePair& qp, int64_t nowPs);
    void SeekSendMessage(RdmaQueuePair& qp);
    /// Say which bytes a frame has: from its seq on, to the end of the message at most.
    static void Cut(const RdmaQueuePair& qp, QbbFrame& frame, bool isFirst, uint64_t endSeq);
    /// Cut the frame that follows the ones sent.
    static void CutNext(RdmaQueuePair& qp, QbbFrame& frame);
    /// Cut the frame that the recovery wants to be sent again.
    void CutAgain(RdmaQueuePair& qp, QbbFrame& frame, int64_t nowPs);
    /// Go on to send @p message, which sndNxt is in; null: there is no more.
    static void SetSendMessage(RdmaQueuePair& qp, RdmaMessage* message);
    void ForgetMessages(RdmaQueuePair& qp);
    /// End the other side of a closed connection, too.
    void TellOfEnd(const RdmaQueuePair& qp) const;
    /// The control plane's part in Connect(): Accept() at the other host.
    static void AskForAcceptance(RdmaQueuePair& qp, const RdmaQueuePairConfig& config);
    /// The same, where the other host may be in another partition.
    static void AskFromAfar(RdmaQueuePair& qp, const RdmaQueuePairConfig& config);
    struct NameReceiver;
    struct AcceptFromAfar;
    struct ExpectFromAfar;
    struct DisconnectFromAfar;
    /// @return whether @p peer learns of a connection by QbbMail::Post()
    bool IsAfar(const RdmaHw& peer) const;
    /// Post a record to a host that may be in another partition.
    template <typename Record>
    static void PostToPeer(RdmaHw& peer, const Record& record);
    /// Tell the receiver of a message posted to it.
    void Announce(const RdmaQueuePair& qp, RdmaMessage& message) const;

    /// @return key of a connection at its receiver before the sender knows the receiver's number
    static uint64_t AfarKey(uint32_t host, uint32_t qpn)
    {
        return uint64_t{host} << 32 | qpn;
    }

    /// @return the receiving side of a connection from afar, or null
    RdmaRxQueuePair* FindFromAfar(uint32_t host, uint32_t qpn);
    RdmaRxQueuePair& TakeReceiver();
    RdmaQueuePair& TakeSender();
    /// Remember which constants do not fit the path of a connection.
    void NoteMisfits(const RdmaQueuePair& qp, const RdmaQueuePairConfig& config);
    void Configure(RdmaQueuePair& qp, const RdmaQueuePairConfig& config);

    /// Give back a frame that ends here.
    void Free(QbbFrame* frame)
    {
        if (!m_pool) [[unlikely]]
        {
            m_pool = &m_nics[0]->GetPort().GetPool();
        }
        m_pool->Free(frame);
    }

    RdmaQueuePair* FindSender(uint32_t qpn)
    {
        RdmaQueuePair* qp = &m_senders[qpn & INDEX_MASK];
        return qp->qpn == qpn && qp->m_open ? qp : nullptr;
    }

    RdmaRxQueuePair* FindReceiver(const QbbFrame& frame)
    {
        return frame.flags & QBB_FLAG_FROM_AFAR ? FindFromAfar(frame.src, frame.qpn)
                                                : FindReceiver(frame.qpn);
    }

    RdmaRxQueuePair* FindReceiver(uint32_t qpn)
    {
        RdmaRxQueuePair* rx = &m_receivers[qpn & INDEX_MASK];
        return rx->qpn == qpn && rx->messages ? rx : nullptr;
    }

    // hot: touched by frames, the ways in first
    StableArray<RdmaRxQueuePair> m_receivers;
    StableArray<RdmaQueuePair> m_senders;
    boost::container::small_vector<QbbNetDevice*, 2> m_devices; ///< the NIC ports
    QbbFramePool* m_pool{nullptr}; ///< of all ports; asked for when the first frame ends here
    uint32_t m_hostIndex{0};
    uint32_t m_ackBytes{84};
    uint64_t m_losslessAckInterval{0};
    uint64_t m_ackInterval{1};
    FrameWishes m_wishes;
    RdmaHwCounters m_counters;
    uint32_t m_mtu{1000};
    uint32_t m_dataOverhead{82};
    uint32_t m_nvlinkOverhead{0};
    bool m_ackHighPriority{false};
    bool m_ackIgnoresPause{false};
    bool m_watched{false}; ///< see IsWatched()
    uint8_t m_maxRetries{0};
    uint8_t m_maxBackoff{0};
    uint8_t m_maxPausedTimeouts{0};
    mutable Ptr<RdmaCongestionOps> m_congestion; ///< made when first asked for: many hosts idle
    mutable Ptr<RdmaLossRecovery> m_recovery;    ///< likewise
    Ptr<RdmaTransport> m_transport;              ///< null for RoCE
    std::array<RdmaMisfit, 2> m_misfits;         ///< of congestion control and of loss recovery

    Ptr<InNetworkHook> m_inNetwork;
    std::vector<std::unique_ptr<RdmaNic>> m_nics;
    int64_t m_stream{-1}; ///< of the congestion control; -1: automatic
    Time m_lossTime;      ///< see ExpectReordering()
    TypeId m_congestionType;
    TypeId m_recoveryType;
    uint32_t m_routingFieldBytes{0};                          ///< see SetRoutingFieldBytes()
    bool m_reorders{false};                                   ///< see ExpectReordering()
    std::optional<uint32_t> m_server;                         ///< see SetDivided()
    boost::unordered_flat_map<uint64_t, uint32_t> m_fromAfar; ///< receivers' numbers by AfarKey()
    Time m_giveUpTime;
    /// By number of a queue pair: since when nothing has been acknowledged, with m_giveUpTime.
    boost::unordered_flat_map<uint32_t, int64_t> m_silentSincePs;
    std::vector<uint32_t> m_freeSenders;
    std::vector<uint32_t> m_freeReceivers;
    std::vector<int64_t> m_drainPs;       ///< of m_senders: RdmaQueuePairConfig::drainPs
    boost::dynamic_bitset<> m_controlled; ///< of m_senders: open, and under congestion control
    RdmaMessageFunctions m_functions;
    std::function<uint32_t(uint32_t)> m_resolver;

    TracedCallback<const RdmaQueuePair&, const RdmaMessage&> m_messageSent;
    TracedCallback<const RdmaRxQueuePair&, const RdmaExpectedMessage&> m_messageDelivered;
    TracedCallback<const RdmaQueuePair&> m_qpOpen;
    TracedCallback<const RdmaQueuePair&> m_qpNamed;
    TracedCallback<const RdmaQueuePair&> m_qpClose;
    TracedCallback<const RdmaQueuePair&> m_cnpReceived;
    TracedCallback<const RdmaQueuePair&> m_qpFailed;
    TracedCallback<const RdmaQueuePair&> m_nackReceived;
    TracedCallback<const RdmaQueuePair&> m_timeout;
    WatchedTrace<RdmaHw, const RdmaQueuePair&, uint64_t, uint64_t> m_rateChange{*this};
    WatchedTrace<RdmaHw, const RdmaQueuePair&, uint64_t, uint64_t> m_windowChange{*this};
};

} // namespace ns3

#endif /* RDMA_HW_H */
