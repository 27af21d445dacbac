/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_THREAD_PACE_H
#define QBB_THREAD_PACE_H

#include <chrono>
#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Finds out whether windows of a run are done sooner by several threads or by one.
 *
 * Threads that share a core with other programs wait for each other in every window, for much
 * longer than the window's work takes; and where little happens in a window, starting the threads
 * costs more than they save. So a few windows are tried both ways, and the faster way, by events
 * per second, goes on for a stretch, which becomes longer the more often it is one thread.
 */
class QbbThreadPace
{
  public:
    using Duration = std::chrono::steady_clock::duration;

    static constexpr uint32_t TRIAL = 16;         ///< windows
    static constexpr uint32_t STRETCH = 4096;     ///< windows, of several threads
    static constexpr uint32_t FIRST_SERIAL = 256; ///< windows: the first may not be like the others
    static constexpr uint32_t LAST_SERIAL = 1 << 17; ///< windows

    /// @return whether several threads run the next window
    bool IsParallel() const
    {
        return m_isParallel;
    }

    /// A window has been run. @param wall how long it took @param events of all partitions so far
    void NoteWindow(Duration wall, uint64_t events);

    /// @return windows that one thread ran
    uint64_t GetSerialWindows() const
    {
        return m_serialWindows;
    }

  private:
    enum class Phase : uint8_t
    {
        TryParallel,
        TrySerial,
        Stretch,
    };

    void Begin(Phase phase, bool isParallel, uint32_t windows, uint64_t events);

    Phase m_phase{Phase::TryParallel};
    bool m_isParallel{true};
    uint32_t m_left{TRIAL};          ///< windows of the phase
    uint64_t m_firstEvents{0};       ///< when the phase began
    Duration m_wall{0};              ///< of the phase
    double m_parallelRate{0};        ///< events per second of the last trial
    uint32_t m_serial{FIRST_SERIAL}; ///< windows of the next stretch of one thread
    uint64_t m_serialWindows{0};
};

} // namespace ns3

#endif /* QBB_THREAD_PACE_H */
