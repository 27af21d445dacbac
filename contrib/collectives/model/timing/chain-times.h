/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAIN_TIMES_H
#define CHAIN_TIMES_H

#include "channel-times.h"
#include "collectives/model/graph/chain-graph.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Times of blocks in a ChainGraph.
 *
 * In a server, a block moves one message while it waits for the flag of the next: the latency
 * counts for the first. With LL a rank passes on words from its node as they arrive.
 */
class ChainTimes : public ChannelTimes
{
  public:
    ChainTimes(std::shared_ptr<const ChainGraph> graph,
               const ChannelSpeeds& speeds,
               std::optional<TimePs> givenLatency)
        : ChannelTimes(graph, speeds, givenLatency),
          m_graph(std::move(graph))
    {
    }

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override
    {
        LaneTimes times = ChannelTimes::GetTimes(rank, index, outbound, lane);
        const bool hidesLatency =
            HasOwnLatency() && !GetSpeeds().passes.waitsEach &&
            (GetShape().GetNodes() == 1 || GetProtocol() != NcclProtocol::Simple);
        if (hidesLatency && times.rateCapBps > 0)
        {
            times.withLatency = 1;
        }
        const uint32_t sender = outbound ? rank : lane.peer;
        if (GetProtocol() == NcclProtocol::Ll && m_graph->ForwardsWithinNode(sender, index))
        {
            PassOnWords(times, m_graph->GetMessageBytes());
        }
        return times;
    }

  private:
    std::shared_ptr<const ChainGraph> m_graph;
};

} // namespace AstraSim

#endif /* CHAIN_TIMES_H */
