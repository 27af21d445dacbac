/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/native/native-algorithm.h"
#include "job-fixture.h"

#include "ns3/input-error.h"

#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace AstraSim;

namespace
{

/// A rank's data of a block: the ranks whose contributions are in it.
using Contributions = std::set<uint32_t>;

/**
 * Carries out a schedule with sets in place of numbers. Data is taken when a message is sent, so a
 * message that leaves too early, or twice, shows in the result.
 */
class SymbolicRun
{
  public:
    SymbolicRun(const NativeSchedule& schedule, uint32_t ranks, uint32_t blocks)
        : data(ranks, std::vector<Contributions>(blocks)),
          m_schedule(schedule),
          m_ranks(ranks)
    {
    }

    /// @return whether all steps of all ranks could be done
    bool Run()
    {
        struct Lane
        {
            uint32_t sent{0};
            uint32_t done{0};
        };

        std::vector<std::vector<Lane>> lanes(m_ranks, std::vector<Lane>(m_schedule.LaneCount()));
        std::map<std::tuple<uint32_t, uint32_t, uint32_t>,
                 std::deque<std::map<uint32_t, Contributions>>>
            inFlight;
        for (bool progress = true; progress;)
        {
            progress = false;
            for (uint32_t rank = 0; rank < m_ranks; ++rank)
            {
                for (uint32_t lane = 0; lane < m_schedule.LaneCount(); ++lane)
                {
                    auto& state = lanes[rank][lane];
                    const uint32_t steps = m_schedule.StepCount(rank, lane);
                    while (state.sent < steps && state.sent - state.done < m_schedule.Window())
                    {
                        const auto step = m_schedule.Step(rank, lane, state.sent);
                        if (step.afterAll && state.sent != state.done)
                        {
                            break;
                        }
                        if (step.sendTo >= 0)
                        {
                            std::map<uint32_t, Contributions> message;
                            for (const uint32_t block :
                                 m_schedule.BlocksSent(rank, lane, state.sent))
                            {
                                message[block] = data[rank][block];
                            }
                            const auto target = static_cast<uint32_t>(step.sendTo);
                            inFlight[{rank, target, lane}].push_back(std::move(message));
                        }
                        ++state.sent;
                        progress = true;
                    }
                    while (state.done < state.sent)
                    {
                        const auto step = m_schedule.Step(rank, lane, state.done);
                        if (step.receiveFrom >= 0)
                        {
                            auto& queue =
                                inFlight[{static_cast<uint32_t>(step.receiveFrom), rank, lane}];
                            if (queue.empty())
                            {
                                break;
                            }
                            Take(rank, queue.front(), step.reduces);
                            queue.pop_front();
                        }
                        ++state.done;
                        progress = true;
                    }
                }
            }
        }
        for (uint32_t rank = 0; rank < m_ranks; ++rank)
        {
            for (uint32_t lane = 0; lane < m_schedule.LaneCount(); ++lane)
            {
                if (lanes[rank][lane].done < m_schedule.StepCount(rank, lane))
                {
                    return false;
                }
            }
        }
        return true;
    }

    std::vector<std::vector<Contributions>> data; ///< [rank][block]
    bool addedTwice{false};

  private:
    void Take(uint32_t rank, const std::map<uint32_t, Contributions>& message, bool reduces)
    {
        for (const auto& [block, contributions] : message)
        {
            auto& mine = data[rank][block];
            if (!reduces)
            {
                mine = contributions;
                continue;
            }
            for (const uint32_t contribution : contributions)
            {
                addedTwice |= !mine.insert(contribution).second;
            }
        }
    }

    const NativeSchedule& m_schedule;
    uint32_t m_ranks;
};

Contributions
Everyone(uint32_t ranks)
{
    Contributions all;
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        all.insert(rank);
    }
    return all;
}

std::unique_ptr<NativeSchedule>
Schedule(const std::string& algorithm, uint32_t ranks, CollectiveOp op, uint64_t bytes)
{
    CollectiveRequest request;
    request.op = op;
    request.bytes = bytes;
    const auto parsed = *ParseNativeAlgorithm(algorithm);
    return parsed.schedule->MakeFor(ranks, request, parsed.window);
}

void
CheckData(const std::string& algorithm, uint32_t ranks, CollectiveOp op)
{
    SCOPED_TRACE(algorithm + " " + ToString(op) + " on " + std::to_string(ranks));
    const auto schedule = Schedule(algorithm, ranks, op, 1 << 20);
    const bool isExchange = op == CollectiveOp::AllToAll;
    const uint32_t blocks = isExchange ? ranks * ranks : std::max(ranks, 2U);
    SymbolicRun run(*schedule, ranks, blocks);
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        for (uint32_t block = 0; block < blocks; ++block)
        {
            const bool starts = op == CollectiveOp::AllReduce ||
                                op == CollectiveOp::ReduceScatter ||
                                (isExchange ? block / ranks == rank : block == rank);
            if (starts)
            {
                run.data[rank][block] = {rank};
            }
        }
    }
    ASSERT_TRUE(run.Run());
    EXPECT_FALSE(run.addedTwice);
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        for (uint32_t block = 0; block < (isExchange ? blocks : ranks); ++block)
        {
            const auto& got = run.data[rank][block];
            switch (op)
            {
            case CollectiveOp::AllReduce:
                EXPECT_EQ(got, Everyone(ranks)) << "rank " << rank << " block " << block;
                break;
            case CollectiveOp::ReduceScatter:
                if (block == rank)
                {
                    EXPECT_EQ(got, Everyone(ranks)) << "rank " << rank;
                }
                break;
            case CollectiveOp::AllGather:
                EXPECT_EQ(got, Contributions{block}) << "rank " << rank << " block " << block;
                break;
            default:
                if (block % ranks == rank)
                {
                    EXPECT_EQ(got, Contributions{block / ranks}) << "rank " << rank;
                }
            }
        }
    }
}

} // namespace

TEST(NativeCollectives, LeaveTheRightDataOnEveryRank)
{
    for (const auto op : {CollectiveOp::AllReduce,
                          CollectiveOp::AllGather,
                          CollectiveOp::ReduceScatter,
                          CollectiveOp::AllToAll})
    {
        for (const uint32_t ranks : {2U, 3U, 4U, 5U, 8U, 13U, 16U})
        {
            CheckData("ring", ranks, op);
            CheckData("direct", ranks, op);
            CheckData("direct2", ranks, op);
            if ((ranks & (ranks - 1)) == 0)
            {
                CheckData("halvingDoubling", ranks, op);
            }
        }
    }
}

TEST(NativeCollectives, DoubleBinaryTreeSumsBothHalvesOnEveryRank)
{
    for (uint32_t ranks = 2; ranks <= 33; ++ranks)
    {
        const auto schedule = Schedule("doubleBinaryTree", ranks, CollectiveOp::AllReduce, 1000);
        SymbolicRun run(*schedule, ranks, 2);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            run.data[rank] = {{rank}, {rank}};
        }
        ASSERT_TRUE(run.Run()) << ranks;
        EXPECT_FALSE(run.addedTwice);
        for (const auto& data : run.data)
        {
            EXPECT_EQ(data[0], Everyone(ranks));
            EXPECT_EQ(data[1], Everyone(ranks));
        }
        // Two trees of n-1 edges, up and down.
        EXPECT_EQ(schedule->MessageCount(), 4 * (ranks - 1));
    }
}

TEST(NativeCollectives, RefuseWhatTheyCannotDo)
{
    EXPECT_THROW(Schedule("halvingDoubling", 6, CollectiveOp::AllReduce, 8), ns3::InputError);
    EXPECT_THROW(Schedule("doubleBinaryTree", 4, CollectiveOp::AllGather, 8), ns3::InputError);
}

TEST(NativeAlgorithm, ReadsTheNamesOfSystemFiles)
{
    EXPECT_EQ(ParseNativeAlgorithm("direct")->window, -1);
    EXPECT_EQ(ParseNativeAlgorithm("direct12")->window, 12);
    EXPECT_EQ(ParseNativeAlgorithm("oneDirect[3]")->window, 3);
    EXPECT_TRUE(ParseNativeAlgorithm("oneRing")->acrossDimensions);
    EXPECT_FALSE(ParseNativeAlgorithm("ring")->acrossDimensions);
    EXPECT_EQ(ParseNativeAlgorithm("halvingDoubling")->schedule->GetName(), "halvingDoubling");
    for (const auto* wrong :
         {"", "one", "rings", "ring2", "direct0", "direct[2", "direct-1", "directx"})
    {
        EXPECT_FALSE(ParseNativeAlgorithm(wrong)) << wrong;
    }
}

/// All data of a rank go to the next one, twice.
class NativeTwice : public NativeSchedule
{
  public:
    using NativeSchedule::NativeSchedule;

    uint32_t StepCount(uint32_t, uint32_t) const override
    {
        return 2;
    }

    NativeStep Step(uint32_t rank, uint32_t, uint32_t) const override
    {
        const auto next = static_cast<int>((rank + 1) % m_ranks);
        const auto last = static_cast<int>((rank + m_ranks - 1) % m_ranks);
        return {next, last, m_bytes, m_bytes};
    }

    std::vector<uint32_t> BlocksSent(uint32_t, uint32_t, uint32_t) const override
    {
        return {};
    }
};

TEST(NativeAlgorithm, OneOfOnesOwnIsNamedLikeTheOthers)
{
    EXPECT_FALSE(ParseNativeAlgorithm("twice"));
    const NativeSchedule::Kind twice("twice",
                                     false,
                                     [](uint32_t ranks, const CollectiveRequest& request, int) {
                                         return std::make_unique<NativeTwice>(ranks, request);
                                     });
    auto config = NativeConfig("twice");
    config.memoryBus.endpointDelay = 0;
    auto workload = MakeWorkload("1 ALLREDUCE 50000 TP\n");
    JobRun run(*workload, 4, config, {}, 1'000'000, 50e9);
    run.Run();
    ASSERT_TRUE(run.job.Finished());
    // Each message takes a microsecond on the wire and one for its bytes.
    EXPECT_EQ(run.recorder.finished, 2 * 2'000'000);
}

/// A ring AllReduce of @p ranks, computed by hand from the messages, the bus and the memory.
TEST(NativeRing, TakesTheTimeOfItsClosedForm)
{
    constexpr TimePs LATENCY = 500'000;
    constexpr double BANDWIDTH = 50e9;
    for (const int ranks : {4, 8, 16})
    {
        for (const uint32_t chunks : {1U, 4U})
        {
            const uint64_t bytes = 1 << 20;
            auto config = NativeConfig("ring");
            config.memoryBus.endpointDelay = 10'000;
            config.memoryBus.localMemBandwidth = 1600;
            config.preferredDatasetSplits = chunks;
            auto workload = MakeWorkload("1 ALLREDUCE " + std::to_string(bytes) + " TP\n");
            JobRun run(*workload, ranks, config, {}, LATENCY, BANDWIDTH);
            run.Run();
            ASSERT_TRUE(run.job.Finished());

            const double message = static_cast<double>(bytes) / chunks / ranks;
            const double wire = LATENCY + message / BANDWIDTH * 1e12;
            const double reduction = 3 * message / 1600e9 * 1e12;
            const double steps = 2.0 * (ranks - 1);
            // One chunk runs at a time in a dimension.
            const double expected =
                chunks * (steps * wire + (steps + 1) * 10'000 + (ranks - 1) * reduction);
            EXPECT_NEAR(static_cast<double>(run.recorder.finished), expected, expected * 1e-4)
                << ranks << " ranks, " << chunks << " chunks";
        }
    }
}
