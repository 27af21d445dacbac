/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SYMBOLIC_GRAPH_H
#define SYMBOLIC_GRAPH_H

#include "ns3/flow-graph.h"
#include "ns3/machine-model.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace AstraSim
{

/// @return ranks 0..ranks-1 in nodes of @p gpus
inline GroupShape
MakeShape(uint32_t ranks, uint32_t gpus)
{
    CommGroup group;
    group.ranks.resize(ranks);
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    MachineModel machine;
    machine.gpusPerServer = gpus;
    return {group, machine};
}

/**
 * @brief Executes a FlowGraph on symbols: which ranks' contributions a piece of data holds.
 *
 * Obeys dependencies and slots, and checks that both ends of a lane agree.
 */
class SymbolicGraph
{
  public:
    using Piece = std::pair<uint64_t, uint64_t>; ///< a test's own name of a piece of data

    /// What a message carries, and whether the receiver adds it.
    struct Move
    {
        Piece piece;
        bool adds;
    };

    explicit SymbolicGraph(const FlowGraph& graph)
        : m_graph(graph),
          m_data(graph.GetRanks())
    {
    }

    /// @return the contributions that a rank's piece holds
    std::multiset<uint32_t>& At(uint32_t rank, const Piece& piece)
    {
        return m_data[rank][piece];
    }

    uint64_t GetBytesMoved() const
    {
        return m_bytes;
    }

    /// @return whether all messages could be sent
    bool Run(const std::function<Move(uint32_t, uint32_t, uint64_t)>& describe)
    {
        using Connection = std::tuple<uint32_t, uint32_t, uint32_t>; // source, destination, tag
        const uint32_t ranks = m_graph.GetRanks();
        std::map<Connection, uint32_t> inboundOf;
        std::vector<std::vector<uint64_t>> sent(ranks);
        std::vector<std::vector<uint64_t>> received(ranks);
        uint64_t left = 0;
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            sent[rank].resize(m_graph.GetOutboundCount(rank));
            received[rank].resize(m_graph.GetInboundCount(rank));
            for (uint32_t i = 0; i < received[rank].size(); ++i)
            {
                const Lane lane = m_graph.GetInbound(rank, i);
                if (lane.messages > 0)
                {
                    EXPECT_TRUE(inboundOf.emplace(Connection{lane.peer, rank, lane.tag}, i).second)
                        << "two lanes share a tag";
                }
            }
            for (uint32_t i = 0; i < sent[rank].size(); ++i)
            {
                left += m_graph.GetOutbound(rank, i).messages;
            }
        }
        for (bool moved = true; moved && left > 0;)
        {
            moved = false;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint32_t i = 0; i < sent[rank].size(); ++i)
                {
                    const Lane lane = m_graph.GetOutbound(rank, i);
                    const uint64_t message = sent[rank][i];
                    if (message == lane.messages || !IsReady(rank, i, message, received[rank]))
                    {
                        continue;
                    }
                    const auto found = inboundOf.find({rank, lane.peer, lane.tag});
                    if (found == inboundOf.end())
                    {
                        ADD_FAILURE() << "nobody receives";
                        return false;
                    }
                    const uint32_t inbound = found->second;
                    EXPECT_EQ(m_graph.GetInbound(lane.peer, inbound).messages, lane.messages);
                    EXPECT_EQ(m_graph.GetInboundBytes(lane.peer, inbound, message),
                              m_graph.GetBytes(rank, i, message));
                    m_bytes += m_graph.GetBytes(rank, i, message);
                    const Move move = describe(rank, i, message);
                    const auto source = At(rank, move.piece);
                    auto& target = At(lane.peer, move.piece);
                    if (!move.adds)
                    {
                        target.clear();
                    }
                    target.insert(source.begin(), source.end());
                    ++sent[rank][i];
                    ++received[lane.peer][inbound];
                    --left;
                    moved = true;
                }
            }
        }
        return left == 0;
    }

  private:
    bool IsReady(uint32_t rank,
                 uint32_t lane,
                 uint64_t message,
                 const std::vector<uint64_t>& received) const
    {
        for (const uint32_t source : m_graph.GetSources(rank, lane))
        {
            // What a lane waits for must wake it, or an executor would hang.
            const auto woken = m_graph.GetTargets(rank, source);
            EXPECT_TRUE(std::find(woken.begin(), woken.end(), lane) != woken.end());
            if (received[source] < m_graph.GetNeeds(rank, lane, message, source))
            {
                return false;
            }
        }
        return true;
    }

    const FlowGraph& m_graph;
    std::vector<std::map<Piece, std::multiset<uint32_t>>> m_data;
    uint64_t m_bytes{0};
};

} // namespace AstraSim

#endif /* SYMBOLIC_GRAPH_H */
