/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HW_H
#define RDMA_HW_H

#include "rdma-message.h"
#include "rdma-nic.h"
#include "rdma-plug-ins.h"
#include "rdma-queue-pair.h"
#include "rdma-receiver.h"
#include "rdma-rx-queue-pair.h"
#include "rdma-sender.h"

#include "ns3/in-network-hook.h"
#include "ns3/link-node.h"
#include "ns3/object.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-net-device.h"
#include "ns3/rdma-transport.h"
#include "ns3/traced-callback.h"
#include "ns3/watched-trace.h"

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace ns3
{

class Node;
class Packet;

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
 * @brief A host's RDMA engine: a sending half, a receiving half, and the NIC ports they use.
 *
 * Models reliable-connected RoCEv2: messages cut into frames of the MTU, 64-bit sequence numbers,
 * cumulative acknowledgements, NACKs, CNPs, a retransmission timer. Congestion control, loss
 * recovery and transport are plug-ins (RdmaPlugIns). RdmaSender makes messages into frames, and
 * RdmaReceiver frames into messages; this class sets up their connections, and has the attributes
 * and trace sources of both.
 *
 * Left out: verbs other than WRITE, completion queues, memory registration, connection set-up time.
 */
class RdmaHw : public Object, public QbbAddressee, public RdmaPlugIns, public LinkNode
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

    /// End a connection, both sides; messages that are not complete are forgotten.
    void Close(RdmaQueuePair& qp)
    {
        m_sender.Close(qp);
    }

    /// @return the sending half, with the connections from this host
    RdmaSender& GetSender()
    {
        return m_sender;
    }

    /// @return the same, to look at
    const RdmaSender& GetSender() const
    {
        return m_sender;
    }

    /// @return the receiving half, with the connections to this host
    const RdmaReceiver& GetReceiver() const
    {
        return m_receiver;
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
    /// Signature of "RxQpClose".
    typedef void (*RxQpCallback)(const RdmaRxQueuePair& rx);
    /// Signature of "RateChange" (bit/s) and "WindowChange" (bytes, UINT64_MAX for no window).
    typedef void (*ChangeCallback)(const RdmaQueuePair& qp, uint64_t before, uint64_t now);

  protected:
    void DoDispose() override;

  private:
    friend class RdmaReceiver;
    friend class RdmaSender;

    void OnControl(uint16_t port, QbbFrame* frame, int64_t nowPs);
    /// Send a frame that has its addresses as a control frame.
    void SendControl(LinkPort& port, QbbFrame* frame, const RdmaControl& control, int64_t nowPs);

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

    /// Give back a frame that ends here.
    void Free(QbbFrame* frame)
    {
        if (!m_pool) [[unlikely]]
        {
            m_pool = &m_nics[0]->GetPort().GetPool();
        }
        m_pool->Free(frame);
    }

    // hot: touched by frames, the ways in first
    RdmaReceiver m_receiver{*this};
    RdmaSender m_sender{*this};
    boost::container::small_vector<QbbNetDevice*, 2> m_devices; ///< the NIC ports
    QbbFramePool* m_pool{nullptr}; ///< of all ports; asked for when the first frame ends here
    uint32_t m_hostIndex{0};
    uint32_t m_ackBytes{84};
    uint64_t m_losslessAckInterval{0};
    uint64_t m_ackInterval{1};
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

    Ptr<InNetworkHook> m_inNetwork;
    std::vector<std::unique_ptr<RdmaNic>> m_nics;
    std::optional<uint32_t> m_server; ///< see SetDivided()
    Time m_giveUpTime;
    RdmaMessageFunctions m_functions;
    std::function<uint32_t(uint32_t)> m_resolver;

    TracedCallback<const RdmaQueuePair&, const RdmaMessage&> m_messageSent;
    TracedCallback<const RdmaRxQueuePair&, const RdmaExpectedMessage&> m_messageDelivered;
    TracedCallback<const RdmaQueuePair&> m_qpOpen;
    TracedCallback<const RdmaQueuePair&> m_qpNamed;
    TracedCallback<const RdmaQueuePair&> m_qpClose;
    TracedCallback<const RdmaRxQueuePair&> m_rxQpClose;
    TracedCallback<const RdmaQueuePair&> m_cnpReceived;
    TracedCallback<const RdmaQueuePair&> m_qpFailed;
    TracedCallback<const RdmaQueuePair&> m_nackReceived;
    TracedCallback<const RdmaQueuePair&> m_timeout;
    WatchedTrace<RdmaHw, const RdmaQueuePair&, uint64_t, uint64_t> m_rateChange{*this};
    WatchedTrace<RdmaHw, const RdmaQueuePair&, uint64_t, uint64_t> m_windowChange{*this};
};

} // namespace ns3

#endif /* RDMA_HW_H */
