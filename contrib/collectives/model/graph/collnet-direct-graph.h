/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLNET_DIRECT_GRAPH_H
#define COLLNET_DIRECT_GRAPH_H

#include "channel-graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief AllReduce that the network's switches carry out between nodes: CollNet Direct.
 *
 * Some ranks of each node are heads, each of an equal share of the data. Chunk by chunk all ranks
 * of a node send a head its share over NVLink; the head adds them up, lets the network's switches
 * add the sums of all nodes, and sends the result back to all ranks of its node. NCCL
 * src/device/all_reduce.h, src/graph/connect.cc connectCollNet.
 *
 * The channels of a head run in step: a message is one chunk of each.
 */
class CollNetDirectGraph : public ChannelGraph
{
  public:
    /// Heads of a node at most (NCCL_MAX_DIRECT_ARITY and the rank itself).
    static constexpr uint32_t MAX_HEADS = 8;

    CollNetDirectGraph(const CollectiveRequest& request,
                       const GroupShape& shape,
                       const ChannelLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    std::vector<std::vector<uint32_t>> GetMemberSets() const override;

    /// @return number of heads of each node
    uint32_t GetHeads() const
    {
        return m_heads;
    }

    /// @return the owner, a head, of the share on an outbound lane of a rank; nothing if it is
    /// unused
    std::optional<uint32_t> GetShareOf(uint32_t rank, uint32_t outbound) const;

  private:
    // The order of lanes: to the heads (out) or to a head (in), the switches', back.
    uint32_t SwitchLane() const
    {
        return m_neighbours;
    }

    uint32_t FirstBack() const
    {
        return m_neighbours + 1;
    }

    /// @return the rank that a lane within the node leads to, or comes from
    std::optional<uint32_t> NeighbourOf(uint32_t rank, uint32_t index, bool outbound) const;
    std::optional<uint32_t> ShareOfLane(uint32_t rank, uint32_t index, bool outbound) const;
    uint64_t ShareBytes(uint32_t head) const;
    uint64_t MessageBytes(uint32_t head, uint64_t message) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

    uint64_t m_bytes;
    uint32_t m_heads;
    uint32_t m_neighbours; ///< most other ranks of a node
    uint64_t m_messageBytes;
};

} // namespace AstraSim

#endif /* COLLNET_DIRECT_GRAPH_H */
