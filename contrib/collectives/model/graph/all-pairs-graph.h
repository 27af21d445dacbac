/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ALL_PAIRS_GRAPH_H
#define ALL_PAIRS_GRAPH_H

#include "ns3/flow-graph.h"

#include <cstdint>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief AllReduce between all pairs of a server at once, in one step or two.
 *
 * In two, as MSCCL does it (RCCL's allreduce-allpairs), every rank owns a part of the data. It
 * sends each other rank the part that this one owns, adds the received parts to its own, and sends
 * the sum to all. In one, as inference engines do with few bytes, every rank sends all its data to
 * all, and adds for itself. The channels of a pair work side by side: they are one lane.
 */
class AllPairsGraph : public FlowGraph
{
  public:
    AllPairsGraph(uint64_t bytes, uint32_t ranks, uint32_t steps = 2);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    std::optional<Payload> GetPayload(uint32_t rank,
                                      uint32_t outbound,
                                      uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;

  protected:
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

  private:
    /// @return the number of other ranks, which is that of the lanes of a step
    uint32_t Others() const
    {
        return GetRanks() - 1;
    }

    bool HasOneStep() const
    {
        return GetLaneCount() == Others();
    }

    /// @return the owner of the part that an outbound lane of two steps carries
    uint32_t OwnerOf(uint32_t rank, uint32_t outbound) const;

    uint64_t m_bytes;
};

} // namespace AstraSim

#endif /* ALL_PAIRS_GRAPH_H */
