/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/gpu-table.h"
#include "ns3/input-error.h"
#include "ns3/mock-nccl-group.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>
#include <utility>

namespace AstraSim
{

namespace
{

std::string
ErrorOf(const std::string& text)
{
    std::istringstream stream(text);
    GpuTable table;
    try
    {
        table.AddRows(stream, "gpus.txt");
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST(GpuTable, KnowsNvidiasTypesByThemselves)
{
    const GpuTable table;
    for (const char* name :
         {"A100", "A800", "H100", "H800", "H20", "H200", "GH200", "B200", "GB200", "B300", "GB300"})
    {
        EXPECT_NE(table.Find(name), nullptr) << name;
    }
    EXPECT_EQ(table.Find("V100"), nullptr);
}

TEST(GpuTable, RowsAddTypesAndReplaceThem)
{
    std::istringstream text("# name generation channel NVLink\n"
                            "MyGpu Blackwell 45.5 800  # new\n"
                            "H100 Hopper 24 300\n");
    GpuTable table;
    table.AddRows(text, "gpus.txt");
    const GpuProfile* added = table.Find("MyGpu");
    ASSERT_NE(added, nullptr);
    EXPECT_EQ(added->generation, GpuGeneration::Blackwell);
    EXPECT_EQ(added->channelGBps, 45.5);
    EXPECT_EQ(added->nvlinkGBps, 800);
    EXPECT_EQ(table.Find("H100")->nvlinkGBps, 300);
    EXPECT_EQ(table.Find("H200")->nvlinkGBps, 360) << "the others stay";
    EXPECT_THAT(table.GetNames(), testing::EndsWith("GB300, MyGpu"));
}

TEST(GpuTable, MistakesNameFileAndLine)
{
    using testing::HasSubstr;
    EXPECT_THAT(ErrorOf("\nB300 Blackwell 45\n"), HasSubstr("gpus.txt:2"));
    EXPECT_THAT(ErrorOf("B300 Blackwel 45 800\n"), HasSubstr("Ampere, Hopper or Blackwell"));
    EXPECT_THAT(ErrorOf("B300 Blackwell fast 800\n"), HasSubstr("'fast' is not a valid bandwidth"));
    EXPECT_THAT(ErrorOf("B300 Blackwell -1 800\n"), HasSubstr("above 0"));
    EXPECT_THAT(ErrorOf("B300 Blackwell nan 800\n"), HasSubstr("above 0"));
    EXPECT_THAT(ErrorOf("B300 Blackwell 900 800\n"), HasSubstr("a channel has more"));
    EXPECT_THROW(GpuTable::Read("/nowhere/gpus.txt"), ns3::InputError);
}

TEST(GpuTable, ARowOfTheTopologysTypeCounts)
{
    const std::string path = testing::TempDir() + "gpus.txt";
    std::ofstream(path) << "MyGpu Ampere 10 120\n";
    MachineModel machine;
    machine.gpuType = "MyGpu"; // as the topology says
    NcclOptions options;
    options.gpuTable = path;
    const MockNcclGroup group(machine, options);
    EXPECT_EQ(group.GetMachine().gpu.name, "MyGpu");
    CommGroup ranks;
    ranks.ranks.resize(8);
    std::iota(ranks.ranks.begin(), ranks.ranks.end(), 0);
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 1 << 30;
    machine.gpuType = "H100";
    EXPECT_GT(group.Choose(ranks, request).predicted,
              MockNcclGroup(machine, NcclOptions()).Choose(ranks, request).predicted)
        << "a third of H100's NVLink rate";
    options.gpuType = "H101";
    EXPECT_THROW(MockNcclGroup(machine, options), ns3::InputError);
}

TEST(GpuTable, AnUnknownTypeOfATopologyIsAnErrorThatNamesTheKnownOnes)
{
    MachineModel machine;
    machine.gpuType = "V100";
    machine.source = "cluster.txt";
    machine.gpuTypeLine = 3;
    try
    {
        const MockNcclGroup group(machine, NcclOptions());
        FAIL() << "accepted";
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_THAT(error.what(), testing::StartsWith("cluster.txt:3: 'V100'"));
        EXPECT_THAT(error.what(), testing::HasSubstr("GB300"));
        EXPECT_THAT(error.what(), testing::HasSubstr("--gpu-table"));
    }
    EXPECT_THROW(FindGpuProfile("V100"), ns3::InputError);
    machine.gpuType.clear(); // a file of three fields names none
    EXPECT_EQ(MockNcclGroup(machine, NcclOptions()).GetMachine().gpu.generation,
              GpuGeneration::Hopper);
}

TEST(NcclOptions, NvlsThatIsRequiredMustBeThere)
{
    MachineModel machine;
    NcclOptions options;
    options.nvlsRequired = true;
    EXPECT_NO_THROW(MockNcclGroup(machine, options));
    machine.switchesJoinServers = false;
    EXPECT_THROW(MockNcclGroup(machine, options), ns3::InputError);
    machine.switchesJoinServers = true;
    machine.gpu = FindGpuProfile("A100");
    EXPECT_THROW(MockNcclGroup(machine, options), ns3::InputError);
    machine.gpusPerServer = 1; // NCCL does not look for it there
    EXPECT_NO_THROW(MockNcclGroup(machine, options));
}

} // namespace AstraSim
