/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STEP_TIMES_H
#define STEP_TIMES_H

#include "channel-speeds.h"

#include "ns3/gpu-model.h"

#include <optional>

namespace AstraSim
{

/// @ingroup collectives
/// @brief Times that follow from a channel's speeds, or from one latency that the user gives in
/// place of all of NCCL's (AS_SEND_LAT).
class StepTimes : public GpuModel
{
  protected:
    /// @param givenLatency of the user's, before every message
    StepTimes(const ChannelSpeeds& speeds, std::optional<TimePs> givenLatency)
        : m_speeds(speeds),
          m_givenLatency(givenLatency)
    {
    }

    const ChannelSpeeds& GetSpeeds() const
    {
        return m_speeds;
    }

    /// @return whether NCCL's latencies count, not one of the user's
    bool HasOwnLatency() const
    {
        return !m_givenLatency;
    }

    /// @return software latency of a message within a node
    TimePs NodeLatency() const
    {
        return m_givenLatency.value_or(m_speeds.intraLatency);
    }

    /// @return software latency of a message, or of an operation of switches, between nodes
    TimePs NetLatency() const
    {
        return m_givenLatency.value_or(m_speeds.net.latency);
    }

  private:
    ChannelSpeeds m_speeds;
    std::optional<TimePs> m_givenLatency;
};

} // namespace AstraSim

#endif /* STEP_TIMES_H */
