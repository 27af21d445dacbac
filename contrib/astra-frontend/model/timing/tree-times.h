/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TREE_TIMES_H
#define TREE_TIMES_H

#include "astra-frontend/model/graph/tree-graph.h"
#include "channel-times.h"

#include <cstdint>
#include <memory>

namespace AstraSim
{

/// @ingroup astra-frontend
/// @brief Times of blocks in a TreeGraph: they work up the tree and down it at once.
class TreeTimes : public ChannelTimes
{
  public:
    /// @param stepLatency overrides the plan's latencies, if not negative
    TreeTimes(std::shared_ptr<const TreeGraph> graph, const NcclPlan& plan, TimePs stepLatency);

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

  private:
    /// @return how much faster than the plan's rate a lane's block is
    double SpeedUp(uint32_t rank, uint32_t index, const Lane& lane) const;

    std::shared_ptr<const TreeGraph> m_graph;
};

} // namespace AstraSim

#endif /* TREE_TIMES_H */
