/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SAMPLING_MONITOR_H
#define SAMPLING_MONITOR_H

#include "ns3/event-id.h"

#include <cstdint>

namespace ns3
{

/// When a monitor looks: at start, start + interval, ... and not after end. Picoseconds.
struct SamplingTimes
{
    int64_t startPs;
    int64_t endPs;
    int64_t intervalPs;
};

/**
 * @ingroup rdma-qbb
 * @brief Base of monitors that look at the fabric at regular times.
 *
 * Costs one simulator event per sample, however many objects are looked at. Stop() it when the run
 * is over, since the next sample keeps the event list from draining.
 */
class SamplingMonitor
{
  public:
    virtual ~SamplingMonitor();

    SamplingMonitor(const SamplingMonitor&) = delete;
    SamplingMonitor& operator=(const SamplingMonitor&) = delete;

    /// Take no more samples.
    void Stop();

  protected:
    /// @param times when to sample; the first sample is scheduled at once
    explicit SamplingMonitor(const SamplingTimes& times);

    /// Look at the fabric. @param nowPs the current time @param first whether it is the first
    /// sample
    virtual void Sample(int64_t nowPs, bool first) = 0;

    /// @return time between samples in picoseconds
    int64_t IntervalPs() const
    {
        return m_times.intervalPs;
    }

  private:
    void OnSample();

    SamplingTimes m_times;
    bool m_first{true};
    EventId m_event;
};

} // namespace ns3

#endif /* SAMPLING_MONITOR_H */
