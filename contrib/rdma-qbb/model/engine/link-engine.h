/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_ENGINE_H
#define LINK_ENGINE_H

#include "ns3/object.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Says whether ends of transmissions on the links of a fabric are events.
 *
 * Ports and nodes (LinkPort, LinkNode) carry out the ends of transmissions and of gaps before
 * anything can observe them, instead of scheduling them. The attribute SendEvents schedules them.
 * Results stay the same but for ties: two events of the same picosecond may swap, and the times of
 * later events may then differ by the time of a frame.
 */
class LinkEngine : public Object
{
  public:
    static TypeId GetTypeId();

    LinkEngine();
    ~LinkEngine() override;

    /// @return whether ends of transmissions and of gaps may be left out
    bool MayLeaveOutSends() const
    {
        return !m_sendEvents;
    }

  private:
    bool m_sendEvents{false};
};

} // namespace ns3

#endif /* LINK_ENGINE_H */
