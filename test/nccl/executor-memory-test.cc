/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/silent-network.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/nccl/nccl-algorithm.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <memory>
#include <numeric>
#include <vector>

namespace AstraSim
{

namespace
{

/// @return bytes that malloc() has handed out
std::size_t
BytesInUse()
{
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

} // namespace

TEST(FlowExecutor, ARingOver16384RanksTakesLessThan2KiBPerRankAndChannel)
{
    constexpr uint32_t RANKS = 16384;
    constexpr uint32_t CHANNELS = 16;
    NcclOptions options;
    options.algorithms = {&NcclAlgorithm::Ring};
    options.protocols = {NcclProtocol::Simple};
    options.minChannels = CHANNELS;
    options.maxChannels = CHANNELS;
    MockNcclGroup nccl(MachineModel{}, options);
    CommGroup group;
    group.ranks.resize(RANKS);
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 16ULL << 30;
    SilentNetwork network;
    const MessageInfo info;

    const std::size_t before = BytesInUse();
    const auto plan = nccl.Plan(group, request);
    std::vector<std::unique_ptr<RankCollective>> executors;
    executors.reserve(RANKS);
    for (uint32_t rank = 0; rank < RANKS; ++rank)
    {
        executors.push_back(plan->CreateRank(rank, network, 0, info, [] {}));
        executors.back()->Start();
        network.RunScheduled();
    }
    const std::size_t used = BytesInUse() - before;

    // Alive: every rank waits on every channel, and its first messages are under way.
    EXPECT_EQ(network.GetReceives(), uint64_t{RANKS} * CHANNELS);
    EXPECT_GE(network.GetSends(), uint64_t{RANKS} * CHANNELS);
    EXPECT_EQ(plan->GetChoice().channels, CHANNELS);
    if (used == 0)
    {
        GTEST_SKIP() << "this build's malloc() does not count";
    }
    EXPECT_LT(used / RANKS / CHANNELS, 2048U);
}

} // namespace AstraSim
