/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_ENGINE_H
#define LINK_ENGINE_H

#include "ns3/object.h"
#include "ns3/ptr.h"

#include <vector>

namespace ns3
{

class LinkWire;

/**
 * @ingroup rdma-qbb
 * @brief Says which of the things that happen on the links of a connected fabric are events.
 *
 * Ports, wires and nodes (LinkPort, LinkWire, LinkNode) leave out events that nobody can tell from
 * what they do instead. What is left out can be switched off, each by an attribute; results stay
 * the same, byte by byte, and take longer.
 */
class LinkEngine : public Object
{
  public:
    static TypeId GetTypeId();

    LinkEngine();
    ~LinkEngine() override;

    /// A wire leads to a node at which frames end.
    void AddWireToEndpoint(Ptr<LinkWire> wire);

    /// @return whether arrivals at which nothing is decided may be left out
    bool MayLeaveOutArrivals() const
    {
        return !m_arrivalEvents;
    }

    /// @return whether ends of transmissions and of gaps may be left out
    bool MayLeaveOutSends() const
    {
        return !m_sendEvents;
    }

    /**
     * Frames on NVLink may be missing or overtake each other from now on: one has been lost, or a
     * connection has changed its way. Every arrival from now on is an event.
     */
    void OnDisorder();

  protected:
    void DoDispose() override;

  private:
    std::vector<Ptr<LinkWire>> m_wires; ///< to endpoints
    bool m_arrivalEvents{false};
    bool m_sendEvents{false};
};

} // namespace ns3

#endif /* LINK_ENGINE_H */
