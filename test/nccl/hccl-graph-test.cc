/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/collective/divide-up.h"
#include "collectives/model/graph/pair-bytes.h"
#include "collectives/model/hccl/hccl-graph.h"
#include "hccl-task.h"
#include "symbolic-graph.h"

#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

namespace AstraSim
{

namespace
{

using Piece = SymbolicGraph::Piece;

/**
 * @brief A collective of HCCL's on symbols. Data is in blocks {0, owner}; that of exchanges between
 * pairs is {sender, receiver}.
 */
class HcclSymbols
{
  public:
    explicit HcclSymbols(const CollectiveTask& task)
        : m_task(task),
          m_graph(task.request, ChooseHccl(task)),
          m_symbols(m_graph)
    {
    }

    SymbolicGraph& Get()
    {
        return m_symbols;
    }

    const HcclGraph& GetGraph() const
    {
        return m_graph;
    }

    /// Let every rank have all blocks of its own data.
    void FillAll()
    {
        for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
        {
            FillAll(rank);
        }
    }

    void FillAll(uint32_t rank)
    {
        for (uint32_t owner = 0; owner < m_graph.GetRanks(); ++owner)
        {
            m_symbols.At(rank, {0, owner}) = {rank};
        }
    }

    /// Let every rank have its block.
    void FillOwn()
    {
        for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
        {
            m_symbols.At(rank, {0, rank}) = {rank};
        }
    }

    /// @return whether it ended; expects that messages have the bytes of the data they carry
    bool Run()
    {
        return m_symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
            std::vector<Piece> pieces = PiecesOf(from, lane, message);
            uint64_t bytes = 0;
            for (const Piece& piece : pieces)
            {
                bytes += BytesOf(piece);
            }
            EXPECT_EQ(m_graph.GetBytes(from, lane, message), bytes);
            SymbolicGraph::Move move{pieces.front(), Adds(m_graph.PhaseOf(lane))};
            move.more.assign(pieces.begin() + 1, pieces.end());
            return move;
        });
    }

  private:
    bool IsExchange() const
    {
        return IsPairwise(m_task.request.op);
    }

    bool Adds(uint32_t phase) const
    {
        const HcclKind kind = m_graph.GetPlan().phases[phase].kind;
        return kind == HcclKind::MeshReduce || kind == HcclKind::RingReduce ||
               kind == HcclKind::NhrReduce || kind == HcclKind::PipelineReduce;
    }

    uint64_t BytesOf(const Piece& piece) const
    {
        const uint32_t ranks = m_graph.GetRanks();
        return IsExchange() ? PairBytes(m_task.request,
                                        ranks,
                                        static_cast<uint32_t>(piece.first),
                                        static_cast<uint32_t>(piece.second))
                            : BlockRange(m_task.request.bytes, ranks, piece.second).second;
    }

    /// @return blocks of all places of the servers, or of the one place
    std::vector<Piece> Blocks(const std::vector<uint32_t>& servers, uint32_t place, bool all) const
    {
        const HcclLayout& layout = m_graph.GetPlan().layout;
        std::vector<Piece> pieces;
        for (const uint32_t server : servers)
        {
            for (uint32_t i = all ? 0 : place; i < (all ? layout.GetPlaces() : place + 1); ++i)
            {
                pieces.emplace_back(0, layout.RankAt(server, i));
            }
        }
        return pieces;
    }

    /// @return what goes over a distance of servers: every second of the parts that are as far
    std::vector<uint32_t> DoublingServers(uint32_t server, uint32_t lane, bool reduces) const
    {
        const uint32_t servers = m_graph.GetPlan().layout.GetServers();
        const uint32_t steps = DoublingSteps(servers);
        const uint32_t number = lane - *m_graph.LanesOf(m_graph.PhaseOf(lane)).begin();
        const uint32_t distance = 1U << (reduces ? number : steps - 1 - number);
        std::vector<uint32_t> result;
        for (uint32_t back = reduces ? distance : 0; back + (reduces ? 0 : distance) < servers;
             back += 2 * distance)
        {
            result.push_back((server + servers - back) % servers);
        }
        return result;
    }

    std::vector<Piece> PiecesOf(uint32_t from, uint32_t lane, uint64_t message) const
    {
        const HcclLayout& layout = m_graph.GetPlan().layout;
        const HcclPhase& phase = m_graph.GetPlan().phases[m_graph.PhaseOf(lane)];
        const uint32_t to = m_graph.GetOutbound(from, lane).peer;
        const uint32_t server = layout.ServerOf(from);
        const uint32_t place = layout.PlaceOf(from);
        const auto servers = layout.GetServers();
        const auto back = [&](uint64_t steps) {
            return std::vector{
                static_cast<uint32_t>((server + servers - steps % servers) % servers)};
        };
        std::vector<uint32_t> every(servers);
        std::iota(every.begin(), every.end(), 0);
        const std::vector<uint32_t> meshServers = phase.wide ? every : std::vector{server};
        switch (phase.kind)
        {
        case HcclKind::MeshReduce:
            return Blocks(meshServers, layout.PlaceOf(to), false);
        case HcclKind::MeshGather:
            return Blocks(meshServers, place, false);
        case HcclKind::RingReduce:
            return Blocks(back(message + 1), place, phase.wide);
        case HcclKind::RingGather:
            return Blocks(back(message), place, phase.wide);
        case HcclKind::NhrReduce:
        case HcclKind::NhrGather:
            return Blocks(DoublingServers(server, lane, phase.kind == HcclKind::NhrReduce),
                          place,
                          phase.wide);
        case HcclKind::PipelineReduce:
            return Blocks(back(message + 1), layout.PlaceOf(to), false);
        case HcclKind::PipelineGather:
            return Blocks(back(message), place, false);
        case HcclKind::RootMesh:
            return Blocks(every, layout.PlaceOf(to), false);
        case HcclKind::CollectMesh:
            return Blocks(every, place, false);
        case HcclKind::RootNet:
            return Blocks({layout.ServerOf(to)}, place, false);
        case HcclKind::CollectNet:
            return Blocks({server}, place, false);
        default:
            return ExchangePieces(from, to, phase.kind);
        }
    }

    std::vector<Piece> ExchangePieces(uint32_t from, uint32_t to, HcclKind kind) const
    {
        const HcclLayout& layout = m_graph.GetPlan().layout;
        std::vector<Piece> pieces;
        for (uint32_t server = 0; kind == HcclKind::MeshExchange && server < layout.GetServers();
             ++server)
        {
            pieces.emplace_back(from, layout.RankAt(server, layout.PlaceOf(to)));
        }
        for (uint32_t place = 0; kind == HcclKind::NetExchange && place < layout.GetPlaces();
             ++place)
        {
            pieces.emplace_back(layout.RankAt(layout.ServerOf(from), place), to);
        }
        return pieces;
    }

    CollectiveTask m_task;
    HcclGraph m_graph;
    SymbolicGraph m_symbols;
};

/// Servers, and ranks of each.
using Machine = std::pair<uint32_t, uint32_t>;

class HcclMachines : public testing::TestWithParam<Machine>
{
  protected:
    /// @return a collective of blocks that differ by a byte; long ones are pipelined
    CollectiveTask Task(CollectiveOp op, bool isLong, bool isSwitched = false) const
    {
        const auto [servers, places] = GetParam();
        const uint64_t ranks = servers * places;
        return HcclTask(op, ranks * (isLong ? 3 * HCCL_MIB : 100) + 1, servers, places, isSwitched);
    }

    std::multiset<uint32_t> Everybody() const
    {
        std::multiset<uint32_t> all;
        for (uint32_t rank = 0; rank < GetParam().first * GetParam().second; ++rank)
        {
            all.insert(rank);
        }
        return all;
    }

    uint32_t Ranks() const
    {
        return GetParam().first * GetParam().second;
    }
};

INSTANTIATE_TEST_SUITE_P(Hccl,
                         HcclMachines,
                         testing::Values(Machine(1, 2),
                                         Machine(1, 3),
                                         Machine(1, 8),
                                         Machine(2, 1),
                                         Machine(2, 8),
                                         Machine(3, 4),
                                         Machine(4, 2),
                                         Machine(5, 3),
                                         Machine(7, 1),
                                         Machine(8, 2)),
                         [](const auto& info) {
                             return std::to_string(info.param.first) + "x" +
                                    std::to_string(info.param.second);
                         });

} // namespace

TEST_P(HcclMachines, AllReduceGivesEveryRankEachContributionOnce)
{
    for (const bool isLong : {false, true})
    {
        for (const bool isSwitched : {false, true})
        {
            HcclSymbols symbols(Task(CollectiveOp::AllReduce, isLong, isSwitched));
            symbols.FillAll();
            ASSERT_TRUE(symbols.Run());
            for (uint32_t rank = 0; rank < Ranks(); ++rank)
            {
                for (uint32_t owner = 0; owner < Ranks(); ++owner)
                {
                    EXPECT_EQ(symbols.Get().At(rank, {0, owner}), Everybody());
                }
            }
            EXPECT_EQ(symbols.Get().GetBytesMoved(),
                      2 * (Ranks() - 1) * Task(CollectiveOp::AllReduce, isLong).request.bytes);
        }
    }
}

TEST_P(HcclMachines, ReduceScatterGivesEveryRankTheSumOfItsBlock)
{
    for (const bool isLong : {false, true})
    {
        for (const bool isSwitched : {false, true})
        {
            HcclSymbols symbols(Task(CollectiveOp::ReduceScatter, isLong, isSwitched));
            symbols.FillAll();
            ASSERT_TRUE(symbols.Run());
            for (uint32_t rank = 0; rank < Ranks(); ++rank)
            {
                EXPECT_EQ(symbols.Get().At(rank, {0, rank}), Everybody());
            }
        }
    }
}

TEST_P(HcclMachines, AllGatherGivesEveryRankAllBlocks)
{
    for (const bool isLong : {false, true})
    {
        for (const bool isSwitched : {false, true})
        {
            HcclSymbols symbols(Task(CollectiveOp::AllGather, isLong, isSwitched));
            symbols.FillOwn();
            ASSERT_TRUE(symbols.Run());
            for (uint32_t rank = 0; rank < Ranks(); ++rank)
            {
                for (uint32_t owner = 0; owner < Ranks(); ++owner)
                {
                    EXPECT_EQ(symbols.Get().At(rank, {0, owner}), std::multiset{owner});
                }
            }
            EXPECT_EQ(symbols.Get().GetBytesMoved(),
                      (Ranks() - 1) * Task(CollectiveOp::AllGather, isLong).request.bytes);
        }
    }
}

TEST_P(HcclMachines, ARootGivesAllRanksItsDataAndGetsTheirSum)
{
    for (const int root : {0, static_cast<int>(Ranks()) - 1})
    {
        CollectiveTask task = Task(CollectiveOp::Broadcast, true);
        task.request.root = root;
        HcclSymbols broadcast(task);
        broadcast.FillAll(static_cast<uint32_t>(root));
        ASSERT_TRUE(broadcast.Run());
        task.request.op = CollectiveOp::Reduce;
        HcclSymbols reduce(task);
        reduce.FillAll();
        ASSERT_TRUE(reduce.Run());
        for (uint32_t i = 0; i < Ranks(); ++i)
        {
            EXPECT_EQ(reduce.Get().At(static_cast<uint32_t>(root), {0, i}), Everybody());
            for (uint32_t rank = 0; rank < Ranks(); ++rank)
            {
                EXPECT_EQ(broadcast.Get().At(rank, {0, i}),
                          std::multiset{static_cast<uint32_t>(root)});
            }
        }
    }
}

TEST_P(HcclMachines, AnExchangeBringsEveryPairsDataToItsReceiver)
{
    CollectiveTask task = Task(CollectiveOp::AllToAll, true);
    for (const bool isUneven : {false, true})
    {
        for (uint64_t pair = 0; isUneven && pair < uint64_t{Ranks()} * Ranks(); ++pair)
        {
            task.request.bytesPerPair.push_back(pair * 7 % 5);
        }
        task.request.op = isUneven ? CollectiveOp::AllToAllV : CollectiveOp::AllToAll;
        HcclSymbols symbols(task);
        for (uint32_t rank = 0; rank < Ranks(); ++rank)
        {
            for (uint32_t to = 0; to < Ranks(); ++to)
            {
                symbols.Get().At(rank, {rank, to}) = {rank};
            }
        }
        ASSERT_TRUE(symbols.Run());
        for (uint32_t rank = 0; rank < Ranks(); ++rank)
        {
            for (uint32_t from = 0; from < Ranks(); ++from)
            {
                if (PairBytes(task.request, Ranks(), from, rank) > 0)
                {
                    EXPECT_EQ(symbols.Get().At(rank, {from, rank}), std::multiset{from});
                }
            }
        }
    }
}

TEST(HcclGraph, EachLinkOfAMeshCarriesTwoBlocksOfAnAllReduce)
{
    constexpr uint32_t RANKS = 8;
    constexpr uint64_t BLOCK = 4 * HCCL_MIB;
    const CollectiveTask task = HcclTask(CollectiveOp::AllReduce, RANKS * BLOCK, 1, RANKS);
    const HcclGraph graph(task.request, ChooseHccl(task));
    for (uint32_t from = 0; from < RANKS; ++from)
    {
        std::vector<uint64_t> bytesTo(RANKS);
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            bytesTo[graph.GetOutbound(from, lane).peer] += graph.GetBytes(from, lane, 0);
        }
        for (uint32_t to = 0; to < RANKS; ++to)
        {
            EXPECT_EQ(bytesTo[to], to == from ? 0 : 2 * BLOCK);
        }
    }
}

// Servers send 2 (S - 1) / S of the data of an AllReduce, each rank a share of it.
TEST(HcclGraph, BetweenServersEachRankSendsAShareOfTheData)
{
    constexpr uint64_t BYTES = 64 * 120;
    for (const uint32_t servers : {2, 3, 4, 5})
    {
        for (const uint64_t scale : {uint64_t{1}, HCCL_MIB})
        {
            const CollectiveTask task =
                HcclTask(CollectiveOp::AllReduce, BYTES * scale, servers, 8);
            const HcclGraph graph(task.request, ChooseHccl(task));
            uint64_t bytes = 0;
            for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
            {
                const Lane out = graph.GetOutbound(3, lane);
                for (uint64_t i = 0; out.peer / 8 != 0 && i < out.messages; ++i)
                {
                    bytes += graph.GetBytes(3, lane, i);
                }
            }
            EXPECT_EQ(bytes, 2 * (servers - 1) * BYTES * scale / servers / 8);
        }
    }
}

TEST(HcclGraph, ServersOfDifferentSizesDoAsRanksOfTheirOwn)
{
    CollectiveTask task = HcclTask(CollectiveOp::AllReduce, 5000, 1, 5);
    task.servers = {0, 0, 0, 1, 1};
    HcclSymbols symbols(task);
    symbols.FillAll();
    ASSERT_TRUE(symbols.Run());
    for (uint32_t rank = 0; rank < 5; ++rank)
    {
        EXPECT_EQ(symbols.Get().At(rank, {0, 4 - rank}), std::multiset<uint32_t>({0, 1, 2, 3, 4}));
    }
}

} // namespace AstraSim
