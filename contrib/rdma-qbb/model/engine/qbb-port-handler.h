/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PORT_HANDLER_H
#define QBB_PORT_HANDLER_H

#include "fetch-lines.h"

#include "ns3/qbb-frame.h"

#include <cstdint>

namespace ns3
{

class Packet;
class QbbWire;

/**
 * @brief What stands behind the ports of a node: a switch's forwarding, or a host's RDMA engine.
 *
 * One indirect call per arrival and one per departure is all the indirection of the packet path.
 * What a derived class needs first when a frame arrives comes first among its members: they follow
 * in the same two cache lines.
 */
class alignas(64) QbbPortHandler
{
  public:
    virtual ~QbbPortHandler() = default;

    /**
     * A frame has arrived whole. The handler owns it from here.
     * @param port index of the port at this node
     * @param frame any kind but Pfc
     * @param nowPs current time
     */
    virtual void OnFrameArrival(uint16_t port, QbbFrame* frame, int64_t nowPs) = 0;

    /// Bring what an arrival needs first into the cache.
    void FetchAhead() const
    {
        FetchLines<2>(this);
    }

    /// OnFrameArrival() of a class, called without a look at the object.
    using ArrivalCall = void (*)(QbbPortHandler& handler,
                                 uint16_t port,
                                 QbbFrame* frame,
                                 int64_t nowPs);

    /// @return what calls T's OnFrameArrival(); without a table of virtual functions if that is
    /// final
    template <typename T>
    static ArrivalCall ArrivalCallOf()
    {
        return [](QbbPortHandler& handler, uint16_t port, QbbFrame* frame, int64_t nowPs) {
            static_cast<T&>(handler).OnFrameArrival(port, frame, nowPs);
        };
    }

    /**
     * A wire asks once and keeps the answer: the object, and its table of virtual functions, are
     * seldom in the cache when a frame arrives, and the processor can run ahead where it knows
     * which code comes next.
     * @return what calls OnFrameArrival() of this handler's class
     */
    virtual ArrivalCall GetArrivalCall() const
    {
        return ArrivalCallOf<QbbPortHandler>();
    }

    /// @return whether some frames may arrive quietly; the same for ever
    virtual bool HasQuietArrivals() const
    {
        return false;
    }

    /**
     * A data frame is on its way to a port of this node; asked once for each, in the order in which
     * they arrive. A frame arrives quietly if nothing but the node's own records of it changes:
     * OnFrameArrival() may then be called later than at the time it is told.
     * @param wire what it comes by
     */
    virtual bool ArrivesQuietly(const QbbFrame& frame, QbbWire& wire)
    {
        return false;
    }

    /// A frame from one of the port's queues begins to be sent (switches release its buffer).
    virtual void OnFrameDeparture(uint16_t port, QbbFrame& frame, int64_t nowPs)
    {
    }

    /**
     * An ordinary packet is about to be queued: fill in where it goes (src, dst, hash, ecn).
     * @param packet the packet, Ethernet header first
     * @param protocol its EtherType
     */
    virtual void OnOtherSend(uint16_t port,
                             QbbFrame& frame,
                             const Packet& packet,
                             uint16_t protocol)
    {
    }
};

/**
 * @brief Where a host's port takes data frames from that wait in no queue: its queue pairs.
 *
 * The source tells the port which priorities have a frame ready (QbbNetDevice::SetSourceReady).
 */
class QbbFrameSource
{
  public:
    virtual ~QbbFrameSource() = default;

    /**
     * @param priority one that the source said is ready
     * @param nowPs current time
     * @return the next frame of that priority, never null
     */
    virtual QbbFrame* PullFrame(uint8_t priority, int64_t nowPs) = 0;
};

} // namespace ns3

#endif /* QBB_PORT_HANDLER_H */
