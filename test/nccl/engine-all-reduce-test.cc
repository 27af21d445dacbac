/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/nccl/engine-all-reduce.h"
#include "symbolic-graph.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace AstraSim
{
namespace
{

const EngineAllReduce&
Engine(const char* name)
{
    return EngineAllReduce::Find(name, "environment", "AS_ENGINE_ALLREDUCE");
}

/// @return the message of what a function throws
template <typename Function>
std::string
Refusal(Function f)
{
    try
    {
        f();
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "nothing";
}

/// @return the options of an environment with an engine
NcclOptions
OptionsWith(const std::string& engine, const std::string& latencyUs = "")
{
    return NcclOptions::FromEnvironment([&](const std::string& name) {
        return name == "AS_ENGINE_ALLREDUCE"                 ? std::optional(engine)
               : name == "AS_SEND_LAT" && !latencyUs.empty() ? std::optional(latencyUs)
                                                             : std::nullopt;
    });
}

MachineModel
MachineOf(const std::string& gpu)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile(gpu);
    machine.gpusPerServer = 8;
    return machine;
}

} // namespace

TEST(EngineAllReduce, ChoosesByRanksAndBytes)
{
    const EngineAllReduce& engine = Engine("vLLM");
    const auto one = engine.Choose(GpuGeneration::Hopper, 8, 262143);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->shots, 1U);
    EXPECT_EQ(one->start, 4'800'000) << "4.5 us, and 0.05 us for each of 6 further ranks";
    EXPECT_EQ(one->GBps, 271);
    const auto two = engine.Choose(GpuGeneration::Hopper, 8, 262144);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->shots, 2U);
    EXPECT_EQ(two->start, 12'700'000);
    EXPECT_FALSE(engine.Choose(GpuGeneration::Hopper, 8, 8388608)) << "NCCL's";
    EXPECT_FALSE(engine.Choose(GpuGeneration::Hopper, 3, 1024)) << "no kernel for three";
    EXPECT_FALSE(engine.Choose(GpuGeneration::Cdna3, 8, 1024));
    EXPECT_EQ(engine.Choose(GpuGeneration::Hopper, 2, 8388607)->shots, 1U);
    EXPECT_FALSE(Engine("TensorRT-LLM").Choose(GpuGeneration::Hopper, 8, 1048577));
}

TEST(EngineAllReduce, RefusesWhatItDoesNotKnow)
{
    EXPECT_EQ(Refusal([] { Engine("vllm"); }),
              "environment: AS_ENGINE_ALLREDUCE is 'vllm'; expected one of SGLang, SGLang-0.5.14, "
              "TensorRT-LLM, vLLM");
    Engine("SGLang").RequireFigures(GpuGeneration::Ampere);
    EXPECT_EQ(Refusal([] { Engine("SGLang-0.5.14").RequireFigures(GpuGeneration::Ampere); }),
              "environment: the AllReduce of SGLang-0.5.14 on Ampere GPUs is not known; expected "
              "AS_ENGINE_ALLREDUCE on Hopper, Blackwell");
    EXPECT_THAT(Refusal([] { MockNcclGroup(MachineOf("MI300X"), OptionsWith("vLLM")); }),
                testing::HasSubstr("on CDNA3 GPUs is not known"));
}

TEST(EngineAllReduce, TakesThePlaceOfNcclInAServer)
{
    MockNcclGroup nccl(MachineOf("H100"), OptionsWith("vLLM"));
    const auto chosen = [&nccl](uint32_t ranks, CollectiveOp op, uint64_t bytes) {
        return nccl.Plan(FirstRanks(ranks), Request(op, bytes))->GetChoice().algorithm;
    };
    EXPECT_EQ(chosen(8, CollectiveOp::AllReduce, 1024), "EngineOneShot");
    EXPECT_EQ(chosen(8, CollectiveOp::AllReduce, 1 << 20), "EngineTwoShots");
    EXPECT_THAT(chosen(8, CollectiveOp::AllReduce, 1 << 30),
                testing::Not(testing::StartsWith("Engine")));
    EXPECT_EQ(chosen(8, CollectiveOp::AllGather, 1024), "Ring");
    EXPECT_THAT(chosen(16, CollectiveOp::AllReduce, 1024),
                testing::Not(testing::StartsWith("Engine")));
}

TEST(EngineAllReduce, ReadsFromAllOthersAtTheKernelsRate)
{
    for (const bool isUsers : {false, true})
    {
        MockNcclGroup nccl(MachineOf("H100"), OptionsWith("vLLM", isUsers ? "3" : ""));
        for (const uint64_t bytes : {uint64_t{1024}, uint64_t{1} << 20})
        {
            const auto plan = nccl.Plan(FirstRanks(8), Request(CollectiveOp::AllReduce, bytes));
            const TimedGraph timed = plan->GetGraph();
            const LaneTimes times = timed.gpu->GetTimes(0, 0, true, timed.graph->GetOutbound(0, 0));
            EXPECT_EQ(times.slots, 1U);
            EXPECT_EQ(times.latency, isUsers ? 3'000'000 : 0);
            const double GBps = bytes == 1024 ? 271 : 306;
            EXPECT_EQ(times.rateCapBps, isUsers ? 0 : static_cast<uint64_t>(GBps * 8e9 / 7));
            EXPECT_EQ(timed.graph->GetBytes(0, 0, 0), bytes == 1024 ? bytes : bytes / 8);
        }
    }
}

} // namespace AstraSim
