/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_LATE_WORK_H
#define QBB_LATE_WORK_H

#include "fetch-lines.h"

#include <cstdint>

namespace ns3
{

class QbbNetDevice;

// Hot path: Settle runs twice per packet and hop.

/**
 * @brief What a node's ports do at times of their own, and nobody notices at once.
 *
 * When a port ends a frame and the next one waits, or when a queue pair's gap between two frames is
 * over, a frame enters the wire. Nobody notices before something happens at the node, or a frame
 * arrives at the far end; so this is no event of its own. It is carried out late, with its own time
 * and in the order of times, before whatever may notice it: Settle().
 */
class QbbLateWork
{
  public:
    QbbLateWork() = default;
    QbbLateWork(const QbbLateWork&) = delete;
    QbbLateWork& operator=(const QbbLateWork&) = delete;

    /// Carry out what is due. @param nowPs the time now; what is due at this very time is, too
    void Settle(int64_t nowPs)
    {
        if (m_duePs <= nowPs)
        {
            SettleDue(nowPs);
        }
    }

    /// The same, if what is due at this very time comes after what happens now.
    void SettleBefore(int64_t nowPs)
    {
        Settle(nowPs - 1);
    }

    /// Bring what the work touches first into the cache, all at once.
    void FetchAhead() const
    {
        FetchLines<3>(this);
    }

    /// @return when the first of it is due; INT64_MAX for never
    const int64_t& GetDuePs() const
    {
        return m_duePs;
    }

    /// @return whether there is work at a time to come
    bool IsPending() const
    {
        return m_duePs != NEVER;
    }

    /**
     * A port shall send its next frame when the one being sent ends.
     * @param port whose QbbNetDevice::PeekBusyUntilPs() is when that is; not yet added
     */
    virtual void AddEnd(uint16_t port) = 0;

    /// Carry out the end of this port's transmission at exactly its time.
    virtual void Await(const QbbNetDevice& device) = 0;

    /**
     * No frame is under way whose arrival would have work settled: wake up in time for the arrival
     * of the next frame that this work sends; at its sending, if somebody looks at the port.
     */
    virtual void AwaitNext(int64_t nowPs)
    {
    }

  protected:
    static constexpr int64_t NEVER = INT64_MAX;

    ~QbbLateWork() = default;

    /// Settle() when something is due.
    virtual void SettleDue(int64_t nowPs) = 0;

    int64_t m_duePs{NEVER}; ///< when the first of it is due
};

} // namespace ns3

#endif /* QBB_LATE_WORK_H */
