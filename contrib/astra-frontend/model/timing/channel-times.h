/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHANNEL_TIMES_H
#define CHANNEL_TIMES_H

#include "astra-frontend/model/graph/channel-graph.h"
#include "astra-frontend/model/nccl/nccl-plan.h"

#include "ns3/gpu-model.h"

#include <cstdint>
#include <memory>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Times of the connections of NCCL's channels, as a plan has them.
 *
 * In a server a block copies one message after the other, at the rate of its channel and after a
 * latency. Between servers there are two buffers, and the network sets the pace.
 */
class ChannelTimes : public GpuModel
{
  public:
    /// @param stepLatency overrides the plan's latencies of every message, if not negative
    ChannelTimes(std::shared_ptr<const ChannelGraph> graph,
                 const NcclPlan& plan,
                 TimePs stepLatency);

    /// @return the times between a rank and the lane's peer
    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

  protected:
    /// @return software latency of an operation of the network's switches
    TimePs SwitchLatency() const
    {
        return m_stepLatency >= 0 ? m_stepLatency : m_plan.interLatency;
    }

    /// @return whether the plan's latencies count, not one of the user's
    bool HasOwnLatency() const
    {
        return m_stepLatency < 0;
    }

    const NcclPlan& GetPlan() const
    {
        return m_plan;
    }

    const GroupShape& GetShape() const
    {
        return m_graph->GetShape();
    }

  private:
    std::shared_ptr<const ChannelGraph> m_graph;
    NcclPlan m_plan;
    TimePs m_stepLatency;
};

} // namespace AstraSim

#endif /* CHANNEL_TIMES_H */
