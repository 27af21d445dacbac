/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/gpu/gpu-table.h"
#include "collectives/model/graph/ring-graph.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/nccl/network-table.h"
#include "collectives/model/timing/ring-times.h"
#include "timed-lanes.h"

#include "ns3/input-error.h"

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

TEST(GpuTable, KnowsAmdsTypesWithoutAnNvSwitch)
{
    const GpuTable table;
    for (const char* name : {"MI300X", "MI325X", "MI350X", "MI355X"})
    {
        const GpuProfile* profile = table.Find(name);
        ASSERT_NE(profile, nullptr) << name;
        EXPECT_TRUE(IsAmd(profile->generation));
        EXPECT_TRUE(profile->meshed);
    }
    EXPECT_FALSE(IsAmd(GpuGeneration::Blackwell));
}

TEST(GpuTable, KnowsHuaweisTypesWithoutNccl)
{
    const GpuTable table;
    for (const char* name : {"Ascend910B", "Ascend910C"})
    {
        const GpuProfile* profile = table.Find(name);
        ASSERT_NE(profile, nullptr) << name;
        EXPECT_FALSE(HasNccl(profile->generation));
        EXPECT_FALSE(IsAmd(profile->generation));
    }
    EXPECT_TRUE(HasNccl(GpuGeneration::Cdna4));
}

TEST(MachineModel, ServersOf910BAreMeshesAndThoseOf910CAreNot)
{
    for (const auto& [name, isMesh] :
         {std::pair("Ascend910B", true), std::pair("Ascend910C", false), std::pair("GH200", false)})
    {
        MachineModel machine;
        machine.SetServersOf(FindGpuProfile(name));
        EXPECT_EQ(machine.isMesh, isMesh) << name;
        EXPECT_EQ(machine.nvswitchesPerServer == 0, isMesh) << name;
    }
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
    EXPECT_THAT(table.GetNames(), testing::EndsWith("Ascend910C, MyGpu"));
}

TEST(GpuTable, ATypeMayNotBeListedTwice)
{
    EXPECT_EQ(ErrorOf("MyGpu Hopper 24 300\nH100 Hopper 24 300\nMyGpu Hopper 20 300\n"),
              "gpus.txt:3: the table has MyGpu twice; expected a line for each type of GPU");
}

TEST(GpuTable, FurtherFieldsAreCostsOfMessages)
{
    std::istringstream text("MyHost Hopper 1.25 1.25 0:4.5:1.25 4032:20 65536:0:0.5\n"
                            "H100 Hopper 24 300\n");
    GpuTable table;
    table.AddRows(text, "gpus.txt");
    const auto& costs = table.Find("MyHost")->messageCosts;
    ASSERT_EQ(costs.size(), 3U);
    EXPECT_EQ(costs[0].above, 0U);
    EXPECT_EQ(costs[0].us, 4.5);
    EXPECT_EQ(costs[0].GBps, 1.25);
    EXPECT_EQ(costs[1].above, 4032U);
    EXPECT_EQ(costs[1].us, 20);
    EXPECT_EQ(costs[1].GBps, 0) << "the NIC moves them";
    EXPECT_EQ(costs[2].us, 0);
    EXPECT_EQ(costs[2].GBps, 0.5);
    EXPECT_TRUE(table.Find("H100")->messageCosts.empty());
}

TEST(GpuTable, CostsOfMessagesCountAboveTheirLimit)
{
    const std::string path = testing::TempDir() + "hosts.txt";
    std::ofstream(path) << "MyHost Hopper 1.25 1.25 0:4:1.25 1000:20\n";
    MachineModel machine;
    machine.gpuType = "MyHost";
    machine.gpusPerServer = 1;
    machine.nvswitchesPerServer = 0;
    CommGroup pair;
    pair.ranks = {0, 1};
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 1024;
    const auto lane = [&](const NcclOptions& options) {
        const MockNcclGroup group(machine, options);
        const GroupShape shape(pair, group.GetMachine());
        const NcclPlan plan = NcclCostModel(group.GetMachine(), options)
                                  .Evaluate(NcclAlgorithm::Ring,
                                            NcclProtocol::Simple,
                                            request.op,
                                            shape,
                                            request.bytes);
        RingLayout layout;
        layout.channels = plan.channels;
        layout.byBlocks = false;
        const RingGraph graph(request, shape, layout);
        return TimesOf<RingTimes>(graph, plan.speeds, TimePs{0}).Out(0, 0);
    };
    NcclOptions options;
    options.gpuTable = path;
    options.networkKind = *NetworkTable::GetBuiltIn().Find("Slingshot");
    for (const bool userGivesLatency : {false, true})
    {
        // A user's latency stands for those of NCCL, not for what the host's CPU does.
        options.sendLatency = userGivesLatency ? std::optional<TimePs>(0) : std::optional<TimePs>();
        const LaneTimes host = lane(options);
        // 4 us, and 0.8 ns for each byte at 1.25 GB/s.
        EXPECT_EQ(CopyTimeOf(host, 1000, 1).latency, 4'000'000);
        EXPECT_EQ(CopyTimeOf(host, 1000, 1).busy, 4'000'000 + 800'000);
        EXPECT_EQ(CopyTimeOf(host, 1001, 1).latency, 20'000'000);
        EXPECT_EQ(CopyTimeOf(host, 1001, 1).busy, 20'000'000);
    }
    // Without costs of its own, those of the network count, unless the user gives a latency.
    machine.gpuType = "H100";
    EXPECT_EQ(CopyTimeOf(lane(options), 5000, 1).latency, 0);
    options.sendLatency.reset();
    EXPECT_EQ(CopyTimeOf(lane(options), 5000, 1).latency, 11'500'000);
}

TEST(GpuTable, MistakesNameFileAndLine)
{
    using testing::HasSubstr;
    EXPECT_THAT(ErrorOf("\nB300 Blackwell 45\n"), HasSubstr("gpus.txt:2"));
    EXPECT_THAT(ErrorOf("B300 Blackwel 45 800\n"),
                HasSubstr("Ampere, Hopper, Blackwell, CDNA2, CDNA3, CDNA4 or DaVinci"));
    EXPECT_THAT(ErrorOf("B300 Blackwell fast 800\n"), HasSubstr("'fast' is not a valid bandwidth"));
    EXPECT_THAT(ErrorOf("B300 Blackwell -1 800\n"), HasSubstr("above 0"));
    EXPECT_THAT(ErrorOf("B300 Blackwell nan 800\n"), HasSubstr("above 0"));
    EXPECT_THAT(ErrorOf("B300 Blackwell 900 800\n"), HasSubstr("a channel has more"));
    for (const char* cost :
         {"0", "0:", "0:4:", "0:4:1:", ":4", "-1:4", "0:-4", "0:nan", "0:4:0", "0:4:inf", "0:0"})
    {
        EXPECT_THAT(ErrorOf("B300 Blackwell 45 800 " + std::string(cost) + "\n"),
                    HasSubstr("gpus.txt:1: '" + std::string(cost) +
                              "' is not a valid cost of messages; expected BYTES:US"));
    }
    EXPECT_THAT(ErrorOf("B300 Blackwell 45 800 9:1 9:2\n"), HasSubstr("rising limits"));
    EXPECT_THAT(ErrorOf("B300 Blackwell 45 800 0:1 1:1 2:1 3:1\n"), HasSubstr("8 fields"));
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
    EXPECT_GT(group.Choose(ranks, request).cost,
              MockNcclGroup(machine, NcclOptions()).Choose(ranks, request).cost)
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
