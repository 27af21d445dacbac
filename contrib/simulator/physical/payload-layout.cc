/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "payload-layout.h"

#include "astra-frontend/model/collective/divide-up.h"
#include "astra-frontend/model/graph/chain-graph.h"
#include "astra-frontend/model/graph/direct-graph.h"
#include "astra-frontend/model/graph/pair-bytes.h"
#include "astra-frontend/model/graph/pat-graph.h"
#include "astra-frontend/model/graph/ring-graph.h"
#include "astra-frontend/model/graph/tree-graph.h"

#include "ns3/input-error.h"

#include <functional>
#include <utility>

namespace AstraSim
{

namespace
{

/// Slices of chunks of loops.
class RingLayout : public PayloadLayout
{
  public:
    RingLayout(const RingGraph& graph, const CollectiveRequest& request)
        : m_graph(graph),
          m_op(request.op),
          m_bytes(request.bytes)
    {
    }

    Piece PieceOf(uint32_t rank, uint32_t lane, uint64_t message) const override
    {
        const auto position = m_graph.Locate(lane, message);
        const uint32_t chunk = m_graph.ChunkOf(m_graph.PlaceOf(rank, lane), position.step);
        const auto [offset, bytes] = m_graph.SliceRange(lane, position, chunk);
        const uint64_t begin = m_graph.GetSplit().GetBegin(lane) + offset;
        const bool adds =
            m_op == CollectiveOp::ReduceScatter ||
            (m_op == CollectiveOp::AllReduce && position.step < m_graph.GetRanks() - 1);
        return {begin, begin, bytes, adds};
    }

    uint64_t GetSendBytes(uint32_t) const override
    {
        return m_bytes;
    }

    std::vector<Block> GetBlocks() const override
    {
        // AllGather begins with the own block; ReduceScatter ends with what comes last.
        const bool gathers = m_op == CollectiveOp::AllGather;
        const uint32_t steps = m_graph.GetRanks() - 1;
        std::vector<Block> blocks;
        for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
        {
            for (uint32_t lane = 0; lane < m_graph.GetLaneCount(); ++lane)
            {
                const Lane out = m_graph.GetOutbound(rank, lane);
                for (uint64_t message = 0; message < out.messages; ++message)
                {
                    const uint32_t step = m_graph.Locate(lane, message).step;
                    if (step == (gathers ? 0 : steps - 1))
                    {
                        const Piece piece = PieceOf(rank, lane, message);
                        blocks.push_back(
                            {piece.sendOffset, piece.bytes, gathers ? rank : out.peer});
                    }
                }
            }
        }
        return blocks;
    }

  private:
    const RingGraph& m_graph;
    CollectiveOp m_op;
    uint64_t m_bytes;
};

/// Chunks of a channel, all but the last of the same size, up a tree and down, or along a chain.
class ChunkLayout : public PayloadLayout
{
  public:
    /// @param adds whether the receiver of a lane out of a rank adds
    ChunkLayout(const ChannelGraph& graph,
                const CollectiveRequest& request,
                std::function<bool(uint32_t rank, const Lane& lane)> adds)
        : m_graph(graph),
          m_bytes(request.bytes),
          m_adds(std::move(adds))
    {
    }

    Piece PieceOf(uint32_t rank, uint32_t lane, uint64_t message) const override
    {
        const Lane out = m_graph.GetOutbound(rank, lane);
        const uint64_t offset =
            m_graph.GetSplit().GetBegin(out.channel) + message * m_graph.GetBytes(rank, lane, 0);
        return {offset, offset, m_graph.GetBytes(rank, lane, message), m_adds(rank, out)};
    }

    uint64_t GetSendBytes(uint32_t) const override
    {
        return m_bytes;
    }

  private:
    const ChannelGraph& m_graph;
    uint64_t m_bytes;
    std::function<bool(uint32_t, const Lane&)> m_adds;
};

/// Pieces of blocks, channel by channel.
class PatLayout : public PayloadLayout
{
  public:
    PatLayout(const PatGraph& graph, const CollectiveRequest& request)
        : m_graph(graph),
          m_op(request.op),
          m_bytes(request.bytes)
    {
    }

    Piece PieceOf(uint32_t rank, uint32_t lane, uint64_t message) const override
    {
        const uint32_t channel = m_graph.GetOutbound(rank, lane).channel;
        const auto [within, bytes] = m_graph.PieceRange(rank, lane, message);
        const uint64_t offset = m_graph.GetSplit().GetBegin(channel) + within;
        return {offset, offset, bytes, m_op == CollectiveOp::ReduceScatter};
    }

    uint64_t GetSendBytes(uint32_t) const override
    {
        return m_bytes;
    }

    std::vector<Block> GetBlocks() const override
    {
        std::vector<Block> blocks;
        const ChannelSplit& split = m_graph.GetSplit();
        for (uint32_t channel = 0; channel < split.GetChannels(); ++channel)
        {
            for (uint32_t owner = 0; owner < m_graph.GetRanks(); ++owner)
            {
                const auto [within, bytes] =
                    BlockRange(split.GetBytes(channel), m_graph.GetRanks(), owner);
                blocks.push_back({split.GetBegin(channel) + within, bytes, owner});
            }
        }
        return blocks;
    }

  private:
    const PatGraph& m_graph;
    CollectiveOp m_op;
    uint64_t m_bytes;
};

/// Data of pairs, in buffers that are ordered by the other rank.
class DirectLayout : public PayloadLayout
{
  public:
    DirectLayout(const DirectGraph& graph, const CollectiveRequest& request)
        : m_graph(graph),
          m_request(request)
    {
    }

    Piece PieceOf(uint32_t rank, uint32_t lane, uint64_t message) const override
    {
        const uint32_t peer = m_graph.GetOutbound(rank, lane).peer;
        const uint64_t within =
            message * m_graph.GetBytes(rank, lane, 0); // all but the last are alike
        return {SumTo(rank, peer) + within,
                SumFrom(peer, rank) + within,
                m_graph.GetBytes(rank, lane, message),
                false};
    }

    uint64_t GetSendBytes(uint32_t rank) const override
    {
        return SumTo(rank, m_graph.GetRanks());
    }

    std::optional<uint64_t> GetReceiveBytes(uint32_t rank) const override
    {
        return SumFrom(rank, m_graph.GetRanks());
    }

  private:
    uint64_t Bytes(uint32_t from, uint32_t to) const
    {
        return from == to ? 0 : PairBytes(m_request, m_graph.GetRanks(), from, to);
    }

    /// @return what a rank sends to ranks below @p end
    uint64_t SumTo(uint32_t rank, uint32_t end) const
    {
        uint64_t sum = 0;
        for (uint32_t to = 0; to < end; ++to)
        {
            sum += Bytes(rank, to);
        }
        return sum;
    }

    uint64_t SumFrom(uint32_t rank, uint32_t end) const
    {
        uint64_t sum = 0;
        for (uint32_t from = 0; from < end; ++from)
        {
            sum += Bytes(from, rank);
        }
        return sum;
    }

    const DirectGraph& m_graph;
    CollectiveRequest m_request;
};

} // namespace

std::unique_ptr<PayloadLayout>
PayloadLayout::Of(const FlowGraph& graph, const CollectiveRequest& request)
{
    if (const auto* ring = dynamic_cast<const RingGraph*>(&graph))
    {
        return std::make_unique<RingLayout>(*ring, request);
    }
    if (const auto* tree = dynamic_cast<const TreeGraph*>(&graph))
    {
        return std::make_unique<ChunkLayout>(*tree,
                                             request,
                                             [tree](uint32_t rank, const Lane& lane) {
                                                 return tree->GetParent(rank, lane.channel) ==
                                                        lane.peer;
                                             });
    }
    if (const auto* chain = dynamic_cast<const ChainGraph*>(&graph))
    {
        const bool reduces = request.op == CollectiveOp::Reduce;
        return std::make_unique<ChunkLayout>(*chain, request, [reduces](uint32_t, const Lane&) {
            return reduces;
        });
    }
    if (const auto* pat = dynamic_cast<const PatGraph*>(&graph))
    {
        return std::make_unique<PatLayout>(*pat, request);
    }
    if (const auto* direct = dynamic_cast<const DirectGraph*>(&graph))
    {
        return std::make_unique<DirectLayout>(*direct, request);
    }
    throw ns3::InputError("--reduce",
                          0,
                          "does not follow the data of PXN, NVLS and CollNet",
                          "Ring, Tree, PAT or direct: AS_PXN_ENABLE=0 NCCL_COLLNET_ENABLE=0");
}

} // namespace AstraSim
