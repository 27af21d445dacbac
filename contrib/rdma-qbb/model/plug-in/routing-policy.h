/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ROUTING_POLICY_H
#define ROUTING_POLICY_H

#include "ns3/object.h"
#include "ns3/qbb-frame.h"

#include <cstdint>
#include <span>
#include <string>

namespace ns3
{

class SwitchNode;

/**
 * @ingroup rdma-qbb
 * @brief Chooses among the ports of a switch that begin a shortest path: a plug-in.
 *
 * One object serves one switch, made by SwitchNode from its attribute RoutingPolicyType. Plain ECMP
 * (EcmpRouting) is built into SwitchNode; other policies are one file pair each.
 *
 * A policy that learns from frames says so (WatchesFrames()) and is then told of each frame that
 * its switch forwards: data, acknowledgements and all others, also where one port alone leads on.
 * One that writes into frames declares the bytes that these grow by (GetFieldBytes()). Data frames
 * then carry QbbTelemetry::routingField, which is 0 at the sender, and bring it back on their
 * acknowledgements. It is up to the policy to keep state per flow (by QbbFrame::hash) or per
 * destination (by QbbFrame::dst).
 */
class RoutingPolicy : public Object
{
  public:
    static TypeId GetTypeId();

    /**
     * @param ports two or more ports on shortest paths, all up
     * @param frame the frame to forward
     * @param node the switch
     * @param nowPs current time
     * @return one of @p ports
     */
    virtual uint16_t Choose(std::span<const uint16_t> ports,
                            const QbbFrame& frame,
                            const SwitchNode& node,
                            int64_t nowPs) = 0;

    /// @return whether OnForward() is to be called
    virtual bool WatchesFrames() const
    {
        return false;
    }

    /**
     * A frame has arrived and will leave by @p outPort, unless the buffer has no room for it.
     * @param frame any kind but Pfc; frame.inPort is the port it came in by. Its telemetry, which
     * may be null, has the policy's field.
     */
    virtual void OnForward([[maybe_unused]] QbbFrame& frame,
                           [[maybe_unused]] uint16_t outPort,
                           [[maybe_unused]] const SwitchNode& node,
                           [[maybe_unused]] int64_t nowPs)
    {
    }

    /// @return bytes on the wire of QbbTelemetry::routingField; 0: frames do not carry it
    virtual uint32_t GetFieldBytes() const
    {
        return 0;
    }

    /// @return whether frames of one queue pair may overtake each other
    virtual bool Reorders() const
    {
        return true;
    }

    /**
     * The paths are known, or have changed.
     * @param spreadPs most that a frame may be overtaken by on the idle paths of any two hosts
     * @return why frames may overtake each other although Reorders() says no, naming attribute and
     * value; empty if they may not
     */
    virtual std::string FitToPaths([[maybe_unused]] int64_t spreadPs)
    {
        return "";
    }

    /// Fix the random streams. @return how many were used
    virtual int64_t AssignStreams(int64_t stream)
    {
        return 0;
    }
};

} // namespace ns3

#endif /* ROUTING_POLICY_H */
