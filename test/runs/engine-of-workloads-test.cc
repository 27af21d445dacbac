/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/nccl/engine-all-reduce.h"
#include "run-fixture.h"
#include "simulator/inputs/engine-of-workloads.h"

#include <gmock/gmock.h>

namespace AstraSim
{
namespace
{

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineOfWorkloads : public RunTest
{
  protected:
    EngineOfWorkloads()
    {
        Write("vllm", "INFERENCE\nrequests 1\nall_reduce vLLM\n");
        Write("sglang", "INFERENCE\nall_reduce SGLang\n");
        Write("none", "INFERENCE\nrequests 1\n");
    }

    /// @return the engine of jobs on H100, or on other GPUs; null: none
    const EngineAllReduce* EngineOf(const std::vector<std::string>& files,
                                    const std::string& gpu = "H100",
                                    const NcclOptions& options = {})
    {
        std::vector<JobPlacement> jobs;
        for (const std::string& file : files)
        {
            jobs.push_back({file, {}});
        }
        return WithEngineOf(jobs, options, FindGpuProfile(gpu), m_warnings).engine;
    }

    static const EngineAllReduce* Engine(const std::string& name)
    {
        return &EngineAllReduce::Find(name, "test", "engine");
    }

    std::vector<std::string> m_warnings;
};

} // namespace

TEST_F(EngineOfWorkloads, IsTheOneThatAllJobsName)
{
    EXPECT_EQ(EngineOf({"vllm"}), Engine("vLLM"));
    EXPECT_EQ(EngineOf({"vllm", "vllm"}), Engine("vLLM"));
    EXPECT_EQ(EngineOf({"none"}), nullptr);
    EXPECT_EQ(EngineOf({"absent"}), nullptr) << "the reader of workloads tells";
    EXPECT_THAT(m_warnings, IsEmpty());
}

TEST_F(EngineOfWorkloads, IsTheUsersWhereTheUserNamesOne)
{
    NcclOptions options;
    options.engine = Engine("TensorRT-LLM");
    EXPECT_EQ(EngineOf({"vllm", "sglang"}, "H100", options), options.engine);
    EXPECT_THAT(m_warnings, IsEmpty());
}

TEST_F(EngineOfWorkloads, IsNoneWhereJobsNameDifferentOnes)
{
    const auto differ = HasSubstr(" name different engines in all_reduce");
    EXPECT_EQ(EngineOf({"vllm", "vllm", "sglang"}), nullptr);
    EXPECT_EQ(EngineOf({"vllm", "none"}), nullptr);
    EXPECT_EQ(EngineOf({"none", "vllm"}), nullptr);
    EXPECT_THAT(m_warnings, ElementsAre(differ, differ, differ));
}

TEST_F(EngineOfWorkloads, IsNoneOnGpusThatItsKernelsAreNotKnownOn)
{
    EXPECT_EQ(EngineOf({"vllm"}, "MI300X"), nullptr);
    EXPECT_THAT(m_warnings,
                ElementsAre("vllm:3: the AllReduce of vLLM on CDNA3 GPUs is not known; that of "
                            "their library takes its place"));
}

} // namespace AstraSim
