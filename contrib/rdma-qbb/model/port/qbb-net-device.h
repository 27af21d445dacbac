/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_NET_DEVICE_H
#define QBB_NET_DEVICE_H

#include "qbb-channel.h"
#include "watched-trace.h"

#include "ns3/address.h"
#include "ns3/data-rate.h"
#include "ns3/link-port.h"
#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/nstime.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/queue-weights.h"
#include "ns3/random-variable-stream.h"
#include "ns3/traced-callback.h"

#include <array>
#include <cstdint>

namespace ns3
{

class LinkCredits;
class LinkProtection;

/**
 * @ingroup rdma-qbb
 * @brief A full-duplex Ethernet port with eight priority queues and priority flow control.
 *
 * Models IEEE 802.1Qbb: a paused priority sends no new frame until it is resumed or its pause time
 * runs out; a frame that has begun is finished. Priority 0 goes first (strict), the others share
 * the link by weighted round robin in bytes. PFC frames overtake everything.
 *
 * LinkPort has the queues and sends the frames; this class adds the choice among priorities,
 * pauses, and the ns-3 face.
 *
 * The device is an ordinary ns3::NetDevice as well: Send() carries any packet as a frame of kind
 * Other, in priority queue "OtherPriority", and the receive callbacks get it at the far end.
 *
 * Left out: auto-negotiation, collisions, per-frame FCS errors other than the channel's loss rate.
 */
class QbbNetDevice : public NetDevice, public LinkPort, public QbbChannelEnd
{
  public:
    static constexpr uint32_t MIN_WIRE_BYTES = QbbFrame::MIN_WIRE_BYTES;

    static TypeId GetTypeId();

    QbbNetDevice();
    /**
     * A port with the attributes and weights of @p model, at no node and on no cable, which nobody
     * watches. For CopyObject(): a fabric's ports differ little, and to construct one from its
     * attributes costs twenty times as much.
     */
    QbbNetDevice(const QbbNetDevice& model);
    ~QbbNetDevice() override;

    /// Tell the far end to pause or to resume a priority.
    void SendPfc(uint8_t priority, bool pause, int64_t nowPs);

    /// Send on in spite of the far end's pauses of @p priority, or heed them again from now on.
    void SetPauseIgnored(uint8_t priority, bool ignored, int64_t nowPs);

    /// @return bit p set: this port has paused priority p of the far end
    uint8_t GetPausingMask() const
    {
        return m_pausingMask;
    }

    /// @return counters; pausedPs includes a pause that lasts
    QbbPortCounters GetCounters(int64_t nowPs) const;

    /// @return the device at the far end, or null
    Ptr<QbbNetDevice> GetPeer() const
    {
        return m_peer;
    }

    /// @return the credits of the link; null if there are none
    LinkCredits* GetCredits() const;

    /// @return whether the link sends frames again that it loses
    bool Retries() const;

    /// A frame leaves this node's buffer, to which it came by this port.
    void ReturnCredit(uint8_t priority, uint32_t bytes, int64_t nowPs);

    /// Set the shares of priorities 1..7.
    void SetQueueWeights(const QueueWeights& weights)
    {
        m_weight = weights.weights;
    }

    /// @return the shares of priorities 1..7
    QueueWeights GetQueueWeights() const
    {
        return {m_weight};
    }

    /// Set the payload of a full RDMA frame: the unit of packet sequence numbers in the packets of
    /// PhyTxBegin and PhyRxEnd.
    void SetRdmaMtu(uint32_t bytes)
    {
        m_rdmaMtu = bytes;
    }

    /// Say how many bytes the longest frame occupies that a pause may have to wait for.
    void SetLongestFrame(uint32_t wireBytes)
    {
        m_longestFrame = wireBytes;
    }

    /// @return how long a pause of the far end lasts if it is not renewed; 0: until it is resumed
    int64_t GetPausePs() const;

    /// Somebody connects to a trace source of frames or queues.
    void OnWatched();

    /// Become an end of a cable; the second one joins both.
    void Attach(Ptr<QbbChannel> channel);

    // --- QbbChannelEnd
    void OnLinkChange(bool up) override;
    void OnRateChange(uint64_t rateBps) override;

    // --- LinkPort
    void ReceivePfc(const QbbFrame& frame, int64_t nowPs) override;
    void TraceRx(const QbbFrame& frame) override;

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
    /// Signature of "QueueBytes".
    typedef void (*QueueCallback)(Ptr<const QbbNetDevice> device,
                                  uint8_t priority,
                                  uint64_t before,
                                  uint64_t now);

  protected:
    void DoInitialize() override;
    void DoDispose() override;

    uint8_t ChoosePriority(uint8_t eligible) override;
    void OnChosen(uint8_t priority, uint32_t bytes) override;
    void TraceEnqueue(const QbbFrame& frame) override;
    void TraceTx(const QbbFrame& frame) override;
    void TraceLost(const QbbFrame& frame) override;

  private:
    /// @return the packet that a frame stands for, with these addresses
    Ptr<const Packet> MakePacket(const QbbFrame& frame,
                                 const Mac48Address& from,
                                 const Mac48Address& to) const;
    void JoinChannel(Ptr<QbbChannel> channel, Ptr<QbbNetDevice> peer);
    /// Set up what the ends of the link do for its frames.
    void ProtectLink(bool isLossy);
    /// Fire m_queueBytes if the bytes in a queue have changed since it last fired.
    void TraceQueue(uint8_t priority, uint64_t bytes);
    void ChangePause(uint8_t mask, int64_t nowPs);
    void OnPauseExpiry(int64_t nowPs);
    void OnPauseRefresh(int64_t nowPs);
    uint16_t PauseQuanta() const;

    using ExpiryEvent = QbbPortEvent<QbbNetDevice, &QbbNetDevice::OnPauseExpiry>;
    using RefreshEvent = QbbPortEvent<QbbNetDevice, &QbbNetDevice::OnPauseRefresh>;

    // choice among priorities
    std::array<int64_t, PRIORITIES> m_credit{}; ///< weighted round robin, bytes
    std::array<uint32_t, PRIORITIES> m_weight;
    uint8_t m_turn{1}; ///< priority that has its turn

    // flow control
    uint8_t m_pausingMask{0}; ///< bit p: the far end is paused by us
    uint8_t m_resumeMask{0};  ///< bit p: we have not told the far end to go on after a pause
    uint8_t m_ignoredMask{0}; ///< bit p: pauses of priority p are ignored
    bool m_refreshArmed{false};
    bool m_expiryArmed{false};
    Ptr<ExpiryEvent> m_expiryEvent;
    Ptr<RefreshEvent> m_refreshEvent;
    std::array<int64_t, PRIORITIES> m_pausedUntilPs{};
    int64_t m_pausedSincePs{0};
    Time m_pauseTime;
    uint32_t m_longestFrame{0};

    DataRate m_rate;
    uint8_t m_otherPriority{1};
    uint32_t m_otherQueueLimit{0};
    uint16_t m_mtu{9216};
    uint32_t m_rdmaMtu{1000};
    uint32_t m_ifIndex{0};
    Mac48Address m_address;
    Mac48Address m_peerAddress;
    Ptr<Node> m_node;
    Ptr<QbbChannel> m_channel;
    Ptr<QbbNetDevice> m_peer;
    LinkProtection* m_protection{nullptr}; ///< LinkPort's guard
    Ptr<UniformRandomVariable> m_lossVariable;
    NetDevice::ReceiveCallback m_receive;
    NetDevice::PromiscReceiveCallback m_promiscReceive;
    TracedCallback<> m_linkChange;

    template <typename... Ts>
    using Watched = WatchedTrace<QbbNetDevice, Ts...>;
    Watched<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameTx{*this};
    Watched<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameRx{*this};
    Watched<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameEnqueue{*this};
    Watched<Ptr<const QbbNetDevice>, uint8_t, uint64_t, uint64_t> m_queueBytes{*this};
    std::array<uint64_t, PRIORITIES> m_toldBytes{}; ///< the newest value of m_queueBytes
    TracedCallback<Ptr<const QbbNetDevice>, const QbbFrame&> m_frameLost;
    TracedCallback<Ptr<const QbbNetDevice>, uint8_t, bool> m_pfc;
    Watched<Ptr<const Packet>> m_phyTxBegin{*this};
    Watched<Ptr<const Packet>> m_phyRxEnd{*this};
    TracedCallback<Ptr<const Packet>> m_macTx;
    TracedCallback<Ptr<const Packet>> m_macRx;
    TracedCallback<Ptr<const Packet>> m_macTxDrop;
};

} // namespace ns3

#endif /* QBB_NET_DEVICE_H */
