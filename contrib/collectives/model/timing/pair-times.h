/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAIR_TIMES_H
#define PAIR_TIMES_H

#include "collectives/model/graph/direct-graph.h"
#include "step-times.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace AstraSim
{

/// Speeds of sends and receives between pairs.
struct PairSpeeds
{
    double rankGBps{0};  ///< of a rank to all others of its node
    double blockGBps{0}; ///< of a channel at most
    /// In groups of several nodes: of a block, whose pairs share it; 0: pairs share none.
    double sharedBlockGBps{0};
    TimePs chunkLatency{0}; ///< of each chunk of a pair whose block is shared
};

/**
 * @ingroup collectives
 * @brief Times of GPUs in a DirectGraph.
 *
 * Within a node a pair has the rate of its channels, at most its share of all pairs' rate. In a
 * group of several nodes the pairs of a rank with a node share its channels' blocks, each with
 * warps of its own, which write one chunk after the other.
 */
class DirectTimes : public StepTimes
{
  public:
    DirectTimes(std::shared_ptr<const DirectGraph> graph,
                const ChannelSpeeds& speeds,
                const PairSpeeds& pairs,
                std::optional<TimePs> givenLatency);

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

    uint32_t GetSendAccesses(uint32_t, uint32_t, uint64_t) const override
    {
        return 1; // into the buffer that the NIC reads
    }

  private:
    /// @return time of a pair's blocks for a byte, where pairs share them
    double PsPerByte(uint32_t from, uint32_t to) const;

    /// Count with how many others of its node each rank exchanges data.
    void CountPeers();
    bool AreInOneNode(uint32_t rank, uint32_t peer) const;

    std::shared_ptr<const DirectGraph> m_graph;
    PairSpeeds m_pairs;
    std::vector<uint32_t> m_peersOut; ///< by rank: others of its node that it sends to
    std::vector<uint32_t> m_peersIn;  ///< by rank: others of its node that send to it
};

/// @ingroup collectives
/// @brief Times of GPUs in a PxnGraph: latencies.
class PxnTimes : public StepTimes
{
  public:
    PxnTimes(const ChannelSpeeds& speeds, std::optional<TimePs> givenLatency)
        : StepTimes(speeds, givenLatency)
    {
    }

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;
};

} // namespace AstraSim

#endif /* PAIR_TIMES_H */
