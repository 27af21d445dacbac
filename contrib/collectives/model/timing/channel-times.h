/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHANNEL_TIMES_H
#define CHANNEL_TIMES_H

#include "collectives/model/graph/channel-graph.h"
#include "step-times.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Times of the connections of NCCL's channels, as a plan has them.
 *
 * In a server a block copies one message after the other, at the rate of its channel and after a
 * latency. Between servers there are two buffers, and the network sets the pace.
 */
class ChannelTimes : public StepTimes
{
  public:
    ChannelTimes(std::shared_ptr<const ChannelGraph> graph,
                 const ChannelSpeeds& speeds,
                 std::optional<TimePs> givenLatency);

    /// @return the times between a rank and the lane's peer
    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;

  protected:
    /**
     * Let a lane pass words of LL on as they arrive. Its messages take their latency alone: the
     * GPU where the data entered the node has taken their time.
     * @param bytes most data of a message
     */
    void PassOnWords(LaneTimes& times, uint64_t bytes) const;

    /**
     * Let messages of a lane between nodes leave once the channel's block has written them: the CPU
     * hands whole slots to the NIC (src/transport/net.cc).
     * @param wireGBps at which the block writes
     */
    void WriteWholeSlots(LaneTimes& times, double wireGBps) const;

    /// @return whether a lane's peer is in another node
    bool Crosses(uint32_t rank, const Lane& lane) const
    {
        return GetShape().NodeOf(rank) != GetShape().NodeOf(lane.peer);
    }

    const GroupShape& GetShape() const
    {
        return m_graph->GetShape();
    }

    NcclProtocol GetProtocol() const
    {
        return m_graph->GetLayout().protocol;
    }

  private:
    std::shared_ptr<const ChannelGraph> m_graph;
};

} // namespace AstraSim

#endif /* CHANNEL_TIMES_H */
