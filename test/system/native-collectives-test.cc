/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/native/native-algorithm.h"
#include "job-fixture.h"

#include "ns3/input-error.h"
#include "ns3/native-graph.h"

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
 * Carries out the steps of a graph with sets in place of numbers. Data is taken when a message is
 * sent, so a message that leaves too early, or twice, shows in the result.
 */
class SymbolicRun
{
  public:
    SymbolicRun(const NativeGraph& graph, uint32_t blocks)
        : data(graph.GetRanks(), std::vector<Contributions>(blocks)),
          m_graph(graph),
          m_ranks(graph.GetRanks())
    {
    }

    /// @return whether all steps of all ranks could be done
    bool Run()
    {
        struct Sequence
        {
            uint32_t sent{0};
            uint32_t done{0};
        };

        std::vector<std::vector<Sequence>> sequences(m_ranks,
                                                     std::vector<Sequence>(m_graph.GetSequences()));
        std::map<std::pair<uint32_t, uint32_t>, uint64_t> messages; // of a rank's lanes
        std::map<std::pair<uint32_t, uint32_t>, std::deque<std::map<uint32_t, Contributions>>>
            inFlight; // out of a rank's lanes
        bool isDone = true;
        for (bool progress = true; progress;)
        {
            progress = false;
            isDone = true;
            for (uint32_t rank = 0; rank < m_ranks; ++rank)
            {
                for (uint32_t each = 0; each < m_graph.GetSequences(); ++each)
                {
                    auto& state = sequences[rank][each];
                    const uint32_t steps = m_graph.GetStepCount(rank, each);
                    while (state.sent < steps && state.sent - state.done < m_graph.GetWindow())
                    {
                        const auto step = m_graph.GetStep(rank, each, state.sent);
                        if (step.afterAll && state.sent != state.done)
                        {
                            break;
                        }
                        if (step.outbound != Lane::NONE)
                        {
                            std::map<uint32_t, Contributions> message;
                            for (const uint32_t block :
                                 m_graph.GetBlocks(rank,
                                                   step.outbound,
                                                   messages[{rank, step.outbound}]++))
                            {
                                message[block] = data[rank][block];
                            }
                            inFlight[{rank, step.outbound}].push_back(std::move(message));
                        }
                        ++state.sent;
                        progress = true;
                    }
                    while (state.done < state.sent)
                    {
                        const auto step = m_graph.GetStep(rank, each, state.done);
                        if (step.inbound != Lane::NONE)
                        {
                            auto& queue = inFlight[{m_graph.GetInbound(rank, step.inbound).peer,
                                                    m_graph.GetPeerLane(rank, step.inbound)}];
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
                    isDone = isDone && state.done == steps;
                }
            }
        }
        return isDone;
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

    const NativeGraph& m_graph;
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

std::shared_ptr<const NativeGraph>
Graph(const std::string& algorithm, uint32_t ranks, CollectiveOp op, uint64_t bytes)
{
    const auto parsed = *ParseNativeAlgorithm(algorithm);
    CollectiveTask task;
    task.request.op = op;
    task.request.bytes = bytes;
    task.servers.resize(ranks);
    task.window = parsed.window;
    return std::dynamic_pointer_cast<const NativeGraph>(parsed.native->GetRules().graph(task));
}

void
CheckData(const std::string& algorithm, uint32_t ranks, CollectiveOp op)
{
    SCOPED_TRACE(algorithm + " " + ToString(op) + " on " + std::to_string(ranks));
    const auto graph = Graph(algorithm, ranks, op, 1 << 20);
    const bool isExchange = op == CollectiveOp::AllToAll;
    const uint32_t blocks = isExchange ? ranks * ranks : std::max(ranks, 2U);
    SymbolicRun run(*graph, blocks);
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
        const auto graph = Graph("doubleBinaryTree", ranks, CollectiveOp::AllReduce, 1000);
        SymbolicRun run(*graph, 2);
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
        EXPECT_EQ(graph->CountFlows(), 4 * (ranks - 1));
    }
}

TEST(NativeCollectives, RefuseWhatTheyCannotDo)
{
    EXPECT_THROW(Graph("halvingDoubling", 6, CollectiveOp::AllReduce, 8), ns3::InputError);
    EXPECT_THROW(Graph("doubleBinaryTree", 4, CollectiveOp::AllGather, 8), ns3::InputError);
}

TEST(NativeAlgorithm, ReadsTheNamesOfSystemFiles)
{
    EXPECT_FALSE(ParseNativeAlgorithm("direct")->window);
    EXPECT_EQ(ParseNativeAlgorithm("direct12")->window, 12);
    EXPECT_EQ(ParseNativeAlgorithm("oneDirect[3]")->window, 3);
    EXPECT_TRUE(ParseNativeAlgorithm("oneRing")->acrossDimensions);
    EXPECT_FALSE(ParseNativeAlgorithm("ring")->acrossDimensions);
    EXPECT_EQ(ParseNativeAlgorithm("halvingDoubling")->native,
              CollectiveAlgorithm::Find("native-halvingDoubling"));
    for (const auto* wrong :
         {"", "one", "rings", "ring2", "direct0", "direct[2", "direct-1", "directx"})
    {
        EXPECT_FALSE(ParseNativeAlgorithm(wrong)) << wrong;
    }
}

/// All data of a rank go to the next one, twice.
class NativeTwice : public NativeGraph
{
  public:
    explicit NativeTwice(const CollectiveTask& task)
        : NativeGraph(task, 1)
    {
    }

    uint32_t GetStepCount(uint32_t, uint32_t) const override
    {
        return 2;
    }

    FlowStep GetStep(uint32_t, uint32_t, uint32_t) const override
    {
        return Exchange(0, false);
    }

    uint64_t GetBytes(uint32_t, uint32_t, uint64_t) const override
    {
        return m_bytes;
    }

    std::vector<uint32_t> GetBlocks(uint32_t, uint32_t, uint64_t) const override
    {
        return {};
    }

  protected:
    Lane GetLane(uint32_t rank, uint32_t, bool outbound) const override
    {
        Lane lane;
        lane.peer = (rank + (outbound ? 1 : GetRanks() - 1)) % GetRanks();
        lane.messages = 2;
        return lane;
    }
};

TEST(NativeAlgorithm, OneOfOnesOwnIsNamedLikeTheOthers)
{
    EXPECT_FALSE(ParseNativeAlgorithm("twice"));
    const CollectiveAlgorithm twice("native-twice", NativeRules<NativeTwice>());
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

namespace
{

constexpr TimePs WIRE_LATENCY = 500'000;
constexpr double WIRE_BANDWIDTH = 50e9;
constexpr TimePs ENDPOINT_DELAY = 10'000;
constexpr double MEMORY_GBPS = 1600;

/// @return the time of an AllReduce in one chunk
TimePs
TimeOf(const std::string& algorithm, int ranks, uint64_t bytes)
{
    auto config = NativeConfig(algorithm);
    config.memoryBus.endpointDelay = ENDPOINT_DELAY;
    config.memoryBus.localMemBandwidth = MEMORY_GBPS;
    auto workload = MakeWorkload("1 ALLREDUCE " + std::to_string(bytes) + " TP\n");
    JobRun run(*workload, ranks, config, {}, WIRE_LATENCY, WIRE_BANDWIDTH);
    run.Run();
    return run.recorder.finished;
}

/// @return the time of a message on the wire
double
Wire(double bytes)
{
    return WIRE_LATENCY + bytes / WIRE_BANDWIDTH * 1e12;
}

/// @return the time in which a received message is stored, and is reduced before
double
Reduction(double bytes)
{
    return ENDPOINT_DELAY + 3 * bytes / MEMORY_GBPS * 1e3;
}

} // namespace

TEST(NativeDirect, TakesTheTimeOfItsClosedForm)
{
    constexpr uint64_t BYTES = 1 << 20;
    for (const int ranks : {2, 4, 16})
    {
        // All exchanges of a half at once, or one after the other.
        const double block = static_cast<double>(BYTES) / ranks;
        const double halves = 2 * Wire(block) + Reduction(block) + ENDPOINT_DELAY;
        EXPECT_NEAR(static_cast<double>(TimeOf("direct", ranks, BYTES)),
                    ENDPOINT_DELAY + halves,
                    10);
        EXPECT_NEAR(static_cast<double>(TimeOf("direct1", ranks, BYTES)),
                    ENDPOINT_DELAY + (ranks - 1) * halves,
                    10.0 * ranks);
    }
}

TEST(NativeHalvingDoubling, TakesTheTimeOfItsClosedForm)
{
    constexpr uint64_t BYTES = 1 << 20;
    for (const int ranks : {2, 4, 16})
    {
        double expected = ENDPOINT_DELAY;
        double part = BYTES;
        for (int left = ranks; left > 1; left /= 2)
        {
            part /= 2; // halved on the way down, doubled on the way back
            expected += 2 * Wire(part) + Reduction(part) + ENDPOINT_DELAY;
        }
        EXPECT_NEAR(static_cast<double>(TimeOf("halvingDoubling", ranks, BYTES)), expected, 100);
    }
}

TEST(NativeDoubleBinaryTree, StoresMessagesOfTwoChildrenOneAfterTheOther)
{
    // Ranks 1 and 3 send to 2, whose steps await one child each; 2 sends the sum to the root, 0,
    // and passes the total on. The second tree is the mirror image, on other links.
    constexpr uint64_t BYTES = 1 << 20;
    constexpr double HALF = BYTES / 2.0;
    const double up = ENDPOINT_DELAY + Wire(HALF) + 2 * Reduction(HALF);
    const double root = Wire(HALF) + Reduction(HALF) + Wire(HALF) + ENDPOINT_DELAY;
    const double down = Wire(HALF) + ENDPOINT_DELAY;
    EXPECT_NEAR(static_cast<double>(TimeOf("doubleBinaryTree", 4, BYTES)), up + root + down, 100);
}
