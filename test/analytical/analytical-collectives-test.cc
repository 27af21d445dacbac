/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/estimate/analytical-collectives.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-cost-model.h"

#include <gtest/gtest.h>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{
namespace
{

/// Servers of 8 H100 with 360 GB/s of NVLink and a NIC of 50 GB/s each.
MachineModel
Machine()
{
    MachineModel machine;
    machine.gpu = FindGpuProfile("H100");
    return machine;
}

constexpr double NVLINK_HOP_US = 2 * 0.025; ///< delay of the two links through an NVSwitch

/// Bytes on a NIC for each of payload: a frame's header, and where data come in, too, the
/// acknowledgements of those.
constexpr double WITH_HEADERS = 9082.0 / 9000;
constexpr double WITH_ACKS = 9166.0 / 9000;

CommGroup
Group(GroupKind kind, int ranks)
{
    CommGroup group{1, kind, "G", {}};
    group.ranks.resize(static_cast<std::size_t>(ranks));
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    return group;
}

BusbwTable
Table(const std::string& text)
{
    std::istringstream input(text);
    return BusbwTable::Read(input, "busbw.yaml");
}

class AnalyticalCollectivesTest : public testing::Test
{
  protected:
    NcclOptions m_options;
    MockNcclGroup m_nccl{Machine(), m_options};
};

TEST_F(AnalyticalCollectivesTest, EqualPairsTakeAnAllToAllsTimeWhereverNicsAreShared)
{
    // Two GPUs share each NIC; of each server's eight some are in the group, alone at a NIC or not.
    MachineModel machine = Machine();
    machine.gpusPerNic = 2;
    const MockNcclGroup nccl(machine, m_options);
    AnalyticalCollectives collectives(nccl, {}, {});
    for (const std::vector<int>& places :
         {std::vector{0}, std::vector{0, 1}, std::vector{0, 1, 2}, std::vector{0, 2, 4, 6}})
    {
        CommGroup group{1, GroupKind::Ep, "G", {}};
        for (const int server : {0, 8, 16, 24})
        {
            for (const int place : places)
            {
                group.ranks.push_back(server + place);
            }
        }
        const std::size_t ranks = group.ranks.size();
        constexpr uint64_t EACH = 16 << 20;
        CollectiveRequest pairs{CollectiveOp::AllToAllV, ranks * EACH};
        pairs.bytesPerPair.assign(ranks * ranks, EACH);
        const auto even = collectives.GetTime(group, {CollectiveOp::AllToAll, ranks * EACH});
        // Smaller forms may have a byte of a pair more or less.
        const auto uneven = static_cast<double>(collectives.GetTime(group, pairs));
        EXPECT_NEAR(uneven, static_cast<double>(even), 1e-4 * uneven) << places.size();
    }
}

TEST_F(AnalyticalCollectivesTest, AGivenBusBandwidthIsAllThereIs)
{
    AnalyticalCollectives collectives(m_nccl, Table("TP:\nallreduce: 300\nallgather: 280\n"), {});
    // 2 x 7/8 x 960 MB at 300 GB/s, 7/8 x 960 MB at 280 GB/s.
    const CommGroup group = Group(GroupKind::Tp, 8);
    EXPECT_EQ(collectives.GetTime(group, {CollectiveOp::AllReduce, 960'000'000}), 5'600'000'000);
    EXPECT_EQ(collectives.GetTime(group, {CollectiveOp::AllGather, 960'000'000}), 3'000'000'000);
    // No latency, not even for a byte.
    EXPECT_EQ(collectives.GetTime(group, {CollectiveOp::AllReduce, 1}), 6);
}

TEST_F(AnalyticalCollectivesTest, WithoutOneTheMessagesOfTheChoiceSay)
{
    AnalyticalCollectives collectives(m_nccl, Table("DP:\nallreduce: 300\n"), {});
    const CommGroup group = Group(GroupKind::Tp, 8);
    CollectiveChoice choice;
    // A kilobyte takes its latency: 6.6 us of base, 14 steps of 0.6 us and the links' delay; and
    // its 256 bytes of LL at each step leave at a channel's own speed.
    EXPECT_NEAR(
        static_cast<double>(collectives.GetTime(group, {CollectiveOp::AllReduce, 1024}, &choice)),
        (6.6 + 14 * (0.6 + NVLINK_HOP_US)) * 1e6,
        0.5e6);
    EXPECT_EQ(choice.algorithm, "Ring");
    EXPECT_EQ(choice.protocol, "LL");
    // By NVLS, each GPU sends its part to the NVSwitch and receives the sum of all: with many bytes
    // the links set the pace, 360 GB/s less what reductions and multicasts leave of it. NCCL's own
    // estimate leaves out how long the pipeline takes to fill, which counts with few.
    const auto algGBps = [&](uint64_t bytes) {
        return static_cast<double>(bytes) * 1e3 /
               static_cast<double>(collectives.GetTime(group, {CollectiveOp::AllReduce, bytes}));
    };
    EXPECT_LT(algGBps(uint64_t{1} << 34), 360);
    EXPECT_GT(algGBps(uint64_t{1} << 34), 0.7 * 360);
    EXPECT_LT(algGBps(16 << 20), 0.6 * algGBps(uint64_t{1} << 34));
}

TEST(AnalyticalCollectives, ANicCarriesItsRateWhateverSpeedsNcclKnows)
{
    // NCCL counts on 6 GB/s of a NIC of 10, as its list has 12 and 6.
    const NcclOptions options;
    const auto busbw = [&](double nicGBps) {
        MachineModel machine = Machine();
        machine.nicGBps = nicGBps;
        machine.gpusPerServer = 1;
        const MockNcclGroup nccl(machine, options);
        constexpr uint64_t BYTES = uint64_t{1} << 33;
        const TimePs time = AnalyticalCollectives(nccl, {}, {})
                                .GetTime(Group(GroupKind::Dp, 2), {CollectiveOp::AllReduce, BYTES});
        return static_cast<double>(BYTES) * 1e3 / static_cast<double>(time);
    };
    // Blocks copy the first and the last slice while the NIC is idle.
    double before = 0;
    for (const double nic :
         {0.1, 0.3, 1.0, 2.0, 5.0, 9.9, 10.0, 12.4, 13.0, 14.0, 25.0, 33.0, 62.5})
    {
        const double now = busbw(nic);
        EXPECT_GT(now, before) << nic;
        EXPECT_LE(now, nic) << nic;
        EXPECT_GE(now, 0.75 * nic) << nic;
        before = now;
    }
}

TEST(AnalyticalCollectives, AGivenSendLatencyStandsBeforeEachMessageOfTheRow)
{
    NcclOptions options;
    options.algorithms = {&NcclAlgorithm::Ring};
    options.sendLatency = 5'000'000; // 5 us
    const MockNcclGroup with(Machine(), options);
    const CommGroup group = Group(GroupKind::Dp, 16);
    // A ring of 16 hands a byte on 30 times, 27 of them within servers; NCCL's own latencies are
    // gone.
    const CollectiveRequest small{CollectiveOp::AllReduce, 16};
    EXPECT_NEAR(static_cast<double>(AnalyticalCollectives(with, {}, {}).GetTime(group, small)),
                30 * 5e6 + 27 * NVLINK_HOP_US * 1e6,
                1e5);
    // A microsecond more costs one for each message of the row, if all chunks go around at once.
    options.sendLatency = 6'000'000;
    const MockNcclGroup later(Machine(), options);
    const CollectiveRequest large{CollectiveOp::AllReduce, 8'000'000};
    EXPECT_NEAR(static_cast<double>(AnalyticalCollectives(later, {}, {}).GetTime(group, large) -
                                    AnalyticalCollectives(with, {}, {}).GetTime(group, large)),
                30 * 1e6,
                1e5);
    // AllToAll sends to all at once; a bandwidth of the user's has it once.
    const CollectiveRequest all{CollectiveOp::AllToAll, 1'600'000'000};
    const auto time = static_cast<double>(AnalyticalCollectives(with, {}, {}).GetTime(group, all));
    EXPECT_GE(time, (5 + WITH_HEADERS * 800e6 / 50e9 * 1e6) * 1e6);
    constexpr double UNFAIR = 1.005; // of shares where many messages meet
    EXPECT_LE(time, UNFAIR * (5 + WITH_ACKS * 800e6 / 50e9 * 1e6) * 1e6);
    AnalyticalCollectives given(with, Table("TP:\nallreduce: 300\n"), {});
    EXPECT_EQ(given.GetTime(Group(GroupKind::Tp, 8), {CollectiveOp::AllReduce, 960'000'000}),
              5'600'000'000 + 5'000'000);
}

TEST_F(AnalyticalCollectivesTest, AllToAllTakesTheSlowerOfNvlinkAndNic)
{
    AnalyticalCollectives collectives(m_nccl, {}, {});
    constexpr double MB = 1e6;
    // 16 ranks on two servers send 100 MB to each: 700 MB within, 800 MB over a NIC at 50 GB/s.
    // Base 8.4 us, network 2.8 us, and a CPU takes 3.3 us for the first message of each of a peer's
    // four channels, more than the NIC. For further ones of 128 KiB it takes less than the NIC.
    const double each = WITH_ACKS * 800 * MB / 50e9 / (8 * 763) * 1e6;
    const double all = 8 * (4 * 3.3 + 759 * each) + each;
    EXPECT_NEAR(static_cast<double>(collectives.GetTime(Group(GroupKind::Ep, 16),
                                                        {CollectiveOp::AllToAll, 1'600'000'000})),
                (8.4 + 2.8 + all) * 1e6,
                0.02 * all * 1e6);
    // 1526 messages of 64 KiB for each of 8 peers take it 2 us each, longer than the NIC.
    NcclOptions small;
    small.pairNetChunk = 65536;
    const MockNcclGroup nccl(Machine(), small);
    const double work = 8 * (4 * 3.3 + 1522 * 2);
    EXPECT_NEAR(static_cast<double>(AnalyticalCollectives(nccl, {}, {})
                                        .GetTime(Group(GroupKind::Ep, 16),
                                                 {CollectiveOp::AllToAll, 1'600'000'000})),
                (8.4 + 2.8 + work + 800 * MB / 50e9 / (8 * 1526) * 1e6) * 1e6,
                0.02 * work * 1e6);
    // 8 ranks within: 700 MB at what pairs move over NVLinks of 360 GB/s, 3.4 us.
    const CommGroup server = Group(GroupKind::Ep, 8);
    const CollectiveRequest within{CollectiveOp::AllToAll, 800'000'000};
    const MachineModel machine = Machine();
    const NcclPlan plan = NcclCostModel(machine, m_options)
                              .EvaluatePairs(within.op,
                                             GroupShape(server, machine),
                                             within.bytes / server.ranks.size());
    const double pairsGBps = plan.Of<PairPlan>().speeds.rankGBps / plan.GetWireInflation();
    EXPECT_LE(pairsGBps, 360);
    // The last 512 KiB of each of a pair's 8 channels are copied out of their slots, twice as fast.
    const double copied = 7 * 8 * 524'288 / 2.0;
    EXPECT_NEAR(static_cast<double>(collectives.GetTime(server, within)),
                (8.4 + 3.4 + (700 * MB + copied) / (pairsGBps * 1e9) * 1e6) * 1e6,
                0.02 * 700 * MB / pairsGBps * 1e3);
}

TEST_F(AnalyticalCollectivesTest, RootedAndUnevenOperationsTakeTheBusiestRank)
{
    NcclOptions small;
    small.pairNetChunk = 65536;
    const MockNcclGroup nccl(Machine(), small);
    AnalyticalCollectives collectives(nccl, {}, {});
    const CommGroup group = Group(GroupKind::Custom, 16);
    // Half of the root's 1.6 GB comes over its one NIC. Its 8 peers across the network have a CPU
    // each to send with, 3.3 us for the first message of 64 KiB in each of four channels and 2 us
    // for a further one; the root that scatters has one for all messages.
    const double gather = (8.4 + 2.8 + 3.3 + 800e6 / 50e9 * 1e6) * 1e6;
    EXPECT_NEAR(
        static_cast<double>(collectives.GetTime(group, {CollectiveOp::Gather, 1'600'000'000, 3})),
        gather,
        0.02 * gather);
    EXPECT_NEAR(
        static_cast<double>(collectives.GetTime(group, {CollectiveOp::Scatter, 1'600'000'000, 3})),
        (8.4 + 2.8 + 8 * (4 * 3.3 + 1522 * 2) + 800e6 / 50e9 / (8 * 1526) * 1e6) * 1e6,
        0.02 * 8 * 1526 * 2 * 1e6);
    // Two pairs of 7630 messages each take the CPU less than the NIC that receives them, but for
    // the first of four channels.
    CollectiveRequest uneven{CollectiveOp::AllToAllV, 0};
    uneven.bytesPerPair.assign(256, 0);
    uneven.bytesPerPair[2 * 16 + 9] = 500'000'000; // 2 to 9, over the NICs
    uneven.bytesPerPair[4 * 16 + 9] = 500'000'000;
    EXPECT_NEAR(static_cast<double>(collectives.GetTime(group, uneven)),
                (8.4 + 2.8 + 4 * 3.3 + (7630 - 4 + 1) * 1000e6 / 50e9 * 1e6 / 7630) * 1e6,
                0.02 * 1000e6 / 50e9 * 1e12);
}

// For every collective, group and latency: more bytes take longer, a busiest rank sends
// what it must at the rate of its ports, and a plan says what was chosen.
TEST_F(AnalyticalCollectivesTest, EveryEstimateGrowsWithItsBytesAndObeysThePorts)
{
    constexpr CollectiveOp OPS[] = {CollectiveOp::AllReduce,
                                    CollectiveOp::AllGather,
                                    CollectiveOp::ReduceScatter,
                                    CollectiveOp::AllToAll,
                                    CollectiveOp::Broadcast,
                                    CollectiveOp::Reduce,
                                    CollectiveOp::Gather,
                                    CollectiveOp::Scatter,
                                    CollectiveOp::Barrier};
    NcclOptions given;
    given.sendLatency = 3'000'000;
    MachineModel alone = Machine(); // every GPU a server of its own
    alone.gpusPerServer = 1;
    alone.nvswitchesPerServer = 0;
    for (const auto& [machine, options] :
         {std::pair(Machine(), m_options), {Machine(), given}, {alone, m_options}, {alone, given}})
    {
        MockNcclGroup nccl(machine, options);
        AnalyticalCollectives collectives(nccl, {}, {});
        for (const CollectiveOp op : OPS)
        {
            for (const int ranks : {2, 8, 24})
            {
                SCOPED_TRACE(std::string(ToString(op)) + " on " + std::to_string(ranks));
                const CommGroup group = Group(GroupKind::Custom, ranks);
                const bool crosses = ranks > static_cast<int>(machine.gpusPerServer);
                TimePs before = 0;
                std::string chosenBefore;
                for (const uint64_t bytes : {1024UL, 1UL << 20, 1UL << 26, 1UL << 30})
                {
                    const CollectiveRequest request{op, op == CollectiveOp::Barrier ? 0 : bytes, 0};
                    CollectiveChoice choice;
                    const TimePs time = collectives.GetTime(group, request, &choice);
                    // NCCL's choice goes by estimates of its own, so another algorithm may be
                    // faster.
                    const std::string chosen = choice.algorithm + choice.protocol;
                    EXPECT_TRUE(chosen != chosenBefore || time >= before) << chosen;
                    before = op == CollectiveOp::Barrier ? 0 : time;
                    chosenBefore = chosen;
                    EXPECT_EQ(choice.algorithm, nccl.Choose(group, request).choice.algorithm);
                    // A rank's part of the data leaves it at least once, over all its server's
                    // NICs or its own NVLinks.
                    const double GBps = crosses ? 8 * machine.nicGBps : machine.nvlinkGBps;
                    EXPECT_GE(static_cast<double>(time),
                              static_cast<double>(request.bytes) / ranks / GBps * 1000);
                }
                EXPECT_NE(collectives.Plan(group, {op, 1 << 20, 0}), nullptr);
            }
        }
        const CommGroup pair = Group(GroupKind::Pp, 2);
        EXPECT_GT(collectives.GetTime(pair, {CollectiveOp::SendRecv, 1 << 20}), 0);
    }
}

TEST_F(AnalyticalCollectivesTest, OverlapHidesItsPartOfTheTime)
{
    OverlapRatios overlap{};
    overlap[static_cast<std::size_t>(GroupKind::Dp)] = 0.25;
    AnalyticalCollectives collectives(m_nccl, Table("DP:\nallreduce: 300\n"), overlap);
    const CommGroup group = Group(GroupKind::Dp, 8);
    const auto plan = collectives.Plan(group, {CollectiveOp::AllReduce, 960'000'000});
    EXPECT_EQ(plan->GetChoice().predicted, 5'600'000'000);
    EXPECT_EQ(plan->GetChoice().hidden, 1'400'000'000);
}

} // namespace
} // namespace AstraSim
