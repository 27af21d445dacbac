/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SWITCH_MMU_H
#define SWITCH_MMU_H

#include "ns3/assert.h"
#include "ns3/buffer-policy.h"
#include "ns3/link-node.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rate-map.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

// Hot path: Admit, Release and ShouldMark run once per packet and switch.

/// RED-style marking of one port: probability 0 at kmin, pmax at kmax, 1 above.
struct EcnThresholds
{
    uint64_t kminBytes{UINT64_MAX};
    uint64_t kmaxBytes{UINT64_MAX};
    double pmax{0};
};

/**
 * @ingroup rdma-qbb
 * @brief The shared buffer of a switch: how much each queue may occupy, when to pause and to mark.
 *
 * Every byte in the switch is accounted twice: to its ingress (port, priority), which decides on
 * admission and PFC, and to its egress (port, priority), which decides on ECN. An ingress counter
 * fills its guaranteed reserve first, then the shared pool up to the pause threshold, then its
 * headroom, which holds the frames between the pause and its effect. Priority 0 (control) is
 * never paused and not accounted to the ingress.
 *
 * An egress queue of a lossy priority may have a dynamic threshold of its own (LossyQueueAlpha).
 *
 * The pause threshold is dynamic, alpha * (free shared bytes), or static, or a BufferPolicy says
 * it. No threshold gives out room that is taken: a frame of a lossless priority goes to its
 * headroom instead, which pauses the partner, and one of a lossy priority is dropped. So the switch
 * never holds more than its buffer. Next to lossless priorities, lossy ones have their reserves in
 * the shared pool, if it has room.
 *
 * Headroom of a lossless priority is 2 * delay * rate + 2 MTU + response time * rate, so that a
 * pause never comes too late: the frame in flight in each direction, the bytes on the wire, and
 * those sent until the partner has acted (IEEE 802.1Qbb Annex O; DCQCN, SIGCOMM 2015, section 4).
 * The last is at least a full frame, the one that crosses the threshold, and a PFC frame of each
 * priority.
 *
 * Bytes are bytes on the wire, as in QbbFrame::wireBytes.
 *
 * Public queries answer as of the present moment. A switch's calls for each frame are as of the
 * frame's moment, which comes first.
 */
class SwitchMmu : public Object
{
  public:
    static constexpr uint8_t PRIORITIES = 8;
    using BytesByPriority = std::array<uint64_t, PRIORITIES>;

    static TypeId GetTypeId();

    SwitchMmu();
    ~SwitchMmu() override;

    /**
     * Set the node of this buffer. The node carries out its late work before the buffer's state is
     * read or an attribute changes.
     * @param node null when the node is gone
     */
    void SetNode(const LinkNode* node)
    {
        m_node = node;
    }

    /// Use a policy of this type, an object of which is made for this buffer; BufferPolicy's own
    /// type: DynamicThresholds or StaticThresholds, as attribute DynamicThreshold says.
    void SetPolicyType(TypeId type);

    /// @return the policy; null for DynamicThresholds and StaticThresholds, which are built in
    BufferPolicy* GetPolicy() const
    {
        return m_policy;
    }

    /// Set the number of ports; before any other configuration.
    void SetPorts(uint32_t ports);

    /**
     * Say from which facts a port's headroom, thresholds and marking follow.
     * @param rateBps line rate
     * @param delayPs propagation delay to the partner
     * @param mtuWireBytes largest frame on the wire
     * @param alphaScale times attribute Alpha: the share of the free buffer that one (port,
     * priority) may take
     */
    void ConfigurePort(uint32_t port,
                       uint64_t rateBps,
                       int64_t delayPs,
                       uint32_t mtuWireBytes,
                       double alphaScale);

    /**
     * The far end of a port sends frames of lossless priorities by credit for this many bytes each
     * (LinkCredits): they are the headroom, and nobody is paused. Before Partition().
     */
    void SetCredits(uint32_t port, uint64_t bytes);

    /// Set the marking thresholds of a port, in place of the attributes'.
    void SetEcn(uint32_t port, const EcnThresholds& thresholds);

    /// @return the marking thresholds of ports of that rate, as the attributes say
    EcnThresholds EcnFor(uint64_t rateBps) const;

    /// @return whether the attributes list that rate, or hold for all
    bool ListsEcnFor(uint64_t rateBps) const;

    /**
     * Divide the buffer among reserves, headroom and the shared pool, as the attributes say; after
     * the last ConfigurePort(). A change of an attribute does so again.
     * @return the shared pool in bytes; 0 means that the buffer cannot hold reserves and headroom
     */
    uint64_t Partition();

    // --- for SwitchNode, as of the moment of the frame
    /**
     * Take in a frame.
     * @return false if there is no room (the frame is to be dropped, nothing is accounted)
     */
    bool Admit(uint32_t inPort, uint32_t outPort, uint8_t priority, uint32_t bytes);

    /// A frame leaves.
    void Release(uint32_t inPort, uint32_t outPort, uint8_t priority, uint32_t bytes)
    {
        NS_ASSERT(m_egress[IndexOf(outPort, priority)] >= bytes);
        m_egress[IndexOf(outPort, priority)] -= bytes;
        if (priority == 0)
        {
            m_controlBytes -= bytes;
            return;
        }
        Ingress& in = m_ingress[IndexOf(inPort, priority)];
        NS_ASSERT(in.bytes + in.headroomBytes >= bytes);
        const uint64_t fromHeadroom = std::min<uint64_t>(in.headroomBytes, bytes);
        const uint64_t before = SharedOf(in);
        in.headroomBytes -= fromHeadroom;
        in.bytes -= bytes - fromHeadroom;
        m_sharedUsed -= before - SharedOf(in);
        m_totalBytes -= bytes;
    }

    /**
     * Take in a frame that leaves at once.
     * @return true if Admit() and Release() would leave no trace but the peak, and nobody would be
     * paused or resumed; false if that is not certain (nothing is accounted)
     */
    bool PassThrough(uint32_t inPort, uint8_t priority, uint32_t bytes)
    {
        if (!IsEasy(inPort, priority, bytes))
        {
            return false;
        }
        if (priority > 0)
        {
            m_peakBytes = std::max(m_peakBytes, m_totalBytes + bytes);
        }
        return true;
    }

    /**
     * Take in a frame as Admit() does, if it is certain that nobody has to be paused for it.
     * @return whether it is (if not, nothing is accounted)
     */
    bool AdmitEasily(uint32_t inPort, uint32_t outPort, uint8_t priority, uint32_t bytes)
    {
        if (!IsEasy(inPort, priority, bytes))
        {
            return false;
        }
        if (priority > 0)
        {
            Ingress& in = m_ingress[IndexOf(inPort, priority)];
            const uint64_t before = SharedOf(in);
            in.bytes += bytes;
            m_sharedUsed += SharedOf(in) - before;
            m_totalBytes += bytes;
            m_peakBytes = std::max(m_peakBytes, m_totalBytes);
        }
        else
        {
            m_controlBytes += bytes;
        }
        m_egress[IndexOf(outPort, priority)] += bytes;
        return true;
    }

    /// @return whether the partner of an ingress must be paused now (and is not yet)
    bool ShouldPause(uint32_t port, uint8_t priority) const
    {
        const Ingress& in = m_ingress[IndexOf(port, priority)];
        return !in.paused && IsLossless(priority) &&
               (in.headroomBytes > 0 ||
                SharedOf(in) >= ThresholdAt(port, priority, m_sharedUsed)) &&
               m_ports[port].creditBytes == 0;
    }

    /// @return whether the partner of an ingress is paused and may be resumed
    bool ShouldResume(uint32_t port, uint8_t priority) const
    {
        const Ingress& in = m_ingress[IndexOf(port, priority)];
        return in.paused && MayResume(in, ThresholdAt(port, priority, m_sharedUsed), m_sharedUsed);
    }

    /// Remember that the partner of an ingress has been paused or resumed.
    void SetPaused(uint32_t port, uint8_t priority, bool paused);

    /// @return whether a frame that leaves behind this egress queue is marked CE (draws at random)
    bool ShouldMark(uint32_t port, uint8_t priority)
    {
        const uint64_t queue = m_egress[IndexOf(port, priority)];
        return queue > m_ports[port].ecn.kminBytes && DrawMark(m_ports[port].ecn, queue);
    }

    // --- state for observers, as of the present moment
    /// @return shared bytes at which an ingress of @p port and of a lossless priority pauses its
    /// partner, and beyond which frames of a lossy one are dropped
    uint64_t GetThreshold(uint32_t port, uint8_t priority) const
    {
        return ThresholdAt(port, priority, Present().m_sharedUsed);
    }

    /// @return bytes that may queue at a port before a frame is marked or a sender paused; several
    /// ports may have as many. 0 with a policy that is not built in: only that knows.
    uint64_t QuietBytes(uint32_t port) const
    {
        return m_policy ? 0
                        : std::min(m_ports[port].ecn.kminBytes,
                                   LosslessThresholdAt(port, Present().m_sharedUsed) / 2);
    }

    // --- for buffer policies
    /// @return DynamicThresholds' limit of an ingress while so many shared bytes are used
    uint64_t DynamicThreshold(uint32_t port, uint8_t priority, uint64_t sharedUsed) const
    {
        return PartOfFree(IsLossless(priority) ? m_ports[port].alpha : m_lossyAlpha, sharedUsed);
    }

    /// @return StaticThresholds' limit of an ingress
    uint64_t GetStaticThreshold() const
    {
        return m_staticThreshold;
    }

    /// @return number of ports
    uint32_t GetPortCount() const
    {
        return static_cast<uint32_t>(m_ports.size());
    }

    /// @return the priorities that PFC protects (bit p: priority p)
    uint8_t GetLosslessMask() const
    {
        return m_losslessMask;
    }

    /// @return whether PFC protects @p priority
    bool IsLossless(uint8_t priority) const
    {
        return m_losslessMask >> priority & 1;
    }

    /**
     * Think ahead to the time when all bytes but some have left.
     * @param leftBytes bytes that stay, by port and priority of their ingress
     * @return whether the partner of an ingress would not be resumed even then
     */
    bool StaysPaused(uint32_t port,
                     uint8_t priority,
                     const std::vector<BytesByPriority>& leftBytes) const;

    /// @return bytes of an ingress in its reserve and in the shared pool
    uint64_t GetIngressBytes(uint32_t port, uint8_t priority) const
    {
        return Present().m_ingress[IndexOf(port, priority)].bytes;
    }

    /// @return bytes of an ingress in its headroom
    uint64_t GetHeadroomBytes(uint32_t port, uint8_t priority) const
    {
        return Present().m_ingress[IndexOf(port, priority)].headroomBytes;
    }

    /// @return bytes that wait for an egress
    uint64_t GetEgressBytes(uint32_t port, uint8_t priority) const
    {
        return Present().m_egress[IndexOf(port, priority)];
    }

    /// @return headroom in bytes of each lossless priority of @p port
    uint64_t GetHeadroom(uint32_t port) const
    {
        return m_ports[port].headroom;
    }

    /// @return bytes of the headroom of all ports and lossless priorities
    uint64_t GetAllHeadroom() const;

    /// @return bytes of the packet buffer
    uint64_t GetBufferBytes() const
    {
        return m_bufferBytes;
    }

    /// @return whether the static threshold is more than there is to share, so that a pause comes
    /// only when nothing is left
    bool IsThresholdOutOfReach() const
    {
        return !m_policy && !m_dynamic && m_staticThreshold > m_sharedBytes;
    }

    /// @return bytes of the shared pool
    uint64_t GetSharedBytes() const
    {
        return m_sharedBytes;
    }

    /// @return bytes of the shared pool in use
    uint64_t GetSharedUsed() const
    {
        return Present().m_sharedUsed;
    }

    /// @return bytes in the switch that are accounted to an ingress
    uint64_t GetTotalBytes() const
    {
        return Present().m_totalBytes;
    }

    /// @return bytes of control frames in the switch, which are accounted to no ingress
    uint64_t GetControlBytes() const
    {
        return Present().m_controlBytes;
    }

    /// @return the largest GetTotalBytes() so far
    uint64_t GetPeakBytes() const
    {
        return Present().m_peakBytes;
    }

    /// Fix the random streams of marking and of the policy. @return how many were used
    int64_t AssignStreams(int64_t stream);

  private:
    struct Ingress
    {
        uint64_t bytes{0};         ///< in the reserve and the shared pool
        uint64_t headroomBytes{0}; ///< in the headroom
        bool paused{false};
    };

    struct Port
    {
        double alpha{0.125};
        uint64_t headroom{0};
        EcnThresholds ecn;
        // facts of the link, from which Derive() computes the members above
        uint64_t rateBps{0};
        int64_t delayPs{0};
        uint32_t mtuWireBytes{0};
        float alphaScale{1};
        bool hasOwnEcn{false};
        uint64_t creditBytes{0}; ///< 0: PFC
    };

    /// Set an attribute, and divide the buffer again if it has been.
    template <auto MEMBER, typename Value>
    void SetAndPartition(Value value)
    {
        Present();
        this->*MEMBER = value;
        if (m_partitioned)
        {
            Partition();
        }
    }

    template <auto MEMBER, typename Value>
    Value Get() const
    {
        return this->*MEMBER;
    }

    /// @return this buffer, after its node's late work
    const SwitchMmu& Present() const
    {
        return m_node ? m_node->Present(*this) : *this;
    }

    /// @return whether an ingress has been paused or uses headroom
    bool IsPressed(uint32_t port, uint8_t priority) const
    {
        const Ingress& in = m_ingress[IndexOf(port, priority)];
        return in.paused || in.headroomBytes > 0;
    }

    /// @return whether it is certain that a frame is admitted and that its ingress is not paused,
    /// need not be, and is not to be resumed
    bool IsEasy(uint32_t inPort, uint8_t priority, uint32_t bytes) const
    {
        return m_totalBytes + m_controlBytes + bytes <= m_easyBytes &&
               !(m_pressed && IsPressed(inPort, priority));
    }

    /// @return whether a frame may join its egress queue
    bool QueueMayTake(uint32_t outPort, uint8_t priority, uint32_t bytes) const;

    /// Account a frame to its ingress. @return false if there is no room (nothing is accounted)
    bool Take(uint32_t inPort, uint8_t priority, uint32_t bytes);

    /// Work out a port's limits from its facts and from the attributes.
    void Derive(Port& port) const;

    /// ShouldMark() for a queue above kmin.
    bool DrawMark(const EcnThresholds& ecn, uint64_t queue);

    /// @return bytes in the switch up to which every frame is admitted and no ingress pauses
    uint64_t WorkOutEasyBytes() const;

    /// @return whether an ingress may be resumed while others hold the rest of @p sharedUsed bytes
    bool MayResume(const Ingress& in, uint64_t threshold, uint64_t sharedUsed) const
    {
        const uint64_t shared = SharedOf(in);
        return in.headroomBytes == 0 &&
               (shared == 0 || (shared + m_resumeOffset <= threshold &&
                                sharedUsed + m_resumeOffset <= m_sharedBytes));
    }

    /// @return whether so many bytes fit into the room outside of all reserves and headroom
    bool Fits(uint64_t bytes) const
    {
        // The common bytes are a part of the total, so most calls need not count them.
        return m_totalBytes + bytes <= m_commonBytes || CountCommonBytes() + bytes <= m_commonBytes;
    }

    /// @return bytes outside the reserves and headroom of lossless priorities
    uint64_t CountCommonBytes() const;

    /// @return alpha times the shared bytes that are free while so many are used
    uint64_t PartOfFree(double alpha, uint64_t sharedUsed) const
    {
        const uint64_t free = sharedUsed < m_sharedBytes ? m_sharedBytes - sharedUsed : 0;
        return static_cast<uint64_t>(alpha * static_cast<double>(free));
    }

    /// The built-in policies' limit at a lossless priority.
    uint64_t LosslessThresholdAt(uint32_t port, uint64_t sharedUsed) const
    {
        return m_dynamic ? PartOfFree(m_ports[port].alpha, sharedUsed) : m_staticThreshold;
    }

    /// @return the limit of an ingress while so many shared bytes are used
    uint64_t ThresholdAt(uint32_t port, uint8_t priority, uint64_t sharedUsed) const
    {
        if (m_policy) [[unlikely]]
        {
            return m_policy->GetThreshold(*this, port, priority, sharedUsed);
        }
        return IsLossless(priority) ? LosslessThresholdAt(port, sharedUsed)
                                    : DynamicThreshold(port, priority, sharedUsed);
    }

    TypeId GetPolicyType() const;

    /// @return where m_ingress and m_egress have a port's counters of a priority. Few priorities
    /// are in use, so those of one priority lie together.
    std::size_t IndexOf(uint32_t port, uint8_t priority) const
    {
        return priority * m_ports.size() + port;
    }

    uint64_t SharedOf(const Ingress& in) const
    {
        return in.bytes > m_reserve ? in.bytes - m_reserve : 0;
    }

    std::vector<Ingress> m_ingress;
    std::vector<uint64_t> m_egress;
    std::vector<Port> m_ports;
    uint64_t m_sharedBytes{0};
    uint64_t m_commonBytes{0}; ///< the buffer without reserves and headroom of lossless priorities
    uint64_t m_sharedUsed{0};
    uint64_t m_totalBytes{0};
    uint64_t m_controlBytes{0};
    uint64_t m_peakBytes{0};
    uint64_t m_easyBytes{0};         ///< up to here IsEasy() need not look closer
    bool m_hasCredits{false};        ///< some port's far end sends by credit
    bool m_pressed{false};           ///< some ingress has been paused or has used headroom
    BufferPolicy* m_policy{nullptr}; ///< of m_policyRef

    const LinkNode* m_node{nullptr}; ///< see SetNode()
    uint64_t m_bufferBytes{0};
    uint64_t m_reserve{0};
    uint64_t m_resumeOffset{0};
    uint64_t m_staticThreshold{0};
    uint64_t m_configuredThreshold{0};
    Time m_responseTime;
    uint8_t m_losslessMask{0};
    bool m_dynamic{true};
    bool m_partitioned{false};
    double m_lossyAlpha{1};
    double m_lossyQueueAlpha{0}; ///< 0: no bound
    double m_alpha{0.125};
    RateMap m_ecnKmin;
    RateMap m_ecnKmax;
    RateMap m_ecnPmax;
    Ptr<BufferPolicy> m_policyRef; ///< null if the policy is built in
    int64_t m_markStream{-1};
    Ptr<UniformRandomVariable> m_markVariable; ///< made for the first frame that it decides on
};

} // namespace ns3

#endif /* SWITCH_MMU_H */
