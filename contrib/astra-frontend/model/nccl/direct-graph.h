/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DIRECT_GRAPH_H
#define DIRECT_GRAPH_H

#include "machine-model.h"
#include "nccl-cost-model.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @brief Collectives that NCCL carries out as sends and receives between pairs: AllToAll,
 * AllToAllv, Gather, Scatter, SendRecv.
 *
 * Every pair with data has a lane; rank r serves its peers in the order r + 1, r + 2, ..., so that
 * no receiver is everybody's first. Nothing waits for anything but its slot.
 */
class DirectGraph : public FlowGraph
{
  public:
    /// Data per message: NCCL's point-to-point chunk over NVLink (512 KiB).
    static constexpr uint64_t MESSAGE_BYTES = 524288;

    /// @param stepLatency overrides the plan's latencies, if not negative
    DirectGraph(const CollectiveRequest& request,
                const GroupShape& shape,
                const NcclPlan& plan,
                TimePs stepLatency);

    Lane GetOutbound(uint32_t rank, uint32_t index) const override;
    Lane GetInbound(uint32_t rank, uint32_t index) const override;
    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;

  private:
    Lane MakeLane(uint32_t from, uint32_t to, uint32_t other) const;
    /// @return the peer of a rank's lane
    uint32_t PeerOf(uint32_t rank, uint32_t index, bool outbound) const;

    CollectiveRequest m_request;
    GroupShape m_shape;
    NcclPlan m_plan;
    TimePs m_stepLatency;
};

} // namespace AstraSim

#endif /* DIRECT_GRAPH_H */
