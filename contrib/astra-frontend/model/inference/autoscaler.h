/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef AUTOSCALER_H
#define AUTOSCALER_H

#include "astra-frontend/model/inference/input/autoscale-config.h"

#include <cstdint>
#include <deque>
#include <utility>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Decides how many instances there should be, as Kubernetes' Horizontal Pod Autoscaler does.
 *
 * With n instances and a mean metric m of each, that is ceil(n m / target), or n while the ratio is
 * within a tenth of 1. The number sinks to the largest that was wanted within a window of time.
 *
 * @code
 * Autoscaler scaler(config, 8);
 * const uint32_t wanted = scaler.Decide(present, total, now);
 * @endcode
 */
class Autoscaler
{
  public:
    /// @param config borrowed @param most instances that there can be
    Autoscaler(const AutoscaleConfig& config, uint32_t most);

    /// @param present instances that serve or start @param total the metric, summed over them
    /// @return how many there should be from @p now on
    uint32_t Decide(uint32_t present, double total, TimePs now);

  private:
    const AutoscaleConfig& m_config;
    uint32_t m_most;
    std::deque<std::pair<TimePs, uint32_t>> m_wanted; ///< within the window, oldest first
};

} // namespace AstraSim

#endif /* AUTOSCALER_H */
