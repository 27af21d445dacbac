/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/nccl/measured-figures.h"
#include "collectives/model/nccl/nccl-options.h"

#include "ns3/input-error.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace AstraSim
{

namespace
{

constexpr auto HOPPER = static_cast<std::size_t>(GpuGeneration::Hopper);
constexpr auto BLACKWELL = static_cast<std::size_t>(GpuGeneration::Blackwell);

std::string
FigureMistakeIn(const std::string& rows)
{
    try
    {
        MeasuredFigures().Take(rows, "figures.yaml");
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST(MeasuredFigures, EveryFigureOfEveryGenerationThatUsesItIsBuiltIn)
{
    const MeasuredFigures& figures = MeasuredFigures::GetBuiltIn();
    for (const double one : {figures.llStepDirectUs,
                             figures.llHiddenBytes,
                             figures.pairNetUs,
                             figures.pairCpuUs,
                             figures.pairAgainUs,
                             figures.mscclBlockGBps,
                             figures.nvlsSyncUs,
                             figures.nvlsLinkEfficiency})
    {
        EXPECT_GT(one, 0);
    }
    EXPECT_GT(figures.pairNetUs, figures.pairCpuUs) << "the CPU's time is a part of the message's";
    for (std::size_t generation = 0; generation < GPU_GENERATIONS; ++generation)
    {
        if (!HasNccl(static_cast<GpuGeneration>(generation)))
        {
            continue;
        }
        EXPECT_GT(figures.llStepUs[generation], 0) << generation;
        EXPECT_GT(figures.pairEfficiency[generation], 0) << generation;
        EXPECT_GT(figures.pairBlockEfficiency[generation], 0) << generation;
        EXPECT_EQ(figures.pairChunkUs[generation] > 0,
                  !IsAmd(static_cast<GpuGeneration>(generation)))
            << generation;
    }
    for (const std::size_t generation : {HOPPER, BLACKWELL}) // the only ones with NVLS
    {
        EXPECT_GT(figures.nvlsHunkUs[generation], figures.nvlsAloneUs[generation]);
        EXPECT_GT(figures.nvlsTreeHunkUs[generation], figures.nvlsAloneUs[generation]);
        EXPECT_GT(figures.nvlsAloneUs[generation], 0);
    }
}

TEST(MeasuredFigures, ARowReplacesAFigureOfItsGenerations)
{
    MeasuredFigures figures = MeasuredFigures::GetBuiltIn();
    const double hopper = figures.nvlsHunkUs[HOPPER];
    figures.Take("- {name: pair_cpu_us, is: 2.5, by: a test}\n"
                 "- {name: nvls_hunk_us, of: [Blackwell], is: 9}\n",
                 "figures.yaml");
    EXPECT_EQ(figures.pairCpuUs, 2.5);
    EXPECT_EQ(figures.nvlsHunkUs[BLACKWELL], 9);
    EXPECT_EQ(figures.nvlsHunkUs[HOPPER], hopper);
}

TEST(MeasuredFigures, AreReadFromTheFileThatTheEnvironmentNames)
{
    const std::string path = testing::TempDir() + "figures.yaml";
    std::ofstream(path) << "- {name: ll_step_us, of: [Hopper], is: 5}\n";
    const NcclOptions options = NcclOptions::FromEnvironment([&](const std::string& name) {
        return name == "AS_MEASURED_FIGURES" ? std::optional(path) : std::nullopt;
    });
    EXPECT_EQ(options.figures.llStepUs[HOPPER], 5);
    EXPECT_EQ(options.figuresFile, path);
    EXPECT_EQ(NcclOptions().figures.llStepUs[HOPPER], 0.6);
}

TEST(MeasuredFigures, MistakesNameFileAndLine)
{
    using testing::HasSubstr;
    const auto expect = [](const std::string& rows, const std::string& text) {
        EXPECT_THAT(FigureMistakeIn(rows), HasSubstr(text)) << rows;
    };
    expect("x: y\n", "figures.yaml:1: this is not a list");
    expect("- {name: pair_cpu_us}\n", "figures.yaml:1: this figure lacks its name or its value");
    expect("- {name: nvls_hunkus, is: 1}\n", "figures.yaml:1: name is 'nvls_hunkus'; expected ll_");
    expect("- {name: nvls_hunkus, is: 1}\n", "the nearest is nvls_hunk_us");
    expect("- {name: pair_cpu_us, is: 1}\n---\n[]\n", "figures.yaml:3: holds several documents");
    expect("- {name: pair_cpu_us, is: -1}\n", "figures.yaml:1: pair_cpu_us is '-1'");
    expect("- {name: pair_cpu_us, is: 1, of: [Hopper]}\n", "is the same for all GPUs");
    expect("- {name: nvls_hunk_us, is: 1}\n", "nvls_hunk_us is of generations of GPUs");
    expect("- {name: nvls_hunk_us, is: 1, of: Hopper}\n", "figures.yaml:1: of is not a list");
    expect("- {name: nvls_hunk_us, is: 1, of: [Volta]}\n", "of has 'Volta'");
    expect("\n- {name: pair_cpu_us, is: 1, if: 2}\n", "figures.yaml:2: unknown key 'if'");
    EXPECT_THROW(MeasuredFigures::Read("/nowhere/figures.yaml"), ns3::InputError);
}

} // namespace AstraSim
