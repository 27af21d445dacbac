/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SYMBOLIC_GRAPH_H
#define SYMBOLIC_GRAPH_H

#include "collectives/model/gpu/machine-model.h"

#include "ns3/flow-graph.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace AstraSim
{

/// @return a request without a root
inline CollectiveRequest
Request(CollectiveOp op, uint64_t bytes)
{
    CollectiveRequest request;
    request.op = op;
    request.bytes = bytes;
    return request;
}

/// @return a group of ranks 0..ranks-1
inline CommGroup
FirstRanks(uint32_t ranks)
{
    CommGroup group;
    group.ranks.resize(ranks);
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    return group;
}

/// @return ranks 0..ranks-1 in nodes of @p gpus
inline GroupShape
MakeShape(uint32_t ranks, uint32_t gpus)
{
    MachineModel machine;
    machine.gpusPerServer = gpus;
    return {FirstRanks(ranks), machine};
}

/**
 * @brief Executes a FlowGraph on symbols: which ranks' contributions a piece of data holds.
 *
 * Obeys dependencies, and checks that both ends of a lane agree. Data that a switch receives from
 * the members of an operation it sends on when all of them have sent.
 */
class SymbolicGraph
{
  public:
    using Piece = std::pair<uint64_t, uint64_t>; ///< a test's own name of a piece of data

    /// The data of a message, and whether the receiver adds it.
    struct Move
    {
        Piece piece;
        bool adds;
        std::optional<Piece> to{}; ///< where the receiver puts it, if not in the same piece
        uint64_t count{1};         ///< of pieces, whose second number rises by stride
        uint64_t stride{1};
        std::vector<Piece> more{}; ///< further pieces of a message between ranks

        /// @return the move of one of the pieces
        Move Of(uint64_t number) const
        {
            Move move = *this;
            move.piece.second += number * stride;
            if (move.to)
            {
                move.to->second += number * stride;
            }
            return move;
        }
    };

    explicit SymbolicGraph(const FlowGraph& graph)
        : m_graph(graph),
          m_memberSets(graph.GetMemberSets()),
          m_data(graph.GetRanks()),
          m_sent(graph.GetRanks(), std::vector<uint64_t>(graph.GetLaneCount())),
          m_received(m_sent)
    {
    }

    /// @return the contributions that a rank's piece holds
    std::multiset<uint32_t>& At(uint32_t rank, const Piece& piece)
    {
        return m_data[rank][piece];
    }

    /// @return bytes that ranks have sent
    uint64_t GetBytesMoved() const
    {
        return m_bytes;
    }

    /// @return bytes that switches have sent
    uint64_t GetBytesFromSwitches() const
    {
        return m_switchBytes;
    }

    /// @return whether all messages could be sent and all results arrived
    bool Run(const std::function<Move(uint32_t, uint32_t, uint64_t)>& describe)
    {
        const uint32_t ranks = m_graph.GetRanks();
        uint64_t left = 0;
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint32_t i = 0; i < m_graph.GetLaneCount(); ++i)
            {
                left += Register(rank, i);
            }
        }
        for (bool moved = true; moved && left > 0;)
        {
            moved = false;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint32_t i = 0; i < m_graph.GetLaneCount(); ++i)
                {
                    const Lane lane = m_graph.GetOutbound(rank, i);
                    const uint64_t message = m_sent[rank][i];
                    if (message == lane.messages || !IsReady(rank, i, message))
                    {
                        continue;
                    }
                    if (lane.kind == LaneKind::Copy)
                    {
                        EXPECT_EQ(lane.peer, rank);
                        ++m_received[rank][lane.result];
                        ++m_sent[rank][i];
                        --left;
                        moved = true;
                        continue;
                    }
                    m_bytes += m_graph.GetBytes(rank, i, message);
                    const Move move = describe(rank, i, message);
                    const bool delivered = lane.kind == LaneKind::Message
                                               ? Deliver(rank, i, lane, message, move)
                                               : Contribute(rank, i, lane, message, move);
                    if (!delivered)
                    {
                        return false;
                    }
                    ++m_sent[rank][i];
                    --left;
                    moved = true;
                }
            }
        }
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint32_t i = 0; i < m_graph.GetLaneCount(); ++i)
            {
                EXPECT_EQ(m_received[rank][i], m_graph.GetInbound(rank, i).messages)
                    << "rank " << rank << ", lane " << i;
            }
        }
        return left == 0;
    }

  private:
    using Connection = std::tuple<uint32_t, uint32_t, uint32_t>; // source, destination, tag
    using Operation = std::pair<uint32_t, uint32_t>;             // set of members, tag

    struct Switch
    {
        uint32_t senders{0};
        std::map<uint32_t, uint32_t> receivers; ///< their inbound lanes
        std::map<uint64_t, std::pair<uint32_t, std::multiset<uint32_t>>> sums; ///< by message
    };

    uint64_t Register(uint32_t rank, uint32_t index)
    {
        const Lane in = m_graph.GetInbound(rank, index);
        if (in.messages > 0 && in.kind == LaneKind::Message)
        {
            EXPECT_TRUE(m_inboundOf.emplace(Connection{in.peer, rank, in.tag}, index).second)
                << "two lanes share a tag";
        }
        else if (in.messages > 0 && in.kind != LaneKind::Copy)
        {
            auto& receivers = m_switches[{in.members, in.tag}].receivers;
            EXPECT_TRUE(receivers.emplace(rank, index).second);
        }
        const Lane out = m_graph.GetOutbound(rank, index);
        if (out.messages > 0 && out.kind != LaneKind::Message && out.kind != LaneKind::Copy)
        {
            ++m_switches[{out.members, out.tag}].senders;
            const auto& members = m_memberSets[out.members];
            EXPECT_TRUE(std::find(members.begin(), members.end(), rank) != members.end());
            EXPECT_TRUE(std::find(members.begin(), members.end(), out.peer) != members.end());
            const bool receives = out.kind == LaneKind::ReduceMulticast || out.peer == rank;
            EXPECT_EQ(out.result != Lane::NONE, receives);
        }
        return out.messages;
    }

    void Put(uint32_t rank, const Move& move, const std::multiset<uint32_t>& data)
    {
        auto& target = At(rank, move.to.value_or(move.piece));
        if (!move.adds)
        {
            target.clear();
        }
        target.insert(data.begin(), data.end());
    }

    void CountReceived(uint32_t rank, uint32_t inbound, uint64_t message)
    {
        EXPECT_EQ(m_received[rank][inbound], message) << "in order";
        ++m_received[rank][inbound];
    }

    bool Deliver(uint32_t rank,
                 uint32_t index,
                 const Lane& lane,
                 uint64_t message,
                 const Move& move)
    {
        const auto found = m_inboundOf.find({rank, lane.peer, lane.tag});
        if (found == m_inboundOf.end())
        {
            ADD_FAILURE() << "nobody receives";
            return false;
        }
        const uint32_t inbound = found->second;
        EXPECT_EQ(m_graph.GetInbound(lane.peer, inbound).messages, lane.messages);
        EXPECT_EQ(m_graph.GetPeerLane(lane.peer, inbound), index);
        EXPECT_EQ(m_graph.GetInboundBytes(lane.peer, inbound, message),
                  m_graph.GetBytes(rank, index, message));
        for (uint64_t number = 0; number < move.count; ++number)
        {
            const Move one = move.Of(number);
            Put(lane.peer, one, std::multiset<uint32_t>(At(rank, one.piece)));
        }
        for (const Piece& piece : move.more)
        {
            Put(lane.peer, {piece, move.adds}, std::multiset<uint32_t>(At(rank, piece)));
        }
        CountReceived(lane.peer, inbound, message);
        return true;
    }

    bool Contribute(uint32_t rank,
                    uint32_t index,
                    const Lane& lane,
                    uint64_t message,
                    const Move& move)
    {
        Switch& at = m_switches[{lane.members, lane.tag}];
        auto& [arrived, sum] = at.sums[message];
        const auto& data = At(rank, move.piece);
        sum.insert(data.begin(), data.end());
        const std::size_t receivers =
            lane.kind == LaneKind::Reduce ? 1 : m_memberSets[lane.members].size();
        const std::size_t senders =
            lane.kind == LaneKind::Multicast ? 1 : m_memberSets[lane.members].size();
        EXPECT_EQ(at.receivers.size(), receivers);
        EXPECT_EQ(at.senders, senders);
        if (++arrived < at.senders)
        {
            return true;
        }
        const auto result = sum;
        at.sums.erase(message);
        for (const auto& [receiver, inbound] : at.receivers)
        {
            EXPECT_EQ(m_graph.GetInbound(receiver, inbound).messages, lane.messages);
            const uint64_t bytes = m_graph.GetInboundBytes(receiver, inbound, message);
            EXPECT_EQ(bytes, m_graph.GetBytes(rank, index, message));
            m_switchBytes += bytes;
            Put(receiver, move, result);
            CountReceived(receiver, inbound, message);
        }
        return true;
    }

    bool IsReady(uint32_t rank, uint32_t lane, uint64_t message) const
    {
        for (const uint32_t source : m_graph.GetSources(rank, lane))
        {
            const uint64_t needs = m_graph.GetNeeds(rank, lane, message, source);
            if (m_received[rank][source] < needs)
            {
                return false;
            }
            if (needs > 0)
            {
                // The arrival a lane waits for last must wake it, or an executor would hang.
                const auto woken = m_graph.GetTargets(rank, source, needs - 1);
                EXPECT_TRUE(std::find(woken.begin(), woken.end(), lane) != woken.end());
            }
        }
        return true;
    }

    const FlowGraph& m_graph;
    std::vector<std::vector<uint32_t>> m_memberSets;
    std::vector<std::map<Piece, std::multiset<uint32_t>>> m_data;
    std::vector<std::vector<uint64_t>> m_sent;
    std::vector<std::vector<uint64_t>> m_received;
    std::map<Connection, uint32_t> m_inboundOf;
    std::map<Operation, Switch> m_switches;
    uint64_t m_bytes{0};
    uint64_t m_switchBytes{0};
};

} // namespace AstraSim

#endif /* SYMBOLIC_GRAPH_H */
