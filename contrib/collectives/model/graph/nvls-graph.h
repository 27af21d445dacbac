/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NVLS_GRAPH_H
#define NVLS_GRAPH_H

#include "collectives/model/gpu/machine-model.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/// The layout of NVLS and NVLS-Tree.
struct NvlsLayout
{
    uint32_t channels{1};
    uint64_t chunk{0};   ///< of NVLS-Tree: bytes of a channel's chunk at most; 0: 128 KiB
    bool byBlocks{true}; ///< see ChannelLayout; without blocks GPUs copy nothing
    uint64_t bytes{0};   ///< by which chunks are cut; 0: those of the collective
};

/**
 * @ingroup collectives
 * @brief NVLS within a node, NVLS-Tree between nodes.
 *
 * Some ranks of each node are heads, each of an equal share of the data. Chunk by chunk a head
 * reads the sum of its node's copies from the NVSwitch (multimem load-reduce) and writes the result
 * to all of them as a multicast (multimem store). So each GPU sends its whole data up once plus its
 * share of the sums, and receives the same: S (1 + 1/n) per direction. Between nodes, the heads of
 * one share form NCCL's double binary tree, a half of the share on each: sums go up it, results
 * down (src/device/all_reduce.h, src/graph/connect.cc connectNvls).
 *
 * AllGather is the multicast alone and ReduceScatter the reduction alone, in one node.
 *
 * Before and after, each GPU copies: it scatters its data into the buffers that the NVSwitch adds
 * up, and gathers the results from those that the multicasts fill. NCCL gives each of the three
 * stages warps of its own, so chunks go through them as through a pipeline. Warps that copy take
 * one head's part after another, in iterations of HUNK_BYTES per warp (CopyLane()).
 *
 * A head adds the data from its node's children in the tree in the pass that reads the sum of its
 * own node, and a tree's root multicasts in the same pass. So the reduction of a chunk begins when
 * the children's chunk has come. The heads ask the NVSwitch for it then; here, each GPU sends its
 * part when its own children's data have come, which is at the same time.
 *
 * The channels of a head run in step: a message within a node is the data of one pass of their
 * reducing warps, a message between nodes one chunk of each channel.
 */
class NvlsGraph : public FlowGraph
{
  public:
    static constexpr uint32_t MAX_HEADS = 32; ///< of a node (NCCL_MAX_NVLS_ARITY)
    /// Bytes that a warp copies or reduces in an iteration: 8 times 16 bytes per thread
    /// (COLL_UNROLL).
    static constexpr uint64_t HUNK_BYTES = 8 * 16 * 32;

    /// Division of the 20 warps of a channel's block.
    struct Warps
    {
        uint32_t scatter; ///< warps that scatter, without the one that announces written data
        uint32_t gather;  ///< warps that gather
        uint32_t reduce;  ///< warps that reduce, or in an AllGather multicast, without the one that
                          ///< announces written data
    };

    /// @return the warps of a collective on so many ranks
    /// @param passesUp whether sums go on to another node, so that results come from there
    static Warps WarpsOf(CollectiveOp op, uint32_t ranks, bool passesUp);

    /// @param request AllReduce; in one node also AllGather and ReduceScatter
    NvlsGraph(const CollectiveRequest& request, const GroupShape& shape, const NvlsLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;
    uint32_t GetPeerLane(uint32_t rank, uint32_t inbound) const override;
    std::vector<std::vector<uint32_t>> GetMemberSets() const override;

    CollectiveOp GetOp() const
    {
        return m_op;
    }

    const GroupShape& GetShape() const
    {
        return m_shape;
    }

    /// @return bytes of a channel's chunk
    uint64_t GetChunkBytes() const
    {
        return m_chunkBytes;
    }

    /// @return messages within a node that carry a chunk
    uint64_t GetMessagesPerChunk() const
    {
        return m_messagesPerChunk;
    }

    /// @return the tree that a lane is of
    uint32_t TreeOf(uint32_t index) const
    {
        return Locate(index).tree;
    }

    /// @return channels of all trees together
    uint32_t GetChannels() const
    {
        return m_channels;
    }

    /// @return channels of a tree
    uint32_t ChannelsOf(uint32_t tree) const;

    /// @return whether a lane of copies scatters, instead of gathering
    bool Scatters(uint32_t index, bool outbound) const
    {
        return Locate(index).lane == (outbound ? uint32_t{SCATTER} : uint32_t{SCATTERED});
    }

    /// @return whether a rank's node sends its sums on to another
    bool PassesUp(uint32_t rank, uint32_t tree) const
    {
        return NodeOf(rank, tree).parent != Lane::NONE;
    }

    /// @return whether switches add, as in AllReduce and ReduceScatter
    bool Reduces() const
    {
        return m_op != CollectiveOp::AllGather;
    }

    /// @return number of heads of each node
    uint32_t GetHeads() const
    {
        return m_heads;
    }

    /// @return the share that a rank is the head of
    std::optional<uint32_t> GetHeadOf(uint32_t rank) const
    {
        return m_headOf[rank] < m_heads ? std::optional(m_headOf[rank]) : std::nullopt;
    }

    /// @return the head that a lane of a rank serves
    uint32_t GetShareOf(uint32_t rank, uint32_t index) const;

    /// @return bytes that one tree carries of one share
    uint64_t GetShareBytes(uint32_t head, uint32_t tree) const;

  private:
    // A head's own lanes of a tree; those of the reductions (out) or multicasts (in) follow.
    enum OwnOut : uint32_t
    {
        TO_PARENT,
        TO_CHILD,
        MULTICAST = TO_CHILD + 2,
        SCATTER,
        GATHER,
        OWN_LANES
    };

    enum OwnIn : uint32_t
    {
        FROM_PARENT,
        SUM,
        FROM_SECOND_CHILD,
        FROM_FIRST_CHILD, ///< beside SCATTERED: reductions wait for both
        SCATTERED,
        GATHERED
    };

    /// A node's place in one of the trees.
    struct TreeNode
    {
        uint32_t parent{Lane::NONE};
        uint32_t childCount{0};
        uint32_t children[2]{};
    };

    /// A lane's number taken apart.
    struct Part
    {
        uint32_t tree;
        uint32_t lane; ///< within the tree's lanes
    };

    Part Locate(uint32_t index) const
    {
        return {index / LanesPerTree(), index % LanesPerTree()};
    }

    uint32_t LanesPerTree() const
    {
        return OWN_LANES + m_heads;
    }

    const TreeNode& NodeOf(uint32_t rank, uint32_t tree) const
    {
        return m_trees[tree][m_shape.NodeOf(rank)];
    }

    /// @return children of a rank's node that send to this rank
    uint32_t ChildrenOf(uint32_t rank, uint32_t tree) const
    {
        return m_headOf[rank] < m_heads ? NodeOf(rank, tree).childCount : 0;
    }

    bool Multicasts() const
    {
        return m_op != CollectiveOp::ReduceScatter;
    }

    uint64_t MessageCount(uint32_t head, uint32_t tree) const;
    /// @return bytes of a chunk of all channels of a tree
    uint64_t ChunkBytes(uint32_t tree) const;
    uint64_t ChunkCount(uint32_t head, uint32_t tree) const;
    /// @return number of rounds of copies: chunks of the largest share, as a round copies a chunk
    /// of each share
    uint64_t RoundCount(uint32_t tree) const;
    uint64_t RoundBytes(uint32_t tree, uint64_t round) const;
    Lane CopyLane(uint32_t rank, uint32_t tree, bool scatters) const;
    Lane TreeLane(uint32_t rank, uint32_t tree, uint32_t neighbour) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;
    Lane OutboundLane(uint32_t rank, uint32_t index) const;
    Lane InboundLane(uint32_t rank, uint32_t index) const;
    Lane SwitchLane(uint32_t rank, uint32_t tree, uint32_t head, LaneKind kind) const;

    CollectiveOp m_op;
    GroupShape m_shape;
    uint32_t m_channels;
    bool m_copies; ///< whether GPUs copy before and after
    uint64_t m_bytes;
    uint32_t m_heads;
    std::vector<uint32_t> m_headOf;             ///< place in the node, by rank
    uint64_t m_chunkBytes{0};                   ///< of a channel
    uint64_t m_messagesPerChunk{1};             ///< within a node
    std::vector<uint64_t> m_messageBytes;       ///< by tree
    std::vector<std::vector<TreeNode>> m_trees; ///< by tree and node
};

} // namespace AstraSim

#endif /* NVLS_GRAPH_H */
