/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PLAN_TIMES_H
#define PLAN_TIMES_H

#include "astra-frontend/model/nccl/nccl-plan.h"

#include "ns3/gpu-model.h"

namespace AstraSim
{

/// @ingroup astra-frontend
/// @brief Times that follow from a plan of NCCL's, or from one latency that the user gives in place
/// of all of the plan's (AS_SEND_LAT).
class PlanTimes : public GpuModel
{
  protected:
    /// @param stepLatency overrides the plan's latencies of every message, if not negative
    PlanTimes(const NcclPlan& plan, TimePs stepLatency)
        : m_plan(plan),
          m_stepLatency(stepLatency)
    {
    }

    const NcclPlan& GetPlan() const
    {
        return m_plan;
    }

    /// @return whether the plan's latencies count, not one of the user's
    bool HasOwnLatency() const
    {
        return m_stepLatency < 0;
    }

    /// @return software latency of a message within a node
    TimePs NodeLatency() const
    {
        return HasOwnLatency() ? m_plan.intraLatency : m_stepLatency;
    }

    /// @return software latency of a message, or of an operation of switches, between nodes
    TimePs NetLatency() const
    {
        return HasOwnLatency() ? m_plan.interLatency : m_stepLatency;
    }

  private:
    NcclPlan m_plan;
    TimePs m_stepLatency;
};

} // namespace AstraSim

#endif /* PLAN_TIMES_H */
