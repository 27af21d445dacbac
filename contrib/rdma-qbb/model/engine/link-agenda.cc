/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-agenda.h"

#include "link-port.h"

#include "ns3/fetch-lines.h"
#include "ns3/log.h"
#include "ns3/nstime.h"
#include "ns3/qbb-timeline.h"
#include "ns3/simulator.h"

#include <iomanip>
#include <utility>

namespace ns3
{

// The agenda is a sorted list of the ends of transmissions of its ports, a timer, and m_duePs,
// the earlier of both. A key packs the time and the port into 64 bits; the highest bits of the
// time are lost, so keys are compared and times advanced by differences. Ends of ports of one
// rate come in order, so insertion is nearly always at the back. Settle(), in the header, costs
// one comparison when nothing is due; otherwise CarryOut() goes through the due ends in order,
// each with its own time, as one departure may add another. Where an event must mark a departure
// (IsExact), AddEnd() also schedules one, which calls Settle(). At a host, departures come last
// among the events of one time (SettleDue). Ports to another partition list their work for the
// end of the window (LateWork).

namespace
{

constexpr uint32_t PORT_BITS = 16;
constexpr uint64_t TIME = UINT64_MAX << PORT_BITS;

/// Ends are close together: the difference of two tells the earlier one even where the time's
/// highest bits are lost.
bool
IsEarlier(uint64_t a, uint64_t b)
{
    return static_cast<int64_t>(a - b) < 0;
}

#ifdef NS3_LOG_ENABLE

/// Work that is carried out late: NS_LOG's prefix shows its own time instead of Simulator::Now().
class LogTime
{
  public:
    explicit LogTime(int64_t timePs)
        : m_before(std::exchange(g_timePs, timePs))
    {
    }

    ~LogTime()
    {
        g_timePs = m_before;
    }

    LogTime(const LogTime&) = delete;
    LogTime& operator=(const LogTime&) = delete;

    /// Have NS_LOG show it.
    static void Install()
    {
        Simulator::GetImplementation(); // which installs a printer of its own when it is made
        LogSetTimePrinter(&Print);
    }

  private:
    static void Print(std::ostream& os)
    {
        const Time time = g_timePs < 0 ? Simulator::Now() : PicoSeconds(g_timePs);
        const std::ios::fmtflags flags = os.flags();
        const std::streamsize precision = os.precision();
        os << std::fixed << std::setprecision(12) << time.As(Time::S);
        os.flags(flags);
        os.precision(precision);
    }

    static inline thread_local int64_t g_timePs{-1}; ///< -1: no work is late
    int64_t m_before;
};

#else

struct LogTime
{
    explicit LogTime(int64_t)
    {
    }

    static void Install()
    {
    }
};

#endif

} // namespace

/// The work, as the simulator sees it.
class LinkAgenda::LateWork final : public QbbLateWork
{
  public:
    LateWork(LinkAgenda* agenda, uint32_t context)
        : QbbLateWork(context),
          m_agenda(agenda)
    {
    }

    /// The agenda ends.
    void Detach()
    {
        m_agenda = nullptr;
    }

    int64_t GetDuePs() const override
    {
        return m_agenda ? m_agenda->GetDuePs() : NEVER;
    }

    void CarryOut(int64_t untilPs) override
    {
        if (GetDuePs() <= untilPs)
        {
            m_agenda->CarryOut(untilPs);
        }
    }

  private:
    LinkAgenda* m_agenda;
};

LinkAgenda::LinkAgenda(Order order, int64_t& nodesDuePs)
    : m_nodesDuePs(&nodesDuePs),
      m_order(order),
      m_event(Create<Event>(this)),
      m_lastEvent(Create<LastEvent>(this))
{
    LogTime::Install();
}

LinkAgenda::~LinkAgenda()
{
    m_event->Detach();
    m_lastEvent->Detach();
    if (m_lateWork)
    {
        m_lateWork->Detach();
    }
}

void
LinkAgenda::LeadElsewhere(QbbTimeline& timeline, uint32_t context)
{
    if (!m_leadsElsewhere)
    {
        m_leadsElsewhere = true;
        m_timeline = &timeline;
        m_lateWork = Create<LateWork>(this, context);
    }
}

uint16_t
LinkAgenda::AddPort(LinkPort* port)
{
    m_ports.push_back(port);
    return static_cast<uint16_t>(m_ports.size() - 1);
}

void
LinkAgenda::Clear()
{
    m_ends.clear();
    m_first = 0;
    m_endPs = NEVER;
    m_timerPs = NEVER;
    m_duePs = NEVER;
    m_copy = nullptr;
    m_ports.clear();
}

void
LinkAgenda::FetchAhead() const
{
    FetchLines<2>(this);
}

void
LinkAgenda::SetDue(int64_t timePs)
{
    m_duePs = timePs;
    *m_nodesDuePs = std::min(*m_nodesDuePs, timePs);
    if (m_copy)
    {
        m_copy->SetSendersWorkDue(timePs);
    }
    if (m_leadsElsewhere && timePs != NEVER) [[unlikely]]
    {
        AwaitWindow();
    }
}

[[gnu::noinline]] void
LinkAgenda::AwaitWindow()
{
    if (!m_lateWork->isListed)
    {
        m_timeline->List(*m_lateWork);
    }
}

void
LinkAgenda::AddEnd(const LinkPort& port)
{
    const int64_t timePs = port.m_hot.busyUntilPs;
    const Key key = static_cast<Key>(timePs) << PORT_BITS | port.m_place;
    // Ports of equal rates add their ends in the order of time: a list with a moving front, not a
    // heap, and a search only for the few that come out of order.
    if (m_first == m_ends.size() || IsEarlier(m_ends.back(), key))
    {
        m_ends.push_back(key);
    }
    else
    {
        m_ends.insert(std::upper_bound(m_ends.begin() + m_first, m_ends.end(), key, IsEarlier),
                      key);
    }
    m_endPs = std::min(m_endPs, timePs);
    if (timePs < m_duePs)
    {
        SetDue(timePs);
    }
    if (IsExact())
    {
        AwaitEnd(port);
    }
}

void
LinkAgenda::AwaitEnd(const LinkPort& port)
{
    m_event->ScheduleAt(port.GetNodeId(), port.m_hot.busyUntilPs);
}

void
LinkAgenda::WakeAt(uint32_t context, int64_t timePs)
{
    if (timePs < m_wakePs)
    {
        m_wakePs = timePs;
        m_event->ScheduleAt(context, timePs);
    }
}

void
LinkAgenda::OnEvent(int64_t nowPs)
{
    Settle(nowPs);
    if (nowPs != m_wakePs)
    {
        return;
    }
    m_wakePs = NEVER;
    if (m_timerPs > nowPs && m_timerPs != NEVER)
    {
        m_ports[0]->AwaitWork(nowPs);
    }
}

inline void
LinkAgenda::CarryOutEnd()
{
    // Keys lack the highest bits of times; m_endPs has the whole time and goes on by differences.
    const int64_t timePs = m_endPs;
    const Key end = m_ends[m_first];
    LinkPort* port = PortOf(end);
    if (++m_first == m_ends.size())
    {
        m_ends.clear();
        m_first = 0;
        m_endPs = NEVER;
    }
    else
    {
        const Key next = m_ends[m_first];
        m_endPs += static_cast<int64_t>((next & TIME) - (end & TIME)) >> PORT_BITS;
        PortOf(next)->FetchNext();
        if (m_first + 1 < m_ends.size())
        {
            PortOf(m_ends[m_first + 1])->FetchAhead();
        }
    }
    port->OnTransmissionEnd(timePs);
}

void
LinkAgenda::SettleDue(int64_t nowPs)
{
    if (m_order == Order::First || m_isLast)
    {
        CarryOut(nowPs);
        return;
    }
    // A port of a host departs after all else of the same time, which may change the next frame.
    CatchUp(nowPs);
    if (m_duePs == nowPs && m_lastPs != nowPs)
    {
        m_lastPs = nowPs;
        m_lastEvent->ScheduleAt(m_ports[0]->GetNodeId(), nowPs);
    }
}

void
LinkAgenda::CarryOut(int64_t untilPs)
{
    if (m_settling)
    {
        return; // the work under way has asked for this node's state
    }
    m_settling = true;
    // A departure may add another end or timer that is due before untilPs: as long as one is.
    do
    {
        const LogTime time(std::min(m_timerPs, m_endPs));
        if (m_timerPs <= m_endPs)
        {
            m_ports[0]->OnTimer(std::exchange(m_timerPs, NEVER));
        }
        else
        {
            CarryOutEnd();
        }
        SetDue(std::min(m_timerPs, m_endPs));
    } while (m_duePs <= untilPs);
    m_settling = false;
    if (m_timerPs != NEVER)
    {
        m_ports[0]->AwaitWork(untilPs);
    }
    if (m_first >= m_ports.size())
    {
        m_ends.erase(m_ends.begin(), m_ends.begin() + static_cast<std::ptrdiff_t>(m_first));
        m_first = 0;
    }
}

void
LinkAgenda::OnLast(int64_t nowPs)
{
    m_isLast = true;
    m_lastPs = INT64_MIN; // work that is set from here on may be due now, too
    Settle(nowPs);
    m_isLast = false;
}

void
LinkAgenda::HoldExact()
{
    if (m_exactHolds++ > 0)
    {
        return;
    }
    for (std::size_t i = m_first; i < m_ends.size(); ++i)
    {
        AwaitEnd(*PortOf(m_ends[i]));
    }
}

void
LinkAgenda::ReleaseExact()
{
    --m_exactHolds;
}

} // namespace ns3
