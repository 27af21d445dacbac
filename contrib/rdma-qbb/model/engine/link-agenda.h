/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_AGENDA_H
#define LINK_AGENDA_H

#include "ns3/ptr.h"
#include "ns3/qbb-late-work.h"
#include "ns3/qbb-simulator-impl.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class LinkPort;
class LinkWire;
class QbbTimeline;

// Hot path: Settle runs twice per packet and hop.

/**
 * @ingroup rdma-qbb
 * @brief Departures of ports that share state. No event marks them; the agenda carries them out
 * before anyone can observe them.
 *
 * When a port ends a frame and the next one waits, or when the time has come that a port's source
 * has set, a frame enters the wire. Nobody notices before something happens at the node, or a frame
 * arrives at the far end; so this is no event of its own. It is carried out late, with its own time
 * and in the order of times, before an event may notice it: Settle().
 *
 * A switch's ports share its buffer and thus one agenda; each port of a host has its own. Where
 * somebody looks at frames, where the end of a transmission may have the partner resumed, and where
 * LinkEngine says so, each of these things is an event (it is exact). Frames enter a wire to
 * another partition by the end of the window.
 */
class alignas(64) LinkAgenda
{
  public:
    static constexpr int64_t NEVER = INT64_MAX;

    /// Order of its work among the events of the same time: a switch's comes first, a host's last.
    enum class Order : uint8_t
    {
        First,
        Last,
    };

    /// @param nodesDuePs never later than GetDuePs() of any of the node's agendas: lowered by this
    /// one
    LinkAgenda(Order order, int64_t& nodesDuePs);
    ~LinkAgenda();
    LinkAgenda(const LinkAgenda&) = delete;
    LinkAgenda& operator=(const LinkAgenda&) = delete;

    /// Add a port. @return its place here
    uint16_t AddPort(LinkPort* port);

    /// Keep a copy of GetDuePs() up to date at @p wire.
    void CopyDueTo(LinkWire* wire)
    {
        m_copy = wire;
    }

    /**
     * Frames may enter wires to other partitions.
     * @param timeline of this partition @param context the node's id
     */
    void LeadElsewhere(QbbTimeline& timeline, uint32_t context);

    /// The node ends: nothing more is carried out.
    void Clear();

    /// Carry out all that is due. @param nowPs the time now; work of this very time is due, too, at
    /// a host when all else of this time has happened
    void Settle(int64_t nowPs)
    {
        if (m_duePs <= nowPs)
        {
            SettleDue(nowPs);
        }
    }

    /// Carry out all that comes before an event of now.
    void CatchUp(int64_t nowPs)
    {
        const int64_t timePs = m_order == Order::First ? nowPs : nowPs - 1;
        if (m_duePs <= timePs)
        {
            CarryOut(timePs);
        }
    }

    /// @return the time at which the first work is due; NEVER without work
    const int64_t& GetDuePs() const
    {
        return m_duePs;
    }

    /// @return whether there is work at a time to come
    bool IsPending() const
    {
        return m_duePs != NEVER;
    }

    /// @return whether CarryOut() is under way
    bool IsSettling() const
    {
        return m_settling;
    }

    /// A port shall send its next frame when the one being sent ends.
    void AddEnd(const LinkPort& port);

    /// Carry out the end of this port's transmission at exactly its time.
    void AwaitEnd(const LinkPort& port);

    /// Call the port's source at this time; NEVER: not at all.
    void SetTimer(int64_t timePs)
    {
        m_timerPs = timePs;
        SetDue(std::min(m_timerPs, m_endPs));
    }

    /// Schedule an event of the node @p context at @p timePs that carries out work due then.
    void WakeAt(uint32_t context, int64_t timePs);

    /// @return the time set
    int64_t GetTimerPs() const
    {
        return m_timerPs;
    }

    /// One more, or one less, reason to carry out everything at exactly its time.
    void HoldExact();
    void ReleaseExact();

    /// @return whether there is such a reason
    bool IsExact() const
    {
        return m_exactHolds > 0;
    }

    /// Bring into the cache the lines that the work touches first.
    void FetchAhead() const;

  private:
    /// The end of a port's transmission in one number: time in the high bits, port in the lowest.
    using Key = uint64_t;

    class LateWork;

    void OnEvent(int64_t nowPs);

    /// All else that is scheduled for this time has happened.
    void OnLast(int64_t nowPs);

    void SetDue(int64_t timePs);
    /// Have it carried out by the end of the window in which it is due.
    void AwaitWindow();
    void SettleDue(int64_t nowPs);
    /// Do all work that is due up to this time.
    void CarryOut(int64_t untilPs);
    /// Carry out the first end.
    void CarryOutEnd();

    LinkPort* PortOf(Key end) const
    {
        return m_ports[static_cast<uint16_t>(end)];
    }

    // hot
    int64_t m_duePs{NEVER};   ///< the earlier one of the next two
    int64_t m_endPs{NEVER};   ///< when the first end is due
    int64_t m_timerPs{NEVER}; ///< when the source is to be called
    int64_t* m_nodesDuePs;    ///< when the first work of all ports of the node is due, or earlier
    LinkWire* m_copy{nullptr};
    std::size_t m_first{0}; ///< ends before it are done
    Order m_order;
    bool m_settling{false};
    bool m_leadsElsewhere{false};
    uint32_t m_exactHolds{0};
    std::vector<Key> m_ends; ///< earliest first; most are added at the end
    std::vector<LinkPort*> m_ports;
    int64_t m_lastPs{INT64_MIN}; ///< when work has last been put behind all else
    bool m_isLast{false};        ///< nothing is before it any more
    int64_t m_wakePs{NEVER};     ///< WakeAt() that is scheduled
    using Event = QbbPortEvent<LinkAgenda, &LinkAgenda::OnEvent>;
    using LastEvent = QbbPortEvent<LinkAgenda, &LinkAgenda::OnLast>;
    Ptr<Event> m_event;
    Ptr<LastEvent> m_lastEvent;
    QbbTimeline* m_timeline{nullptr}; ///< lists m_lateWork
    Ptr<LateWork> m_lateWork;
};

} // namespace ns3

#endif /* LINK_AGENDA_H */
