/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * When a plug-in takes the place of NCCL's algorithms; test/python/test_extensions.py has one
 * outside the tree.
 */
#include "astra-frontend/model/estimate/analytical-collectives.h"
#include "collectives/model/group/mock-nccl-group.h"

#include "ns3/block-times.h"
#include "ns3/collective-algorithm.h"
#include "ns3/input-error.h"

#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace AstraSim
{

namespace
{

/// Sends nothing.
class SilentGraph : public FlowGraph
{
  public:
    explicit SilentGraph(uint32_t ranks)
        : FlowGraph(ranks, 0, 1)
    {
    }

    uint64_t GetBytes(uint32_t, uint32_t, uint64_t) const override
    {
        return 0;
    }

  private:
    Lane GetLane(uint32_t, uint32_t, bool) const override
    {
        return {};
    }
};

class CollectiveAlgorithmTest : public testing::Test
{
  protected:
    CollectiveAlgorithmTest()
    {
        m_machine.gpu = FindGpuProfile("H100");
        m_group.name = "G";
        m_group.ranks.resize(16);
        std::iota(m_group.ranks.begin(), m_group.ranks.end(), 0);
    }

    /// @return rules of an algorithm for one collective
    static CollectiveAlgorithm::Rules RulesFor(CollectiveOp op, TimePs cost, uint32_t ranks = 16)
    {
        return {.can = [op](const CollectiveTask& task) { return task.request.op == op; },
                .cost = [cost](const CollectiveTask&) { return cost; },
                .graph = [ranks](const CollectiveTask&) -> std::shared_ptr<const FlowGraph> {
                    return std::make_shared<SilentGraph>(ranks);
                }};
    }

    /// @return the algorithm of a collective of 1 MB with a value of NCCL_ALGO
    std::string Chosen(CollectiveOp op, const std::string& algorithms = "") const
    {
        const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
            return name == "NCCL_ALGO" ? std::optional(algorithms) : std::nullopt;
        };
        MockNcclGroup nccl(m_machine, NcclOptions::FromEnvironment(lookup));
        return nccl.Plan(m_group, {op, 1'000'000})->GetChoice().algorithm;
    }

    MachineModel m_machine;
    CommGroup m_group;
};

TEST_F(CollectiveAlgorithmTest, IsChosenWhereItCostsLeast)
{
    const CollectiveAlgorithm fast("Fast", RulesFor(CollectiveOp::AllReduce, 1));
    const CollectiveAlgorithm faster("Faster", RulesFor(CollectiveOp::AllReduce, 0));
    const CollectiveAlgorithm slow("Slow", RulesFor(CollectiveOp::Broadcast, 1'000'000'000'000));
    EXPECT_EQ(Chosen(CollectiveOp::AllReduce), "Faster");
    EXPECT_EQ(Chosen(CollectiveOp::AllGather), "Ring") << "none can";
    EXPECT_EQ(Chosen(CollectiveOp::Broadcast), "Ring");
}

TEST_F(CollectiveAlgorithmTest, NcclAlgoNamesItWhateverItCosts)
{
    const CollectiveAlgorithm slow("Slow", RulesFor(CollectiveOp::AllGather, 1'000'000'000'000));
    EXPECT_EQ(Chosen(CollectiveOp::AllGather, "slow"), "Slow") << "no ring in its place";
    EXPECT_EQ(Chosen(CollectiveOp::AllGather, "slow,ring"), "Ring");
    EXPECT_EQ(Chosen(CollectiveOp::AllGather, "allgather:slow;allreduce:ring"), "Slow");
    EXPECT_EQ(Chosen(CollectiveOp::ReduceScatter, "slow"), "Ring") << "it cannot";
}

TEST_F(CollectiveAlgorithmTest, TakesThePlaceOfPairsUnlessItIsLeftOut)
{
    EXPECT_EQ(Chosen(CollectiveOp::AllToAll), "Direct");
    const CollectiveAlgorithm twoSteps("TwoSteps", RulesFor(CollectiveOp::AllToAll, 1));
    EXPECT_EQ(Chosen(CollectiveOp::AllToAll), "TwoSteps");
    EXPECT_EQ(Chosen(CollectiveOp::AllToAll, "Ring"), "Direct");
    EXPECT_EQ(Chosen(CollectiveOp::AllToAll, "^twosteps"), "Direct");
}

TEST_F(CollectiveAlgorithmTest, IsToldWhatItRunsOn)
{
    CollectiveTask seen;
    CollectiveAlgorithm::Rules rules = RulesFor(CollectiveOp::Reduce, 1);
    rules.can = [&](const CollectiveTask& task) {
        seen = task;
        return false;
    };
    const CollectiveAlgorithm curious("Curious", rules);
    m_machine.nvlinkGBps = 300;
    m_machine.nicGBps = 25;
    EXPECT_EQ(Chosen(CollectiveOp::Reduce), "Ring");
    EXPECT_EQ(seen.servers,
              std::vector<uint32_t>({0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(std::set<uint32_t>(seen.nics.begin(), seen.nics.end()).size(), 16U);
    EXPECT_EQ(seen.request.bytes, 1'000'000U);
    EXPECT_EQ(seen.nvlinkGBps, 300);
    EXPECT_EQ(seen.nicGBps, 25);
}

TEST_F(CollectiveAlgorithmTest, AnEstimateCarriesOutItsGraph)
{
    const CollectiveAlgorithm fixed("Fixed", RulesFor(CollectiveOp::AllToAll, 12'345));
    MockNcclGroup nccl(m_machine, {});
    const AnalyticalCollectives estimates(nccl, {}, {});
    CollectiveChoice choice;
    EXPECT_EQ(estimates.GetTime(m_group, {CollectiveOp::AllToAll, 1'000'000}, &choice), 0)
        << "of no messages; its cost of 12,345 ps is for the choice only";
    EXPECT_EQ(choice.algorithm + choice.protocol, "Fixed-");
}

TEST_F(CollectiveAlgorithmTest, HasTheTimesOfItsGpuOrNone)
{
    CollectiveAlgorithm::Rules rules = RulesFor(CollectiveOp::Reduce, 1);
    rules.can = [](const CollectiveTask&) { return true; };
    const auto latency = [&](int peer) {
        const CollectiveAlgorithm own("Own", rules);
        MockNcclGroup nccl(m_machine, {});
        const TimedGraph timed = nccl.Plan(m_group, {CollectiveOp::Reduce, 1'000'000})->GetGraph();
        Lane lane;
        lane.peer = static_cast<uint32_t>(peer);
        return timed.gpu->GetTimes(0, 0, true, lane).latency;
    };
    EXPECT_EQ(latency(1), 0) << "the network alone sets the pace";
    rules.gpu = [](const CollectiveTask& task) {
        return std::make_shared<BlockTimes>(task, CollectiveTask::Block{0, 200, 900, 8});
    };
    EXPECT_EQ(latency(1), 200) << "in a server";
    EXPECT_EQ(latency(8), 900) << "between servers";
}

TEST_F(CollectiveAlgorithmTest, AGraphOfAnotherGroupIsRefused)
{
    const CollectiveAlgorithm wrong("Wrong", RulesFor(CollectiveOp::AllGather, 1, 8));
    try
    {
        Chosen(CollectiveOp::AllGather);
        FAIL();
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_STREQ(error.what(), "Wrong: made a graph of 8 ranks; expected the group's 16");
    }
}

} // namespace

} // namespace AstraSim
