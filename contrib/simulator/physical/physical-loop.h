/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PHYSICAL_LOOP_H
#define PHYSICAL_LOOP_H

#include "ns3/rank-network.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace AstraSim
{

/// Use of the time in which a rank computes.
enum class ComputeMode : uint8_t
{
    Spin,  ///< it keeps its core busy
    Sleep, ///< it leaves its core to others
    Skip,  ///< it takes no time
};

/**
 * @ingroup simulator
 * @brief The clock of this machine and an agenda of events: the counterpart of EventLoop where time
 * passes by itself.
 *
 * Time 0 is when an iteration begins, the same moment on all ranks.
 */
class PhysicalLoop
{
  public:
    explicit PhysicalLoop(ComputeMode compute)
        : m_compute(compute)
    {
    }

    /// @return the machine's monotonic clock in ns
    static int64_t MonotonicNs();

    /// Let time 0 be when MonotonicNs() is @p monotonicNs, and forget the scheduled events.
    void SetStart(int64_t monotonicNs);

    /// @return time since the start
    TimePs Now() const
    {
        return (MonotonicNs() - m_startNs) * 1000;
    }

    /// Run @p handler with @p arg when @p delay has passed; a delay above 0 is a computation.
    void Schedule(TimePs delay, MessageHandler handler, void* arg);

    /**
     * @param progress moves the network on; returns whether anything has happened
     * @param done asked after each round
     * @return whether it is done; false if Interrupt() was called first
     */
    bool RunUntil(const std::function<bool()>& progress, const std::function<bool()>& done);

    /// Have RunUntil() return soon; from any thread.
    void Interrupt()
    {
        m_interrupted.store(true, std::memory_order_relaxed);
    }

    bool IsInterrupted() const
    {
        return m_interrupted.load(std::memory_order_relaxed);
    }

    /// @return handlers that have run
    uint64_t GetEventCount() const
    {
        return m_count;
    }

  private:
    struct Timer
    {
        TimePs time;
        uint64_t number;
        MessageHandler handler;
        void* arg;

        bool operator>(const Timer& other) const
        {
            return time != other.time ? time > other.time : number > other.number;
        }
    };

    bool RunPresent();
    bool RunTimers();
    void Idle();

    ComputeMode m_compute;
    int64_t m_startNs{0};
    std::priority_queue<Timer, std::vector<Timer>, std::greater<>> m_timers;
    std::vector<Timer> m_present; ///< to be run in the next round
    std::vector<Timer> m_running; ///< of this round
    uint64_t m_count{0};
    uint32_t m_idleRounds{0};
    std::atomic<bool> m_interrupted{false};
};

} // namespace AstraSim

#endif /* PHYSICAL_LOOP_H */
