/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-thread-pace.h"

#include <algorithm>

namespace ns3
{

void
QbbThreadPace::NoteWindow(Duration wall, uint64_t events)
{
    m_wall += wall;
    m_serialWindows += !m_isParallel;
    if (--m_left > 0)
    {
        return;
    }
    const double seconds = std::max(std::chrono::duration<double>(m_wall).count(), 1e-9);
    const double rate = static_cast<double>(events - m_firstEvents) / seconds;
    switch (m_phase)
    {
    case Phase::TryParallel:
        m_parallelRate = rate;
        Begin(Phase::TrySerial, false, TRIAL, events);
        break;
    case Phase::TrySerial: {
        const bool isParallel = m_parallelRate >= rate;
        Begin(Phase::Stretch, isParallel, isParallel ? STRETCH : m_serial, events);
        m_serial = isParallel ? FIRST_SERIAL : std::min(2 * m_serial, LAST_SERIAL);
        break;
    }
    case Phase::Stretch:
        Begin(Phase::TryParallel, true, TRIAL, events);
        break;
    }
}

void
QbbThreadPace::Begin(Phase phase, bool isParallel, uint32_t windows, uint64_t events)
{
    m_phase = phase;
    m_isParallel = isParallel;
    m_left = windows;
    m_firstEvents = events;
    m_wall = Duration(0);
}

} // namespace ns3
