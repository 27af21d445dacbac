/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/all-pairs-graph.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/rccl/rccl-cost-model.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include <gtest/gtest.h>

namespace AstraSim
{

TEST(AllPairsGraph, EveryRankGetsTheSumOfAllPartsAndSendsTwiceItsShare)
{
    for (uint32_t ranks = 2; ranks <= 9; ++ranks)
    {
        const uint64_t bytes = 1000 * ranks + 3; // parts differ by a byte
        const AllPairsGraph graph(bytes, ranks);
        SymbolicGraph symbols(graph);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint32_t owner = 0; owner < ranks; ++owner)
            {
                symbols.At(rank, {owner, 0}) = {rank};
            }
        }
        const uint32_t others = ranks - 1;
        ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t) {
            const bool scatters = lane < others;
            const uint32_t owner = scatters ? graph.GetOutbound(from, lane).peer : from;
            return SymbolicGraph::Move{{owner, 0}, scatters};
        }));
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint32_t owner = 0; owner < ranks; ++owner)
            {
                std::multiset<uint32_t> all;
                for (uint32_t i = 0; i < ranks; ++i)
                {
                    all.insert(i);
                }
                EXPECT_EQ(symbols.At(rank, {owner, 0}), all) << rank << " of " << ranks;
            }
        }
        EXPECT_EQ(symbols.GetBytesMoved(), 2 * others * bytes);
    }
}

TEST(AllPairsGraph, InOneStepEveryRankGetsAllDataOfAllOthers)
{
    for (uint32_t ranks = 2; ranks <= 9; ++ranks)
    {
        constexpr uint64_t BYTES = 1001;
        const AllPairsGraph graph(BYTES, ranks, 1);
        SymbolicGraph symbols(graph);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            symbols.At(rank, {rank, 0}) = {rank};
        }
        ASSERT_TRUE(symbols.Run([](uint32_t from, uint32_t, uint64_t) {
            return SymbolicGraph::Move{{from, 0}, false};
        }));
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint32_t from = 0; from < ranks; ++from)
            {
                EXPECT_EQ(symbols.At(rank, {from, 0}), std::multiset<uint32_t>{from});
            }
        }
        EXPECT_EQ(symbols.GetBytesMoved(), uint64_t{ranks} * (ranks - 1) * BYTES);
    }
}

TEST(AllPairsGraph, AStepHasThePlansLatencyOrTheUsers)
{
    NcclPlan plan;
    plan.speeds.intraLatency = 2100;
    plan.speeds.channelGBps = 32;
    const auto request = Request(CollectiveOp::AllReduce, 1 << 20);
    const auto& make = RCCL_ALL_PAIRS.GetMethod().graph;
    NcclOptions options;
    const LaneTimes own = TimedLanes(make(options, request, MakeShape(8, 8), plan)).Out(0, 0);
    EXPECT_EQ(own.latency, 2100);
    EXPECT_EQ(own.rateCapBps, 256'000'000'000U);
    options.sendLatency = 7;
    EXPECT_EQ(TimedLanes(make(options, request, MakeShape(8, 8), plan)).Out(0, 13).latency, 7);
}

} // namespace AstraSim
