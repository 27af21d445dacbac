/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_NODE_H
#define LINK_NODE_H

#include "link-agenda.h"

#include "ns3/fetch-lines.h"
#include "ns3/qbb-clock.h"
#include "ns3/qbb-frame.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

class LinkPort;
class Packet;

/**
 * @ingroup rdma-qbb
 * @brief A node as the links see it: a switch's forwarding, or a host's RDMA engine, with its
 * ports.
 *
 * Ports tell it of arrivals and departures, each with its time and in the order of times. All that
 * it shows to others it shows by way of Present(), since the ports may have more to do by then:
 * state that changes at a departure is then as it is at the present moment.
 *
 * One indirect call per arrival and one per departure is all the indirection of the packet path.
 * A derived class puts first the members that it needs first when a frame arrives: they follow
 * in the same three cache lines.
 */
class alignas(64) LinkNode
{
  public:
    LinkNode() = default;
    LinkNode(const LinkNode&) = delete;
    LinkNode& operator=(const LinkNode&) = delete;
    virtual ~LinkNode() = default;

    /**
     * A frame has arrived whole. The node owns it from here.
     * @param port index of the port at this node
     * @param frame any kind but Pfc
     * @param nowPs current time
     */
    virtual void OnFrameArrival(uint16_t port, QbbFrame* frame, int64_t nowPs) = 0;

    /// OnFrameArrival() of a class, called without a look at the object.
    using ArrivalCall = void (*)(LinkNode& node, uint16_t port, QbbFrame* frame, int64_t nowPs);

    /// @return a caller of T's OnFrameArrival(); without a table of virtual functions if that is
    /// final
    template <typename T>
    static ArrivalCall ArrivalCallOf()
    {
        return [](LinkNode& node, uint16_t port, QbbFrame* frame, int64_t nowPs) {
            static_cast<T&>(node).OnFrameArrival(port, frame, nowPs);
        };
    }

    /**
     * A wire asks once and keeps the answer: the object, and its table of virtual functions, are
     * seldom in the cache when a frame arrives, and the processor can run ahead where it knows
     * which code comes next.
     * @return a caller of OnFrameArrival() of this node's class
     */
    virtual ArrivalCall GetArrivalCall() const
    {
        return ArrivalCallOf<LinkNode>();
    }

    /// @return whether frames end here: the ports' work then changes nothing but their own state
    virtual bool IsEndpoint() const
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

    /// @return id of the ns-3 node; there is a port
    uint32_t GetNodeId() const
    {
        return m_nodeId;
    }

    // --- for LinkPort and LinkWire
    /// A port's place at its node.
    struct Place
    {
        uint16_t index;
        LinkAgenda& agenda;
        LinkPort& first; ///< the node's first port
    };

    /// Take the next port in.
    Place TakeIn(LinkPort& port, uint32_t nodeId);

    /// As CatchUp(), for observers of all nodes of a fabric: changes nothing where nothing is due.
    void CatchUpIfDue() const
    {
        const int64_t nowPs = m_clock.NowPs();
        if (m_duePs <= nowPs)
        {
            CatchUp(nowPs);
        }
    }

    /// Carry out all that comes before the present event.
    void CatchUp() const
    {
        CatchUp(m_clock.NowPs());
    }

    /// Carry out all that comes before an event of now.
    void CatchUp(int64_t nowPs) const
    {
        if (m_caughtUpPs != nowPs)
        {
            m_caughtUpPs = nowPs;
            if (m_duePs <= nowPs)
            {
                CatchUpPorts(nowPs);
            }
        }
    }

    /// Bring into the cache the lines that an arrival needs first.
    void FetchAhead() const
    {
        FetchLines<3>(this);
    }

    /// @return @p state, which departures from this node change, as it is at the present moment
    template <typename T>
    T& Present(T& state) const
    {
        CatchUp();
        return state;
    }

  protected:
    /// @return the time in picoseconds
    int64_t NowPs() const
    {
        return m_clock.NowPs();
    }

    /// From now on, departures are events, so that OnFrameDeparture() is called at its own time on
    /// the simulator's clock. Call it after the first port has been added.
    void NeedDeparturesInTime();

    /// The node ends: its ports do nothing more.
    void RemoveLinkPorts();

  private:
    void CatchUpPorts(int64_t nowPs) const;

    /// Members that frames do not touch, in another cache line.
    struct Ports
    {
        std::vector<std::unique_ptr<LinkAgenda>> agendas;
        LinkPort* first{nullptr};
        uint16_t count{0};
    };

    mutable int64_t m_caughtUpPs{INT64_MIN}; ///< when CatchUp() has last been called
    /// Nothing is due in an agenda before; most arrivals look at none.
    mutable int64_t m_duePs{LinkAgenda::NEVER};
    uint32_t m_nodeId{0};
    mutable QbbClock m_clock;
    std::unique_ptr<Ports> m_joined{std::make_unique<Ports>()};
};

} // namespace ns3

#endif /* LINK_NODE_H */
