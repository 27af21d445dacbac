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

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <utility>

namespace AstraSim
{

namespace
{

std::string
ErrorOf(const std::string& text)
{
    GpuTable table;
    try
    {
        table.AddRows(text, "gpus.yaml");
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
    EXPECT_TRUE(table.Find("H100PCIe")->meshed) << "it has no NVSwitches";
    EXPECT_EQ(table.Find("V100"), nullptr);
}

// 16 lanes of 16 GT/s are 24 GB/s to NCCL, of 32 GT/s 48 (src/graph/topo.cc, kvDictPciGen).
TEST(GpuTable, KnowsCardsThatPcieAloneJoins)
{
    const GpuTable table;
    for (const auto& [name, slot] : {std::pair("A10", 24.0),
                                     std::pair("A40", 24.0),
                                     std::pair("A6000", 24.0),
                                     std::pair("L4", 24.0),
                                     std::pair("L40", 24.0),
                                     std::pair("L40S", 24.0),
                                     std::pair("RTX4090", 24.0),
                                     std::pair("RTX5090", 48.0),
                                     std::pair("RTXPRO6000", 48.0)})
    {
        const GpuProfile* card = table.Find(name);
        ASSERT_NE(card, nullptr) << name;
        EXPECT_TRUE(card->meshed) << name << " has no NVSwitches";
        EXPECT_EQ(card->nvlinkGBps, slot) << name;
        EXPECT_LE(card->nvlinkGBps, card->pcieGBps) << name;
    }
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
    GpuTable table;
    table.AddRows("MyGpu: {generation: Blackwell, channel_gbps: 45.5, usable_gbps: 800}  # new\n"
                  "H100: {generation: Hopper, channel_gbps: 24, usable_gbps: 300, tflops: 900}\n",
                  "gpus.yaml");
    const GpuProfile* added = table.Find("MyGpu");
    ASSERT_NE(added, nullptr);
    EXPECT_EQ(added->generation, GpuGeneration::Blackwell);
    EXPECT_EQ(added->channelGBps, 45.5);
    EXPECT_EQ(added->nvlinkGBps, 800);
    EXPECT_EQ(table.Find("H100")->nvlinkGBps, 300);
    EXPECT_EQ(table.Find("H200")->nvlinkGBps, 360) << "the others stay";
    EXPECT_THAT(
        table.Expected("mygpu"),
        testing::EndsWith("Ascend910C, MyGpu, or a row of --gpu-table; the nearest is MyGpu"));
}

TEST(GpuTable, AFileWithoutARowOfTheTypeHasNoEffect)
{
    const std::string path = testing::TempDir() + "idle.yaml";
    std::ofstream(path) << "MyGpu: {generation: Hopper, channel_gbps: 30, usable_gbps: 360}\n";
    const GpuTable table = GpuTable::Read(path);
    EXPECT_THAT(table.DescribeIdle("MyGpu"), testing::IsEmpty());
    EXPECT_THAT(table.DescribeIdle("H100"),
                testing::ElementsAre(path + " has no effect: it has no row of H100"));
    EXPECT_THAT(table.DescribeIdle(""),
                testing::ElementsAre(path + " has no effect: the topology names no GPU type"));
    EXPECT_THAT(GpuTable::Read("").DescribeIdle("H100"), testing::IsEmpty());
}

TEST(GpuTable, FieldsSayHowGpusAndNicsAreJoined)
{
    constexpr const char* RATES = "generation: Hopper, channel_gbps: 30, usable_gbps: 360";
    GpuTable table;
    table.AddRows(fmt::format("Switched: {{{0}, switched: 2880Gbps, pcie_gbps: 64}}\n"
                              "Meshed: {{{0}, meshed: 384Gbps, grace: true}}\n"
                              "Direct: {{{0}, switched: 2880Gbps, nvswitch: false}}\n",
                              RATES),
                  "gpus.yaml");
    EXPECT_FALSE(table.Find("Switched")->meshed);
    EXPECT_TRUE(table.Find("Meshed")->meshed);
    EXPECT_TRUE(table.Find("Direct")->meshed);
    EXPECT_TRUE(table.Find("Meshed")->onGrace);
    EXPECT_FALSE(table.Find("Switched")->onGrace);
    EXPECT_EQ(table.Find("Switched")->pcieGBps, 64);
    EXPECT_EQ(table.Find("Meshed")->pcieGBps, 0) << "unknown";
    EXPECT_EQ(table.Find("Switched")->rings, nullptr);
    EXPECT_EQ(table.Find("MI250X")->rings->betweenNodes[2][1], 6);
}

TEST(GpuTable, ATypeMayNotBeListedTwice)
{
    const std::string row = ": {generation: Hopper, channel_gbps: 24, usable_gbps: 300}\n";
    EXPECT_EQ(ErrorOf("MyGpu" + row + "H100" + row + "MyGpu" + row),
              "gpus.yaml:3: the key 'MyGpu' occurs twice; expected each GPU once");
}

TEST(GpuTable, FurtherFieldsAreCostsOfMessages)
{
    GpuTable table;
    table.AddRows("MyHost: {generation: Hopper, channel_gbps: 1.25, usable_gbps: 1.25, messages: "
                  "[{above: 0, us: 4.5, gbps: 1.25}, {above: 4032, us: 20}, "
                  "{above: 65536, us: 0, gbps: 0.5}]}\n"
                  "H100: {generation: Hopper, channel_gbps: 24, usable_gbps: 300}\n",
                  "gpus.yaml");
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
    const std::string path = testing::TempDir() + "hosts.yaml";
    std::ofstream(path) << "MyHost: {generation: Hopper, channel_gbps: 1.25, usable_gbps: 1.25, "
                           "messages: [{above: 0, us: 4, gbps: 1.25}, {above: 1000, us: 20}]}\n";
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
        LaneTimes merged = host;
        merged.messageBytes = 1000;
        EXPECT_EQ(CopyTimeOf(merged, 4000, 1).latency, 4 * 4'000'000) << "of four messages";
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
    const auto row = [](const std::string& fields) { return "\nB300: {" + fields + "}\n"; };
    const auto with = [&row](const std::string& field) {
        return row("generation: Blackwell, channel_gbps: 45, usable_gbps: 720, " + field);
    };
    EXPECT_EQ(ErrorOf(row("generation: Blackwell, channel_gbps: 45")),
              "gpus.yaml:2: GPU B300 lacks usable_gbps; expected GB/s from 1e-06 to 1e+06");
    EXPECT_EQ(ErrorOf(row("channel_gbps: 45, usable_gbps: 720")),
              "gpus.yaml:2: GPU B300 lacks generation; expected Ampere, Hopper, Blackwell, CDNA2, "
              "CDNA3, CDNA4 or DaVinci");
    EXPECT_THAT(ErrorOf(with("tflopss: 1")),
                HasSubstr("gpus.yaml:2: unknown key 'tflopss'; expected a known key; the nearest "
                          "is tflops"));
    EXPECT_EQ(ErrorOf(with("tflops: 2250, stream: 0.9, like: B200")), "no error")
        << "fields of other readers";
    EXPECT_THAT(ErrorOf(with("pcie_gbps: 1, pcie_gbps: 2")),
                HasSubstr("the key 'pcie_gbps' occurs twice"));
    EXPECT_THAT(ErrorOf(row("generation: Blackwel")),
                HasSubstr("generation is 'Blackwel'; expected Ampere, Hopper"));
    for (const char* rate : {"fast", "-1", "0", "nan"})
    {
        EXPECT_THAT(ErrorOf(row("channel_gbps: " + std::string(rate))),
                    HasSubstr("channel_gbps is '" + std::string(rate) + "'; expected GB/s from"));
    }
    EXPECT_THAT(ErrorOf(row("generation: Hopper, channel_gbps: 900, usable_gbps: 720")),
                HasSubstr("channel_gbps above usable_gbps"));
    EXPECT_THAT(ErrorOf(with("nvswitch: maybe")), HasSubstr("nvswitch is 'maybe'; expected true"));
    EXPECT_THAT(ErrorOf("B300 Blackwell 45 800\n"),
                HasSubstr("gpus.yaml:1: this has no rows; expected rows of GPUs (YAML), such as"));
    EXPECT_THAT(ErrorOf("B300: Blackwell\n"), HasSubstr("gpus.yaml:1: this entry has no keys"));
    EXPECT_THAT(ErrorOf("B300: [\n"), HasSubstr("is not YAML"));
    EXPECT_THAT(ErrorOf(with("rings: all")), HasSubstr("rings is 'all'; expected MI250X"));
    for (const char* cost : {"us: 4",
                             "above: 0",
                             "above: -1, us: 4",
                             "above: 0, us: -4",
                             "above: 0, us: nan",
                             "above: 0, us: 4, gbps: 0",
                             "above: 0, us: 0"})
    {
        EXPECT_THAT(ErrorOf(with("messages: [{" + std::string(cost) + "}]")),
                    HasSubstr("gpus.yaml:2: "))
            << cost;
    }
    EXPECT_THAT(ErrorOf(with("messages: [{above: 9, us: 1}, {above: 9, us: 2}]")),
                HasSubstr("rising limits"));
    EXPECT_THAT(ErrorOf(with("messages: [{}, {}, {}, {}]")), HasSubstr("at most 3"));
    EXPECT_THROW(GpuTable::Read("/nowhere/gpus.yaml"), ns3::InputError);
}

TEST(GpuTable, ARowOfTheTopologysTypeCounts)
{
    const std::string path = testing::TempDir() + "gpus.yaml";
    std::ofstream(path) << "MyGpu: {generation: Ampere, channel_gbps: 10, usable_gbps: 120}\n";
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
