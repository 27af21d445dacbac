/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SWITCH_MMU_H
#define SWITCH_MMU_H

#include "buffer-counts.h"
#include "buffer-limits.h"

#include "ns3/buffer-policy.h"
#include "ns3/link-node.h"
#include "ns3/object.h"
#include "ns3/random-variable-stream.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

// Hot path: Admit, Release and ShouldMark run once per packet and switch.

/**
 * @ingroup rdma-qbb
 * @brief The shared buffer of a switch: how much each queue may occupy, when to pause and to mark.
 *
 * An ingress (port, priority) fills its guaranteed reserve first, then the shared pool up to the
 * pause threshold, then its headroom, which holds the frames between the pause and its effect.
 * Priority 0 (control) is never paused. The bytes of each are BufferCounts, their bounds
 * BufferLimits; here is the decision about each frame.
 *
 * An egress queue of a lossy priority may have a dynamic threshold of its own (LossyQueueAlpha).
 *
 * The pause threshold is dynamic, alpha * (free shared bytes), or static, or a BufferPolicy says
 * it. No threshold gives out room that is taken: a frame of a lossless priority goes to its
 * headroom instead, which pauses the partner, and one of a lossy priority is dropped. So the switch
 * never holds more than its buffer. Next to lossless priorities, lossy ones have their reserves in
 * the shared pool, if it has room.
 *
 * Bytes are bytes on the wire, as in QbbFrame::wireBytes.
 *
 * Public queries answer as of the present moment. A switch's calls for each frame are as of the
 * frame's moment, which comes first.
 */
class SwitchMmu : public Object
{
  public:
    static constexpr uint8_t PRIORITIES = BufferCounts::PRIORITIES;
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
    void SetCredits(uint32_t port, uint64_t bytes)
    {
        m_limits.SetCredits(port, bytes);
    }

    /// Set the marking thresholds of a port, in place of the attributes'.
    void SetEcn(uint32_t port, const EcnThresholds& thresholds);

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
        m_counts.Remove(inPort, outPort, priority, bytes);
    }

    /**
     * Take in a frame that leaves at once.
     * @return true if Admit() and Release() would leave no trace but the peak, and nobody would be
     * paused or resumed; false if that is not certain (nothing is accounted)
     */
    bool PassThrough(uint32_t inPort, uint8_t priority, uint32_t bytes)
    {
        const bool passes = IsEasy(inPort, priority, bytes);
        if (passes)
        {
            m_counts.Pass(priority, bytes);
        }
        return passes;
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
            m_counts.AddShared(m_counts.Of(inPort, priority), bytes);
        }
        m_counts.Add(outPort, priority, bytes);
        return true;
    }

    /// @return whether the partner of an ingress must be paused now (and is not yet)
    bool ShouldPause(uint32_t port, uint8_t priority) const
    {
        const BufferCounts::Ingress& in = m_counts.Of(port, priority);
        return !in.paused && m_limits.IsLossless(priority) &&
               (in.headroomBytes > 0 || m_counts.SharedOf(in) >= ThresholdNow(port, priority)) &&
               !m_limits.HasCredits(port);
    }

    /// @return whether the partner of an ingress is paused and may be resumed
    bool ShouldResume(uint32_t port, uint8_t priority) const
    {
        const BufferCounts::Ingress& in = m_counts.Of(port, priority);
        return in.paused && MayResume(in, ThresholdNow(port, priority), m_counts.GetSharedUsed());
    }

    /// Remember that the partner of an ingress has been paused or resumed.
    void SetPaused(uint32_t port, uint8_t priority, bool paused);

    /// @return whether a frame that leaves behind this egress queue is marked CE (draws at random)
    bool ShouldMark(uint32_t port, uint8_t priority)
    {
        const uint64_t queue = m_counts.GetEgressBytes(port, priority);
        return queue > m_limits.GetEcn(port).kminBytes && DrawMark(m_limits.GetEcn(port), queue);
    }

    // --- for observers and buffer policies
    /// @return how the buffer is divided
    const BufferLimits& GetLimits() const
    {
        return m_limits;
    }

    /// @return the bytes in the switch, as of the present moment
    const BufferCounts& GetCounts() const
    {
        return Present().m_counts;
    }

    /// @return shared bytes at which an ingress of @p port and of a lossless priority pauses its
    /// partner, and beyond which frames of a lossy one are dropped
    uint64_t GetThreshold(uint32_t port, uint8_t priority) const
    {
        return ThresholdAt(port, priority, GetCounts().GetSharedUsed());
    }

    /// @return bytes that may queue at a port before a frame is marked or a sender paused; several
    /// ports may have as many. 0 with a policy that is not built in: only that knows.
    uint64_t QuietBytes(uint32_t port) const
    {
        return m_policy
                   ? 0
                   : std::min(m_limits.GetEcn(port).kminBytes,
                              m_limits.LosslessThreshold(port, GetCounts().GetSharedUsed()) / 2);
    }

    /**
     * Think ahead to the time when all bytes but some have left.
     * @param leftBytes bytes that stay, by port and priority of their ingress
     * @return whether the partner of an ingress would not be resumed even then
     */
    bool StaysPaused(uint32_t port,
                     uint8_t priority,
                     const std::vector<BytesByPriority>& leftBytes) const;

    /// @return whether the static threshold is more than there is to share, so that a pause comes
    /// only when nothing is left
    bool IsThresholdOutOfReach() const
    {
        return !m_policy && !m_limits.settings.dynamic &&
               m_limits.GetStaticThreshold() > m_limits.GetSharedBytes();
    }

    /// Fix the random streams of marking and of the policy. @return how many were used
    int64_t AssignStreams(int64_t stream);

  private:
    /// Set an attribute, and divide the buffer again if it has been.
    template <auto MEMBER, typename Value>
    void SetAndPartition(Value value)
    {
        Present();
        m_limits.settings.*MEMBER = value;
        if (m_partitioned)
        {
            Partition();
        }
    }

    template <auto MEMBER, typename Value>
    Value Get() const
    {
        return m_limits.settings.*MEMBER;
    }

    /// @return this buffer, after its node's late work
    const SwitchMmu& Present() const
    {
        return m_node ? m_node->Present(*this) : *this;
    }

    /// @return whether an ingress has been paused or uses headroom
    bool IsPressed(uint32_t port, uint8_t priority) const
    {
        const BufferCounts::Ingress& in = m_counts.Of(port, priority);
        return in.paused || in.headroomBytes > 0;
    }

    /// @return whether it is certain that a frame is admitted and that its ingress is not paused,
    /// need not be, and is not to be resumed
    bool IsEasy(uint32_t inPort, uint8_t priority, uint32_t bytes) const
    {
        return m_counts.GetTotalBytes() + m_counts.GetControlBytes() + bytes <=
                   m_limits.GetEasyBytes() &&
               !(m_pressed && IsPressed(inPort, priority));
    }

    /// @return whether a frame may join its egress queue
    bool QueueMayTake(uint32_t outPort, uint8_t priority, uint32_t bytes) const;

    /// Account a frame to its ingress. @return false if there is no room (nothing is accounted)
    bool Take(uint32_t inPort, uint8_t priority, uint32_t bytes);

    /// ShouldMark() for a queue above kmin.
    bool DrawMark(const EcnThresholds& ecn, uint64_t queue);

    /// @return whether an ingress may be resumed while others hold the rest of @p sharedUsed bytes
    bool MayResume(const BufferCounts::Ingress& in, uint64_t threshold, uint64_t sharedUsed) const
    {
        const uint64_t shared = m_counts.SharedOf(in);
        const uint64_t offset = m_limits.settings.resumeOffset;
        return in.headroomBytes == 0 &&
               (shared == 0 ||
                (shared + offset <= threshold && sharedUsed + offset <= m_limits.GetSharedBytes()));
    }

    /// @return whether so many bytes fit into the room outside of all reserves and headroom
    bool Fits(uint64_t bytes) const
    {
        // The common bytes are a part of the total, so most calls need not count them.
        const uint64_t room = m_limits.GetCommonBytes();
        return m_counts.GetTotalBytes() + bytes <= room ||
               m_counts.CountCommonBytes(m_limits.GetLosslessMask()) + bytes <= room;
    }

    /// @return the limit of an ingress while so many shared bytes are used
    uint64_t ThresholdAt(uint32_t port, uint8_t priority, uint64_t sharedUsed) const
    {
        if (m_policy) [[unlikely]]
        {
            return m_policy->GetThreshold(*this, port, priority, sharedUsed);
        }
        return m_limits.Threshold(port, priority, sharedUsed);
    }

    uint64_t ThresholdNow(uint32_t port, uint8_t priority) const
    {
        return ThresholdAt(port, priority, m_counts.GetSharedUsed());
    }

    TypeId GetPolicyType() const;

    BufferCounts m_counts;
    BufferLimits m_limits;
    bool m_pressed{false}; ///< some ingress has been paused or has used headroom
    bool m_partitioned{false};
    BufferPolicy* m_policy{nullptr}; ///< of m_policyRef
    const LinkNode* m_node{nullptr}; ///< see SetNode()
    Ptr<BufferPolicy> m_policyRef;   ///< null if the policy is built in
    int64_t m_markStream{-1};
    Ptr<UniformRandomVariable> m_markVariable; ///< made for the first frame that it decides on
};

} // namespace ns3

#endif /* SWITCH_MMU_H */
