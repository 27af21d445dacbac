/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "autoscaler.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

constexpr double TOLERANCE = 0.1; // Kubernetes' --horizontal-pod-autoscaler-tolerance

} // namespace

Autoscaler::Autoscaler(const AutoscaleConfig& config, uint32_t most)
    : m_config(config),
      m_most(most)
{
}

uint32_t
Autoscaler::Decide(uint32_t present, double total, TimePs now)
{
    const double enough = total / m_config.target; // instances
    const bool isNear = std::abs(enough / present - 1) <= TOLERANCE;
    const double wanted = isNear ? present : std::ceil(std::min<double>(enough, m_most));
    const auto within = std::clamp(static_cast<uint32_t>(wanted), m_config.least, m_most);
    while (!m_wanted.empty() && m_wanted.front().first <= now - m_config.window)
    {
        m_wanted.pop_front();
    }
    m_wanted.emplace_back(now, within);
    uint32_t largest = 0;
    for (const auto& [time, number] : m_wanted)
    {
        largest = std::max(largest, number);
    }
    return within >= present ? within : std::min(largest, present);
}

} // namespace AstraSim
