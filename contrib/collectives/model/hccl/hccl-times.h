/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HCCL_TIMES_H
#define HCCL_TIMES_H

#include "hccl-graph.h"

#include "ns3/collective-algorithm.h"
#include "ns3/gpu-model.h"

#include <memory>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Times of an NPU's copy engine for the messages of a HcclGraph.
 *
 * In a server the engine copies one message of a lane after the other, each at the rate that HCCL
 * counts for a link; between servers the NIC moves them. Latencies are those that HCCL's profiler
 * expects of its tasks (task_profiling.h).
 */
class HcclTimes : public GpuModel
{
  public:
    HcclTimes(std::shared_ptr<const HcclGraph> graph, const CollectiveTask& task);

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

    /// @return how long HCCL's plan takes if each rank has its links and NICs to itself
    TimePs Estimate() const;

  private:
    /// @return picoseconds of a phase, and of one rank's sends or receives in it
    double EstimatePhase(uint32_t phase) const;
    double EstimateOf(uint32_t phase, uint32_t rank, bool outbound) const;

    bool IsNear(uint32_t rank, const Lane& lane) const
    {
        return m_task.servers[rank] == m_task.servers[lane.peer];
    }

    std::shared_ptr<const HcclGraph> m_graph;
    CollectiveTask m_task;
    double m_nicGBps; ///< of a rank
};

} // namespace AstraSim

#endif /* HCCL_TIMES_H */
