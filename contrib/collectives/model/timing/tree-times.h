/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TREE_TIMES_H
#define TREE_TIMES_H

#include "channel-times.h"
#include "collectives/model/graph/tree-graph.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace AstraSim
{

/// Speeds of the threads of a tree's block.
struct TreeThreads
{
    double upGBps{0};   ///< of those that send sums up; 0: enough
    double downGBps{0}; ///< of those that send results down
};

/// @ingroup collectives
/// @brief Times of blocks in a TreeGraph: they work up the tree and down it at once.
class TreeTimes : public ChannelTimes
{
  public:
    TreeTimes(std::shared_ptr<const TreeGraph> graph,
              const ChannelSpeeds& speeds,
              const TreeThreads& threads,
              std::optional<TimePs> givenLatency);

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

    uint32_t GetSendAccesses(uint32_t, uint32_t, uint64_t) const override
    {
        return 1; // of a lane that WriteWholeSlots()
    }

  private:
    /// @return how much faster than the plan's rate a lane's block is
    double SpeedUp(const Lane& lane) const;

    std::shared_ptr<const TreeGraph> m_graph;
    TreeThreads m_threads;
};

} // namespace AstraSim

#endif /* TREE_TIMES_H */
