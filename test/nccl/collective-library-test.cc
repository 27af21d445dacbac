/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Libraries that compete for a collective: which of their offers is carried out.
 */
#include "collectives/model/graph/all-pairs-graph.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/library/algorithm-library.h"
#include "symbolic-graph.h"

#include "ns3/collective-algorithm.h"
#include "ns3/input-error.h"

#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace AstraSim
{
namespace
{

using Choice = CollectiveAlgorithm::Choice;

/// @return rules of an AllReduce between all pairs
CollectiveAlgorithm::Rules
PairsOf(TimePs cost, Choice choice, const std::string& library)
{
    CollectiveAlgorithm::Rules rules;
    rules.can = [](const CollectiveTask& task) {
        return task.request.op == CollectiveOp::AllReduce;
    };
    rules.cost = [cost](const CollectiveTask&) { return cost; };
    rules.graph = [](const CollectiveTask& task) -> std::shared_ptr<const FlowGraph> {
        return std::make_shared<AllPairsGraph>(task.request.bytes, task.servers.size());
    };
    rules.choice = choice;
    rules.library = library;
    return rules;
}

constexpr TimePs DEAREST = std::numeric_limits<TimePs>::max();

/// @return the algorithm of an AllReduce of 1 MiB on a server's 8 GPUs
std::string
Chosen(const std::string& gpu, const std::string& engine = "", const std::string& algorithms = "")
{
    const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
        const std::string value = name == "AS_ENGINE_ALLREDUCE" ? engine
                                  : name == "NCCL_ALGO"         ? algorithms
                                                                : "";
        return value.empty() ? std::nullopt : std::optional(value);
    };
    MachineModel machine;
    machine.gpu = FindGpuProfile(gpu);
    MockNcclGroup nccl(machine, NcclOptions::FromEnvironment(lookup));
    return nccl.Plan(FirstRanks(8), Request(CollectiveOp::AllReduce, 1 << 20))
        ->GetChoice()
        .algorithm;
}

} // namespace

TEST(CollectiveLibrary, OneOfOnesOwnServesTheGpusThatItSays)
{
    const CollectiveAlgorithm own("OfOwnLibrary", PairsOf(DEAREST, Choice::Always, "OwnLibrary"));
    EXPECT_EQ(Chosen("H100"), "Ring") << "no such library is there yet";
    const CollectiveLibrary::Kind kind(
        "OwnLibrary",
        [](const CollectiveLibrary::Inputs& inputs) -> std::unique_ptr<CollectiveLibrary> {
            return inputs.machine.gpu.generation == GpuGeneration::Hopper
                       ? std::make_unique<AlgorithmLibrary>("OwnLibrary", inputs.options)
                       : nullptr;
        });
    EXPECT_EQ(Chosen("H100"), "OfOwnLibrary");
    EXPECT_EQ(Chosen("H100", "", "Tree"), "Tree") << "NCCL_ALGO leaves it out";
    EXPECT_NE(Chosen("A100"), "OfOwnLibrary");
    EXPECT_NE(Chosen("MI300X"), "OfOwnLibrary");
}

TEST(CollectiveLibrary, OfOffersByCostTheLeastIsTaken)
{
    const CollectiveLibrary::Kind kind("OwnLibrary", [](const CollectiveLibrary::Inputs& inputs) {
        return std::make_unique<AlgorithmLibrary>("OwnLibrary", inputs.options);
    });
    {
        const CollectiveAlgorithm own("OfOwnLibrary", PairsOf(2, Choice::ByCost, "OwnLibrary"));
        EXPECT_EQ(Chosen("H100"), "OfOwnLibrary");
        const CollectiveAlgorithm none("OfNoLibrary", PairsOf(1, Choice::ByCost, ""));
        EXPECT_EQ(Chosen("H100"), "OfNoLibrary");
    }
    const CollectiveAlgorithm dear("OfOwnLibrary", PairsOf(DEAREST, Choice::ByCost, "OwnLibrary"));
    EXPECT_EQ(Chosen("H100"), "Ring");
}

TEST(CollectiveLibrary, AKernelOfEnginesNeedsAnEngineAndNothingElse)
{
    const CollectiveAlgorithm kernel("OwnKernel", PairsOf(0, Choice::Apart, ""));
    EXPECT_EQ(Chosen("H100"), "Ring") << "nobody names an engine";
    EXPECT_EQ(Chosen("H100", "vLLM"), "OwnKernel");
    EXPECT_EQ(Chosen("H100", "vLLM", "Tree"), "OwnKernel") << "NCCL_ALGO is NCCL's";
}

TEST(CollectiveLibrary, NothingThatIsLeftIsRefused)
{
    try
    {
        Chosen("H100", "", "PAT");
        FAIL();
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_STREQ(error.what(),
                     "environment: NCCL_ALGO and NCCL_PROTO leave no way to carry out AllReduce on "
                     "8 ranks; expected an algorithm that supports it, such as Ring");
    }
}

} // namespace AstraSim
