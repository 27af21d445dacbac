/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NVLS_TIMES_H
#define NVLS_TIMES_H

#include "astra-frontend/model/graph/nvls-graph.h"
#include "plan-times.h"

#include <cstdint>
#include <memory>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Times of GPUs in an NvlsGraph: operations of NVSwitches, trees between nodes, and copies.
 */
class NvlsTimes : public PlanTimes
{
  public:
    /// @param stepLatency overrides the plan's latency of messages between nodes, if not negative
    NvlsTimes(std::shared_ptr<const NvlsGraph> graph, const NcclPlan& plan, TimePs stepLatency);

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

  private:
    /// @return what the warps of a channel that scatter or gather copy; 0 for no limit
    double CopyGBps(uint32_t rank, uint32_t tree, bool scatters) const;
    LaneTimes CopyTimes(uint32_t rank, uint32_t tree, bool scatters) const;
    LaneTimes SwitchTimes(uint32_t rank, const Lane& lane) const;
    LaneTimes BetweenNodes() const;

    std::shared_ptr<const NvlsGraph> m_graph;
};

} // namespace AstraSim

#endif /* NVLS_TIMES_H */
