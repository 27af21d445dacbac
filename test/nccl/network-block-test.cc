/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Blocks of rings whose neighbours are both in other servers: they copy one slice after the other.
 */
#include "../support/loopback-network.h"
#include "collectives/model/collective/flow-executor.h"
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/graph/ring-graph.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/nccl/nccl-options.h"
#include "collectives/model/timing/ring-times.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include "ns3/collective-types.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr uint64_t RING_SLICE = 1048576; // half of a chunk of 4 buffers of 512 KiB
constexpr double PS_PER_ACCESS = 8;

/// A ring of one channel, whose block passes on a byte (three accesses) in 24 ps.
TimedLanes
MakeRing(CollectiveOp op,
         uint32_t ranks,
         uint64_t bytes,
         uint32_t gpusPerServer = 1,
         NcclProtocol protocol = NcclProtocol::Simple,
         std::optional<TimePs> latency = {})
{
    RingLayout layout;
    layout.protocol = protocol;
    layout.byBlocks = !latency;
    layout.copiesAcross = true;
    const ChannelSpeeds speeds{.blockGBps = 1000 / (3 * PS_PER_ACCESS)};
    const RingGraph ring(Request(op, bytes), MakeShape(ranks, gpusPerServer), layout);
    return TimesOf<RingTimes>(ring, speeds, latency);
}

/// @return when rank 0 of a ring is done, on a network that takes @p latency for any message
TimePs
TimeOf(const TimedLanes& ring, TimePs latency, double wireInflation = 1)
{
    const uint32_t ranks = ring.Get().graph->GetRanks();
    const CommGroup group = FirstRanks(ranks);
    LoopbackNetwork network(static_cast<int>(ranks), latency, 0);
    network.DelayStarts();
    auto shared = std::make_shared<FlowRanks>(ranks);
    std::vector<std::unique_ptr<FlowExecutor>> executors;
    TimePs done = 0;
    FlowExecution execution(ring.Get(), group);
    execution.wireInflation = wireInflation;
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        executors.push_back(std::make_unique<FlowExecutor>(
            execution,
            shared,
            rank,
            network.At(static_cast<int>(rank)),
            0,
            MessageInfo{},
            [&done, rank, &network]() { done = rank == 0 ? network.Now() : done; }));
        executors.back()->Start();
    }
    network.Run();
    return done;
}

/// Time of a block for a number of reads and writes of a slice.
constexpr TimePs
BlockTime(int count)
{
    return static_cast<TimePs>(PS_PER_ACCESS * RING_SLICE) * count;
}

} // namespace

// NCCL's AllGather (src/device/all_gather.h) of two ranks: directCopySend reads the input and
// writes the output and a slot, directRecv reads a slot and writes the output.
TEST(NetworkBlock, WritesWaitsAndCopiesInTurn)
{
    constexpr TimePs SHORT = 1000000; // shorter than an access, so the block is never idle
    constexpr uint64_t ROUND = 2 * 2 * RING_SLICE;
    static_assert(SHORT < BlockTime(1));
    EXPECT_EQ(TimeOf(MakeRing(CollectiveOp::AllGather, 2, ROUND), SHORT), BlockTime(2 * (3 + 2)));
    EXPECT_EQ(TimeOf(MakeRing(CollectiveOp::AllGather, 2, 3 * ROUND), SHORT),
              3 * BlockTime(2 * (3 + 2)))
        << "a round begins when the one before is done";

    constexpr TimePs LONG = 20 * BlockTime(1);
    // Both slices have left after 6 accesses. The first is there 3 accesses earlier, so it has been
    // copied when the second comes.
    EXPECT_EQ(TimeOf(MakeRing(CollectiveOp::AllGather, 2, ROUND), LONG),
              BlockTime(6) + LONG + BlockTime(2));
}

// ReduceScatter (reduce_scatter.h): send, then recvReduceCopy. AllReduce (all_reduce.h): send,
// directRecvReduceCopyDirectSend, which reads slot and input and writes output and slot, and
// directRecv.
TEST(NetworkBlock, ReadsWhatItAddsToAndWritesWhatItKeeps)
{
    constexpr TimePs SHORT = 1000000;
    constexpr uint64_t ROUND = 2 * 2 * RING_SLICE;
    EXPECT_EQ(TimeOf(MakeRing(CollectiveOp::ReduceScatter, 2, ROUND), SHORT),
              BlockTime(2 * (2 + 3)));
    EXPECT_EQ(TimeOf(MakeRing(CollectiveOp::AllReduce, 2, ROUND), SHORT),
              BlockTime(2 * (2 + 4 + 2)));

    const auto ring = MakeRing(CollectiveOp::AllReduce, 4, 4 * 2 * RING_SLICE);
    std::vector<uint32_t> accesses;
    for (uint64_t message = 0; message < ring.Get().graph->GetOutbound(0, 0).messages; message += 2)
    {
        accesses.push_back(ring.Get().gpu->GetSendAccesses(0, 0, message));
    }
    EXPECT_EQ(accesses, (std::vector<uint32_t>{2, 3, 3, 4, 3, 3}));
    EXPECT_EQ(ring.In(0, 0).takeAccesses, 2U);
}

TEST(NetworkBlock, HasItsTimeOnlyWhereBothNeighboursAreInOtherServers)
{
    const auto psPerAccess = [](const TimedLanes& ring, uint32_t rank) {
        return ring.Out(rank, 0).psPerAccess;
    };
    constexpr uint64_t BYTES = 1 << 26;
    constexpr auto OP = CollectiveOp::AllGather;
    EXPECT_NEAR(psPerAccess(MakeRing(OP, 4, BYTES), 0), PS_PER_ACCESS, 1e-9);
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        EXPECT_EQ(psPerAccess(MakeRing(OP, 4, BYTES, 2), rank), 0) << "NVLink sets its pace";
    }
    EXPECT_EQ(psPerAccess(MakeRing(OP, 4, BYTES, 1, NcclProtocol::Ll), 0), 0);
    EXPECT_EQ(psPerAccess(MakeRing(OP, 4, BYTES, 1, NcclProtocol::Ll128), 0), 0);
    EXPECT_EQ(psPerAccess(MakeRing(OP, 4, BYTES, 1, NcclProtocol::Simple, 3000), 0), 0)
        << "AS_SEND_LAT stands for all that a step takes";
}

// A block writes all words of a slot before the CPU hands it to the NIC (src/transport/net.cc). Two
// ranks of an AllGather send at once, and take what has come in one pass more.
TEST(NetworkBlock, WritesAWholeSlotOfWordsBeforeItLeaves)
{
    constexpr TimePs LATENCY = 5000000;
    constexpr uint64_t CHUNK = 16384; // of LL: 8 slots share 512 KiB, half of which are flags
    constexpr double PS_PER_BYTE = 240;
    constexpr uint32_t PASSES = 8; // of 7 steps: NCCL's rates are those of 8 GPUs
    ChannelSpeeds speeds{.channelGBps = 1000 / PS_PER_BYTE * 2 * 7 / PASSES};
    RingLayout layout;
    layout.protocol = NcclProtocol::Ll;
    const auto ring = [&](uint32_t gpusPerServer) {
        const RingGraph graph(Request(CollectiveOp::AllGather, 4 * CHUNK),
                              MakeShape(4, gpusPerServer),
                              layout);
        return TimesOf<RingTimes>(graph, speeds, std::optional<TimePs>());
    };
    constexpr double PASS = PS_PER_BYTE * CHUNK;
    constexpr double LL = WireInflation(NcclProtocol::Ll);
    EXPECT_NEAR(TimeOf(ring(1), LATENCY, LL), 3 * (LATENCY + PASS) + PASS, 2000);

    speeds.passes.hiddenBytes = CHUNK / 2;
    EXPECT_NEAR(TimeOf(ring(1), LATENCY, LL), 3 * (LATENCY + PASS / 2) + PASS, 2000)
        << "a step's latency has the first words in it";
    uint32_t blocks = 0;
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        const TimedLanes lanes = ring(2);
        const LaneTimes times = lanes.Out(rank, 0);
        EXPECT_NE(times.psPerAccess > 0, times.rateCapBps > 0) << "NVLink sets its own pace";
        if (times.psPerAccess > 0)
        {
            ++blocks;
            EXPECT_EQ(lanes.Get().gpu->GetSendAccesses(rank, 0, 0), 1U) << "the rank's own data";
            EXPECT_EQ(lanes.Get().gpu->GetSendAccesses(rank, 0, 1), 0U) << "written as they arrive";
        }
    }
    EXPECT_EQ(blocks, 2U) << "one for each server";
}

TEST(NetworkBlock, PassesOnWhatABlockOfItsGenerationMoves)
{
    for (const char* gpu : {"A100", "H100", "B200"})
    {
        MachineModel machine;
        machine.gpusPerServer = 1;
        machine.gpu = FindGpuProfile(gpu);
        machine.nvlinkGBps = 450;
        machine.nicGBps = 50;
        const NcclOptions options;
        const NcclPlan plan = NcclCostModel(machine, options)
                                  .Evaluate(NcclAlgorithm::Ring,
                                            NcclProtocol::Simple,
                                            CollectiveOp::AllGather,
                                            GroupShape(FirstRanks(2), machine),
                                            1 << 26);
        EXPECT_EQ(plan.speeds.blockGBps, std::string(gpu) == "A100" ? 20 : 22.5);
    }
}

} // namespace AstraSim
