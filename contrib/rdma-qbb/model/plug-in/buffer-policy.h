/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BUFFER_POLICY_H
#define BUFFER_POLICY_H

#include "ns3/object.h"
#include "ns3/qbb-frame.h"

#include <cstdint>

namespace ns3
{

class SwitchMmu;
class SwitchNode;

/**
 * @ingroup rdma-qbb
 * @brief Decides what a switch with a shared buffer does with each frame that arrives: a plug-in.
 *
 * One object serves one switch, made by SwitchMmu from its attribute BufferPolicyType. The two
 * policies of the tree, DynamicThresholds and StaticThresholds, are built into SwitchMmu, and
 * others may derive from them (buffer-thresholds.h). A switch with another policy asks it for
 * every frame.
 *
 * A policy reads pools, headroom and queues from the switch's SwitchMmu. It never overrides what
 * the buffer can hold: a frame that it admits is dropped if there is no room.
 */
class BufferPolicy : public Object
{
  public:
    /// A decision about a frame.
    enum class Verdict : uint8_t
    {
        Admit, ///< to its ingress's share, or beyond the threshold to the headroom, if any is left
        Mark,  ///< the same, with CE if the frame is ECN-capable
        Drop,
        Trim, ///< without its payload, in priority 0; the receiver then asks for it at once. Frames
              ///< other than data are dropped.
    };

    static TypeId GetTypeId();

    /**
     * Decide about a frame that has arrived and is not counted yet.
     * @param frame the frame; frame.inPort is the port it came in by
     * @param outPort port that it is to leave by
     * @param node the switch
     * @param nowPs current time
     */
    virtual Verdict OnArrival([[maybe_unused]] const QbbFrame& frame,
                              [[maybe_unused]] uint16_t outPort,
                              [[maybe_unused]] const SwitchNode& node,
                              [[maybe_unused]] int64_t nowPs)
    {
        return Verdict::Admit;
    }

    /// The paths are known. @param longestRttPs of a full frame and its ACK between any two hosts
    /// on the idle fabric; 0 if only NVLinks join them
    virtual void FitToPaths([[maybe_unused]] SwitchNode& node,
                            [[maybe_unused]] int64_t longestRttPs)
    {
    }

    /// A frame has left its queue, and its bytes are no longer counted.
    virtual void OnDeparture([[maybe_unused]] const QbbFrame& frame,
                             [[maybe_unused]] uint16_t outPort,
                             [[maybe_unused]] const SwitchNode& node,
                             [[maybe_unused]] int64_t nowPs)
    {
    }

    /**
     * Say how much an ingress may hold of the shared pool: at a lossless priority, its partner is
     * paused there; at a lossy one, frames beyond are dropped. A function of the arguments and of
     * the configuration only, since the search for deadlocks asks it about other moments, too.
     * @param mmu the buffer
     * @param port the ingress
     * @param sharedUsed bytes of the shared pool in use
     * @return bytes
     */
    virtual uint64_t GetThreshold(const SwitchMmu& mmu,
                                  uint32_t port,
                                  uint8_t priority,
                                  uint64_t sharedUsed) const = 0;

    /// Fix the random streams. @return how many were used
    virtual int64_t AssignStreams([[maybe_unused]] int64_t stream)
    {
        return 0;
    }
};

} // namespace ns3

#endif /* BUFFER_POLICY_H */
