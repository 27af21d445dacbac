/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_CLOCK_H
#define QBB_CLOCK_H

#include "qbb-simulator-impl.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <cstdint>

namespace ns3
{

// Hot path: read once or more per message.

/// The current time, without the layers of Simulator::Now() where QbbSimulatorImpl runs.
class QbbClock
{
  public:
    /// @return the time in units of the time resolution (picoseconds)
    int64_t NowPs()
    {
        if (!m_asked) [[unlikely]]
        {
            m_asked = true;
            m_simulator = QbbSimulatorImpl::Get();
        }
        return m_simulator ? m_simulator->GetNowPs() : Simulator::Now().GetTimeStep();
    }

  private:
    QbbSimulatorImpl* m_simulator{nullptr}; ///< null if another implementation runs
    bool m_asked{false};                    ///< which implementation runs is known
};

} // namespace ns3

#endif /* QBB_CLOCK_H */
