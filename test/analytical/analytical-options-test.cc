/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulator/options/analytical-options.h"
#include "simulator/programs/program-runs.h"

#include "ns3/input-error.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace AstraSim
{
namespace
{

AnalyticalOptions
Parse(const std::vector<std::string>& arguments,
      const std::map<std::string, std::string>& environment = {})
{
    return AnalyticalOptions::Parse(
        arguments,
        [environment](const std::string& name) -> std::optional<std::string> {
            const auto it = environment.find(name);
            return it == environment.end() ? std::nullopt : std::optional<std::string>(it->second);
        });
}

MachineModel
MachineOf(const std::vector<std::string>& arguments,
          const std::map<std::string, std::string>& environment = {})
{
    std::optional<ns3::ClusterTopology> topology;
    return MakeMachine(Parse(arguments, environment), &topology);
}

double
Overlap(const AnalyticalOptions& options, GroupKind kind)
{
    return options.overlap[static_cast<std::size_t>(kind)];
}

TEST(AnalyticalOptions, EveryFlagHasItsShortAndLongSpelling)
{
    const std::vector<std::vector<std::string>> spellings = {
        {"-w",     "w.txt", "-g",      "64",   "-g_p_s", "4",      "-r",     "x-",
         "-r_f",   "dir",   "-nv",     "360",  "-nic",   "48.5",   "-n_p_s", "2",
         "-nic_t", "cx6",   "-g_type", "A100", "-busbw", "b.yaml", "-v",     "1",
         "-dp_o",  "0.1",   "-ep_o",   "0.2",  "-tp_o",  "0.3",    "-pp_o",  "0.4"},
        {"--workload",   "w.txt", "--gpus",           "64",     "--gpus-per-server", "4",
         "--result",     "x-",    "--result_folder",  "dir",    "--nvlink",          "360",
         "--nic_busbw",  "48.5",  "--nic_per_server", "2",      "--nic_type",        "cx6",
         "--gpu_type",   "A100",  "--bus-bandwidth",  "b.yaml", "--visual",          "1",
         "--dp_overlap", "0.1",   "--ep_overlap",     "0.2",    "--tp_overlap",      "0.3",
         "--pp_overlap", "0.4"},
        {"-w=w.txt",
         "-g=64",
         "--gpus_per_server=4",
         "-result=x-",
         "-r_f=dir",
         "-nv=360",
         "-nic=48.5",
         "--nic-per-server=2",
         "-nic-type=cx6",
         "-gpu_type=A100",
         "-bus-bandwidth=b.yaml",
         "-v",
         "--dp-overlap-ratio=0.1",
         "-ep-overlap-ratio=0.2",
         "--tp_overlap_ratio=0.3",
         "-pp_o=0.4"}};
    for (const auto& spelling : spellings)
    {
        SCOPED_TRACE(spelling[3]);
        const AnalyticalOptions options = Parse(spelling);
        EXPECT_EQ(options.workload, "w.txt");
        EXPECT_EQ(options.gpus, 64U);
        EXPECT_EQ(options.gpusPerServer, 4U);
        EXPECT_EQ(options.prefix, "x-");
        EXPECT_EQ(options.folder, "dir");
        EXPECT_EQ(options.nvlinkGBps, 360);
        EXPECT_EQ(options.nicGBps, 48.5);
        EXPECT_EQ(options.nicsPerServer, 2U);
        EXPECT_EQ(options.nicType, "cx6");
        EXPECT_EQ(options.gpuType, "A100");
        EXPECT_EQ(options.busbw, "b.yaml");
        EXPECT_TRUE(options.visual);
        EXPECT_EQ(Overlap(options, GroupKind::Dp), 0.1);
        EXPECT_EQ(Overlap(options, GroupKind::DpEp), 0.1);
        EXPECT_EQ(Overlap(options, GroupKind::Ep), 0.2);
        EXPECT_EQ(Overlap(options, GroupKind::Tp), 0.3);
        EXPECT_EQ(options.pipelineOverlap, 0.4);
    }
}

TEST(AnalyticalOptions, NothingOverlapsByDefaultAndTheWorkloadSaysWhetherPipelineMessagesDo)
{
    const AnalyticalOptions options = Parse({"-w", "w.txt", "-v", "0"});
    EXPECT_EQ(Overlap(options, GroupKind::Dp), 0);
    EXPECT_EQ(Overlap(options, GroupKind::Tp), 0);
    EXPECT_EQ(Overlap(options, GroupKind::Ep), 0);
    EXPECT_FALSE(options.pipelineOverlap);
    EXPECT_FALSE(options.visual);
    EXPECT_FALSE(options.gpus);
}

TEST(AnalyticalOptions, MistakesNameTheFlag)
{
    const auto errorOf = [](const std::vector<std::string>& arguments) -> std::string {
        try
        {
            Parse(arguments);
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
        return "";
    };
    using testing::HasSubstr;
    EXPECT_THAT(errorOf({}), HasSubstr("no workload"));
    EXPECT_THAT(errorOf({"-w", "w", "-g", "0"}), HasSubstr("-g is 0"));
    EXPECT_THAT(errorOf({"-w", "w", "-nv", "-5"}), HasSubstr("-5"));
    EXPECT_THAT(errorOf({"-w", "w", "-nv", "fast"}), HasSubstr("fast"));
    EXPECT_THAT(errorOf({"-w", "w", "-tp_o", "1.5"}), HasSubstr("--tp-overlap-ratio is 1.5"));
    EXPECT_THAT(errorOf({"-w", "w", "-dp_o", "nan"}), HasSubstr("--dp-overlap-ratio"));
    EXPECT_THAT(errorOf({"-w", "w", "-v", "7"}), HasSubstr("0 or 1"));
    EXPECT_THAT(errorOf({"-w", "w", "--nvlinc", "3"}), HasSubstr("--nvlink"));
    EXPECT_THAT(errorOf({"-w", "w", "extra"}), HasSubstr("extra"));
}

TEST(AnalyticalMachine, ComesFromTypesAndFlags)
{
    const MachineModel plain = MachineOf({"-w", "w"});
    EXPECT_EQ(plain.gpu.name, "H100");
    EXPECT_EQ(plain.gpusPerServer, 8U);
    EXPECT_EQ(plain.nvlinkGBps, 360);
    EXPECT_EQ(plain.nicGBps, 50); // 400 Gb/s for each GPU

    const MachineModel a100 = MachineOf({"-w", "w", "-g_type", "A100", "-nic_t", "cx6"});
    EXPECT_EQ(a100.nvlinkGBps, 240);
    EXPECT_EQ(a100.nicGBps, 25);

    // Four NICs of 48.5 GB/s for eight GPUs: two share each. And sixteen.
    const MachineModel shared = MachineOf({"-w", "w", "-nic", "48.5", "-n_p_s", "4"});
    EXPECT_EQ(shared.nicGBps, 48.5);
    EXPECT_EQ(shared.gpusPerNic, 2U);
    EXPECT_EQ(MachineOf({"-w", "w", "-n_p_s", "4"}).nicGBps, 50);
    const MachineModel several = MachineOf({"-w", "w", "-nic", "10", "-n_p_s", "16"});
    EXPECT_EQ(several.nicGBps, 20);
    EXPECT_EQ(several.nicsPerGpu, 2U);
    EXPECT_EQ(MachineOf({"-w", "w", "-nv", "450"}).gpu.nvlinkGBps, 450);
    EXPECT_EQ(MachineOf({"-w", "w"}, {{"AS_NET_BW", "200"}}).nicGBps, 25);
    EXPECT_EQ(MachineOf({"-w", "w"}, {{"AS_GPU_TYPE", "A100"}}).gpu.name, "A100");
    EXPECT_EQ(MachineOf({"-w", "w", "-g_type", "H20"}, {{"AS_GPU_TYPE", "A100"}}).gpu.name, "H20");
    EXPECT_THROW(MachineOf({"-w", "w", "-g_type", "H900"}), ns3::InputError);
    EXPECT_THROW(MachineOf({"-w", "w", "-nic_t", "cx9"}), ns3::InputError);
    EXPECT_THROW(MachineOf({"-w", "w", "-nic_t", "cx9", "-nic", "48"}), ns3::InputError);
}

TEST(AnalyticalMachine, NicsOfATopologyAreOthersThanThoseOfAFlag)
{
    const std::string path = testing::TempDir() + "analytical-machine.topo";
    std::ofstream(path) << "4 2 1 1 4 H100\n2 3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n"
                           "0 2 2880Gbps 1us 0\n1 2 2880Gbps 1us 0\n";
    EXPECT_EQ(MachineOf({"-w", "w", "-n", path}).nicGBps, 12.5);
    const MachineModel shared = MachineOf({"-w", "w", "-n", path, "-n_p_s", "1", "-nic", "20"});
    EXPECT_EQ(shared.nicGBps, 20);
    EXPECT_EQ(shared.gpusPerNic, 2U);
    try
    {
        MachineOf({"-w", "w", "-n", path, "-n_p_s", "1"});
        ADD_FAILURE();
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_THAT(error.what(), testing::HasSubstr("--nic-per-server with -n " + path));
    }
    std::filesystem::remove(path);
}

} // namespace
} // namespace AstraSim
