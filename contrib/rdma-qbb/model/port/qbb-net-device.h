/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_NET_DEVICE_H
#define QBB_NET_DEVICE_H

#include "qbb-channel.h"
#include "watched-trace.h"

#include "ns3/address.h"
#include "ns3/data-rate.h"
#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/nstime.h"
#include "ns3/qbb-frame-pool.h"
#include "ns3/qbb-frame.h"
#include "ns3/qbb-late-work.h"
#include "ns3/qbb-port-event.h"
#include "ns3/qbb-port-handler.h"
#include "ns3/qbb-wire.h"
#include "ns3/random-variable-stream.h"
#include "ns3/serialization-delay.h"
#include "ns3/traced-callback.h"

#include <array>
#include <cstdint>

namespace ns3
{

// Hot path: Enqueue, Transmit and the two events run once per packet and hop.

/// What a port has done so far.
struct QbbPortCounters
{
    // with every frame that is sent
    int64_t busyPs{0};    ///< time spent sending
    uint64_t txFrames{0}; ///< frames begun, PFC not included
    uint64_t txBytes{0};  ///< their bytes on the wire

    // seldom
    uint64_t rxFrames{0};       ///< frames received whole, PFC not included
    uint64_t lostFrames{0};     ///< lost on this port's outgoing wire: errors, cuts
    uint64_t flushedFrames{0};  ///< dropped from its queues: link down, PFC watchdog
    uint64_t lostPayload{0};    ///< RDMA payload bytes in lost and flushed frames
    uint64_t pfcSent{0};        ///< PFC frames sent, pause and resume
    uint64_t pausesReceived{0}; ///< transitions of a priority into pause
    int64_t pausedPs{0}; ///< time spent with at least one priority paused, up to the last change
};

/**
 * @brief A full-duplex Ethernet port with eight priority queues and priority flow control.
 *
 * Models IEEE 802.1Qbb: a paused priority sends no new frame until it is resumed or its pause time
 * runs out; a frame that has begun is finished. Priority 0 goes first (strict), the others share
 * the link by weighted round robin in bytes. PFC frames overtake everything.
 *
 * A frame costs one simulator event per hop, its arrival, or none (QbbWire). The end of a
 * transmission is hardly ever one (QbbLateWork).
 *
 * The device is an ordinary ns3::NetDevice as well: Send() carries any packet as a frame of kind
 * Other, in priority queue "OtherPriority", and the receive callbacks get it at the far end.
 *
 * Left out: auto-negotiation, collisions, per-frame FCS errors other than the channel's loss rate.
 */
class QbbNetDevice : public NetDevice
{
  public:
    static constexpr uint8_t PRIORITIES = 8;
    static constexpr uint32_t MIN_WIRE_BYTES = 84; ///< 64-byte frame, preamble and gap

    static TypeId GetTypeId();

    QbbNetDevice();
    /**
     * A port with the attributes and weights of @p model, at no node and on no cable, which nobody
     * watches. For CopyObject(): a fabric's ports differ little, and to construct one from its
     * attributes costs twenty times as much.
     */
    QbbNetDevice(const QbbNetDevice& model);
    ~QbbNetDevice() override;

    // --- for the node behind the port

    /// Say who handles what this port receives. @param port this port's index at the node
    void SetHandler(QbbPortHandler* handler, uint16_t port);

    /// Say where frames come from that wait in no queue (hosts only).
    void SetSource(QbbFrameSource* source);

    /// Let @p work carry out the ends of this port's transmissions. A port that sends has one.
    void SetLateWork(QbbLateWork* work);

    /// Put @p frame, which the device now owns, into the queue of its priority.
    void Enqueue(QbbFrame* frame, int64_t nowPs);

    /// @return whether a frame of any priority would leave at once, and nobody watches the queues
    bool CanSendNow(int64_t nowPs) const
    {
        return nowPs >= m_busyUntilPs && m_linkUp && !m_control &&
               !(m_queuedMask | m_sourceReady | m_pausedMask | static_cast<uint8_t>(m_watched));
    }

    /**
     * Send @p frame, which the device now owns, past the queues: what Enqueue() comes to after
     * CanSendNow(), but that the handler is not told of the departure.
     * @param isAwaited whether its arrival shall be an event, before which late work is carried out
     */
    void SendNow(QbbFrame* frame, int64_t nowPs, bool isAwaited = false);

    /// The source's ready priorities have changed. Sends if the port is idle.
    void SetSourceReady(uint8_t mask, int64_t nowPs)
    {
        m_sourceReady = mask;
        if (mask)
        {
            TransmitWhenFree(nowPs);
        }
    }

    /// The source's ready priorities have changed while the port pulls a frame from it.
    void SetSourceReadyMask(uint8_t mask)
    {
        m_sourceReady = mask;
    }

    /// Tell the far end to pause or to resume a priority.
    void SendPfc(uint8_t priority, bool pause, int64_t nowPs);

    /// @return bytes in the queue of @p priority
    uint64_t GetQueueBytes(uint8_t priority) const
    {
        Settle();
        return m_queues[priority].bytes;
    }

    /// @return bytes in all queues
    uint64_t GetQueueBytes() const
    {
        Settle();
        return PeekQueueBytes();
    }

    /// @return as GetQueueBytes(), for the node while it handles a frame
    uint64_t PeekQueueBytes(uint8_t priority) const
    {
        return m_queues[priority].bytes;
    }

    /// @return as GetQueueBytes(), for the node while it handles a frame
    uint64_t PeekQueueBytes() const;

    /// Run f(frame) for each frame in the queue of @p priority, oldest first.
    template <typename Function>
    void ForEachQueued(uint8_t priority, Function f) const
    {
        Settle();
        for (const QbbFrame* frame = m_queues[priority].head; frame; frame = frame->next)
        {
            f(*frame);
        }
    }

    /// Drop all frames in the queue of @p priority.
    void FlushQueue(uint8_t priority, int64_t nowPs);

    /// Send on in spite of the far end's pauses of @p priority, or heed them again from now on.
    void SetPauseIgnored(uint8_t priority, bool ignored, int64_t nowPs);

    /// @return line rate in bit/s
    uint64_t GetRateBps() const
    {
        return m_rateBps;
    }

    /// @return time that @p bytes occupy the wire, in picoseconds, rounded up
    int64_t GetTxTimePs(uint32_t bytes) const
    {
        return m_serialization(bytes);
    }

    /// @return bytes on the wire sent so far
    uint64_t GetTxBytes() const
    {
        Settle();
        return m_counters.txBytes;
    }

    /// @return as GetTxBytes(), for the node while it handles a frame
    uint64_t PeekTxBytes() const
    {
        return m_counters.txBytes;
    }

    /// @return when the frame being sent ends, or a time in the past
    int64_t GetBusyUntilPs() const
    {
        Settle();
        return m_busyUntilPs;
    }

    /// @return as GetBusyUntilPs(), for the node while it handles a frame
    int64_t PeekBusyUntilPs() const
    {
        return m_busyUntilPs;
    }

    /// @return propagation delay to the far end, in picoseconds
    int64_t GetDelayPs() const
    {
        return m_delayPs;
    }

    /// @return bit p set: priority p is paused by the far end
    uint8_t GetPausedMask() const
    {
        return m_pausedMask;
    }

    /// @return bit p set: this port has paused priority p of the far end
    uint8_t GetPausingMask() const
    {
        return m_pausingMask;
    }

    /// @return counters; pausedPs includes a pause that lasts
    QbbPortCounters GetCounters(int64_t nowPs) const;

    /// @return id of this port's node
    uint32_t GetNodeId() const
    {
        return m_nodeId;
    }

    /// @return index of this port at its node
    uint16_t GetPort() const
    {
        return m_port;
    }

    /// @return the device at the far end, or null
    Ptr<QbbNetDevice> GetPeer() const
    {
        return m_peer;
    }

    /// @return the pool frames come from
    QbbFramePool& GetPool()
    {
        return *m_pool;
    }

    /// Use one pool with @p other, another port of the same node.
    void SharePool(QbbNetDevice& other);

    /// Set the share of a priority among 1..7. @param weight relative, 1 or more
    void SetWeight(uint8_t priority, uint32_t weight);

    /// Carry out what is due by now and was no event, so that what is asked next is up to date.
    void Settle() const;

    // --- for QbbWire and QbbLateWork
    /// Say when this port's own late work is due; INT64_MAX for never.
    void SetLateWorkDue(int64_t timePs)
    {
        m_wire->SetPortsWorkDue(timePs);
    }

    /// See to it that the source's late work, if it has some, is carried out in time; it waits for
    /// no end of a transmission.
    void AwaitLateWork(int64_t nowPs);

    /// Have late work carried out at this time at the latest, no frame being under way.
    void WakeAt(int64_t timePs)
    {
        m_wire->WakeAt(m_nodeId, timePs);
    }

    /// The same, at exactly this time, after all that is scheduled for it.
    void FireAt(int64_t timePs)
    {
        m_wire->ScheduleAt(m_nodeId, timePs);
    }

    /// @return the way out, to fetch it ahead
    const QbbWire& GetWire() const
    {
        return *m_wire;
    }

    /// Bring what sending touches into the cache.
    void FetchAhead() const
    {
        __builtin_prefetch(&m_control);
        __builtin_prefetch(&m_wire);
    }

    /// @return whether somebody looks at the frames of this port
    bool IsWatched() const
    {
        return m_watched;
    }

    /// The frame being sent ends, and something waits.
    void OnTransmissionEnd(int64_t timePs);
    /// @return whether the wire loses a frame (draws at random)
    bool DrawLoss();
    /// The wire schedules every arrival from now on.
    void OnQuietForbidden();
    /// Count and free a frame that the wire has lost.
    void Lose(QbbFrame* frame);
    void ReceivePfc(const QbbFrame& frame, int64_t nowPs);
    /// Fire the trace sources of a frame that has been received.
    void TraceRx(const QbbFrame& frame, const QbbNetDevice& sender);
    /// Somebody looks at frames.
    void OnWatched();

    // --- for QbbChannel
    void JoinChannel(Ptr<QbbChannel> channel, Ptr<QbbNetDevice> peer);
    void OnLinkChange(bool up);

    // --- ns3::NetDevice
    void SetIfIndex(uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address group) const override;
    Address GetMulticast(Ipv6Address group) const override;
    bool IsPointToPoint() const override;
    bool IsBridge() const override;
    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol) override;
    bool SendFrom(Ptr<Packet> packet,
                  const Address& source,
                  const Address& dest,
                  uint16_t protocol) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(NetDevice::ReceiveCallback cb) override;
    void SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback cb) override;
    bool SupportsSendFrom() const override;

    /// Hand a frame of kind Other up this host's ordinary protocol stack; frees the frame.
    void ReceiveOther(QbbFrame* frame);

    /// Fix the random stream of wire losses. @return 1
    int64_t AssignStreams(int64_t stream);

    /// Signature of frame trace sources.
    typedef void (*FrameCallback)(Ptr<const QbbNetDevice> device, const QbbFrame& frame);
    /// Signature of "Pfc": this port of @p device was paused (or resumed) for @p priority.
    typedef void (*PfcCallback)(Ptr<const QbbNetDevice> device, uint8_t priority, bool paused);

  protected:
    void DoInitialize() override;
    void DoDispose() override;

  private:
    /// Frames of one priority, first in first out.
    struct Queue
    {
        QbbFrame* head{nullptr};
        QbbFrame* tail{nullptr};
        uint64_t bytes{0};
    };

    /// @return the packet that a frame sent by this port stands for
    Ptr<const Packet> MakePacket(const QbbFrame& frame) const;
    /// Send the next frame, if there is one that may go. The port is idle.
    void Transmit(int64_t nowPs);
    /// @return the frame to send next, taken out of its queue or the source; null if none may go
    QbbFrame* TakeNext(int64_t nowPs);
    /// @return the priority in @p eligible whose turn it is
    uint8_t ChooseByWeight(uint8_t eligible);
    QbbFrame* Dequeue(uint8_t priority);

    void PutOnWire(QbbFrame* frame, int64_t nowPs)
    {
        if (m_watched) [[unlikely]]
        {
            TraceTx(*frame);
        }
        const int64_t txTime = GetTxTimePs(frame->wireBytes);
        m_busyUntilPs = nowPs + txTime;
        m_counters.busyPs += txTime;
        m_wire->Put(frame, m_busyUntilPs + m_delayPs, nowPs);
    }

    /// Wake up when the frame being sent ends, if something waits.
    void ArmTransmit(int64_t nowPs);

    /// Send now if the port is idle, else when the frame being sent ends.
    void TransmitWhenFree(int64_t nowPs)
    {
        if (nowPs >= m_busyUntilPs)
        {
            Transmit(nowPs);
        }
        else
        {
            ArmTransmit(nowPs);
        }
    }

    /// Tell the wire where it leads.
    void ConnectWire();
    void ChangePause(uint8_t mask, int64_t nowPs);
    void OnPauseExpiry(int64_t nowPs);
    void OnPauseRefresh(int64_t nowPs);
    void QueuePfc(uint8_t priority, uint16_t quanta);
    void FlushQueues(int64_t nowPs);
    /// Free a frame that is lost here. @param count of m_counters
    void Discard(QbbFrame* frame, uint64_t& count);
    /// Free the PFC frames that wait to be sent.
    void FreeControl();
    uint16_t PauseQuanta() const;

    /// Fire the trace sources of a frame that begins to be sent.
    void TraceTx(const QbbFrame& frame);

    using ExpiryEvent = QbbPortEvent<QbbNetDevice, &QbbNetDevice::OnPauseExpiry>;
    using RefreshEvent = QbbPortEvent<QbbNetDevice, &QbbNetDevice::OnPauseRefresh>;

    // flow control, cold
    Ptr<ExpiryEvent> m_expiryEvent;
    Ptr<RefreshEvent> m_refreshEvent;
    std::array<int64_t, PRIORITIES> m_pausedUntilPs{};
    int64_t m_pausedSincePs{0};
    uint8_t m_ignoredMask{0}; ///< bit p: pauses of priority p are ignored
    bool m_refreshArmed{false};
    bool m_expiryArmed{false};
    Time m_pauseTime;

    // cold
    QbbNetDevice* m_peerRaw{nullptr};
    double m_errorRate{0};
    Ptr<QbbWire> m_wireRef{Create<QbbWire>(this)};
    DataRate m_rate;
    uint8_t m_otherPriority{1};
    uint32_t m_otherQueueLimit{0};
    uint16_t m_mtu{9216};
    uint32_t m_rdmaMtu{1000};
    uint32_t m_ifIndex{0};
    Mac48Address m_address;
    Ptr<Node> m_node;
    Ptr<QbbChannel> m_channel;
    Ptr<QbbNetDevice> m_peer;
    Ptr<QbbFramePool> m_poolRef{Create<QbbFramePool>()};
    Ptr<UniformRandomVariable> m_lossVariable;
    NetDevice::ReceiveCallback m_receive;
    NetDevice::PromiscReceiveCallback m_promiscReceive;
    TracedCallback<> m_linkChange;

    template <typename... Ts>
    using Watched = WatchedTrace<QbbNetDevice, Ts...>;
    Watched<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameTx{*this};
    Watched<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameRx{*this};
    Watched<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameEnqueue{*this};
    TracedCallback<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameLost;
    TracedCallback<Ptr<const QbbNetDevice>, uint8_t, bool> m_pfc;
    Watched<Ptr<const Packet>> m_phyTxBegin{*this};
    Watched<Ptr<const Packet>> m_phyRxEnd{*this};
    TracedCallback<Ptr<const Packet>> m_macTx;
    TracedCallback<Ptr<const Packet>> m_macRx;
    TracedCallback<Ptr<const Packet>> m_macTxDrop;

    std::array<Queue, PRIORITIES> m_queues;
    std::array<int64_t, PRIORITIES> m_credit{}; ///< weighted round robin, bytes
    std::array<uint32_t, PRIORITIES> m_weight;
    uint64_t m_rateBps{0};

    // hot: two cache lines, last so that the wire, made next, is mostly on the same page
    alignas(64) QbbFrame* m_control{nullptr}; ///< PFC frames to send, newest first
    int64_t m_busyUntilPs{0};
    int64_t m_delayPs{0};
    SerializationDelay m_serialization;
    bool m_watched{false};    ///< somebody looks at the trace sources of frames
    uint8_t m_queuedMask{0};  ///< bit p: queue p holds frames
    uint8_t m_sourceReady{0}; ///< bit p: the source has a frame of priority p
    uint8_t m_pausedMask{0};  ///< bit p: paused by the far end
    uint8_t m_pausingMask{0}; ///< bit p: the far end is paused by us
    uint8_t m_turn{1};        ///< priority whose turn it is in the round robin
    bool m_transmitArmed{false};
    bool m_linkUp{false};
    uint16_t m_port{0};
    uint32_t m_loudQueued{0}; ///< frames in the queues that will not arrive quietly
    uint32_t m_nodeId{0};
    QbbPortHandler* m_handler{nullptr};
    QbbWire* m_wire{PeekPointer(m_wireRef)};
    QbbFrameSource* m_source{nullptr};
    QbbLateWork* m_late{nullptr}; ///< of the node, or of a host's port alone
    QbbFramePool* m_pool{PeekPointer(m_poolRef)};
    QbbPortCounters m_counters; ///< its first three still in the second line
};

} // namespace ns3

#endif /* QBB_NET_DEVICE_H */
