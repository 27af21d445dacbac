/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/graph/ring-order.h"
#include "collectives/model/graph/tree-graph.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-chooser.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/nccl/nccl-options.h"
#include "timed-lanes.h"

#include "ns3/collective-types.h"
#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>

namespace AstraSim
{

namespace
{

/// A machine of servers of one GPU type, and groups of whole servers on it.
class Cluster
{
  public:
    Cluster(const std::string& gpu, uint32_t gpusPerServer, double nicGBps)
    {
        m_machine.gpu = FindGpuProfile(gpu);
        m_machine.gpusPerServer = gpusPerServer;
        m_machine.nvlinkGBps = 450;
        m_machine.nicGBps = nicGBps;
    }

    GroupShape Servers(uint32_t servers) const
    {
        CommGroup group;
        group.ranks.resize(std::size_t{servers} * m_machine.gpusPerServer);
        std::iota(group.ranks.begin(), group.ranks.end(), 0);
        return GroupShape(group, m_machine);
    }

    NcclCostModel Model() const
    {
        return NcclCostModel(m_machine, options);
    }

    NcclPlan AllReduce(uint32_t servers, uint64_t bytes, GroupKind kind = GroupKind::Dp) const
    {
        return NcclChooser(Model())
            .Choose(CollectiveOp::AllReduce, Servers(servers), kind, bytes)
            .value();
    }

    /// @return "Ring LL" and so on. @throw std::bad_optional_access where the options leave none
    std::string Choice(uint32_t servers, uint64_t bytes, GroupKind kind = GroupKind::Dp) const
    {
        const NcclPlan plan = AllReduce(servers, bytes, kind);
        return std::string(ToString(plan.algorithm)) + " " + ToString(plan.protocol);
    }

    void SetNvLinkGBps(double rate)
    {
        m_machine.nvlinkGBps = rate;
    }

    void SetNicsPerGpu(uint32_t nics)
    {
        m_machine.nicsPerGpu = nics;
    }

    NcclOptions options;

  private:
    MachineModel m_machine;
};

NcclOptions
OptionsOf(const std::map<std::string, std::string>& environment)
{
    return NcclOptions::FromEnvironment([&](const std::string& name) -> std::optional<std::string> {
        const auto it = environment.find(name);
        return it == environment.end() ? std::nullopt : std::optional(it->second);
    });
}

constexpr double PS_PER_US = 1e6; // picoseconds

} // namespace

TEST(NcclCostModel, PredictsWhatNcclPrintsForThreeServersOfH100)
{
    // NVIDIA/nccl issue 1453: "N Bytes -> Algo 0 proto P time T" of 24 ranks; algorithm 0 is Tree,
    // protocols 0 and 1 are LL and LL128.
    const Cluster cluster("H100", 8, 25);
    const std::map<uint64_t, double> ll = {
        {8, 25.200924},
        {256, 25.229528},
        {512, 25.259054},
        {65536, 37.798233},
    };
    for (const auto& [bytes, us] : ll)
    {
        EXPECT_EQ(cluster.Choice(3, bytes), "Tree LL") << bytes;
        EXPECT_NEAR(cluster.AllReduce(3, bytes).predicted / PS_PER_US, us, 1e-4) << bytes;
    }
    EXPECT_EQ(cluster.Choice(3, 131072), "Tree LL128");
    EXPECT_NEAR(cluster.AllReduce(3, 131072).predicted / PS_PER_US, 51.603912, 1e-4);
}

TEST(NcclCostModel, ARowOfATunerDecidesWhereItsAlgorithmMayBeUsed)
{
    Cluster cluster("H100", 8, 50);
    std::istringstream lines("allreduce,0,-1,ring,ll128,4,-1,-1\n"
                             "allreduce,0,-1,tree,simple,100,-1,-1\n"
                             "allgather,0,-1,tree,simple,1,-1,-1\n");
    cluster.options.tunerFile =
        std::make_shared<const TunerTable>(TunerTable::Read(lines, "tuner.conf"));
    const NcclPlan ring = cluster.AllReduce(4, 1 << 26);
    EXPECT_EQ(cluster.Choice(4, 1 << 26), "Ring LL128");
    EXPECT_EQ(ring.channels, 4U);
    ASSERT_NE(ring.tuner, nullptr);
    EXPECT_EQ(ring.tuner->source, "tuner.conf:1");

    cluster.options.protocols = {NcclProtocol::Simple};
    EXPECT_EQ(cluster.Choice(4, 1 << 26), "Tree Simple");
    EXPECT_EQ(cluster.AllReduce(4, 1 << 26).channels, 16U) << "no more than the communicator's";

    cluster.options.algorithms = {&NcclAlgorithm::NvlsTree};
    EXPECT_EQ(cluster.Choice(4, 1 << 26), "NVLSTree Simple");
    EXPECT_EQ(cluster.AllReduce(4, 1 << 26).tuner, nullptr);

    cluster.options.algorithms = {};
    EXPECT_EQ(NcclChooser(cluster.Model())
                  .Choose(CollectiveOp::AllGather, cluster.Servers(4), GroupKind::Dp, 1 << 26)
                  ->tuner,
              nullptr)
        << "AllGather has no trees";
}

TEST(NcclCostModel, NicsThatAPlugInGroupsMakeTheChannelsOfOne)
{
    Cluster cluster("H100", 8, 50);
    cluster.SetNicsPerGpu(4);
    const auto channels = [&] {
        return cluster.Model().GetSearch().GetChannels(NcclAlgorithm::Ring, cluster.Servers(2));
    };
    EXPECT_EQ(channels(), 32U);
    cluster.options.SetNetworkKind("EFA-p5", "test", "kind");
    EXPECT_EQ(channels(), 16U) << "as two p5 print (awsome-distributed-ai issue 386)";
}

TEST(NcclCostModel, AStepOfSimpleIsAnEighthOfItsBuffer)
{
    NcclOptions options;
    EXPECT_EQ(options.GetSimpleStep(), 512U << 10);
    options.SetNetworkKind("EFA-p5", "test", "kind");
    EXPECT_EQ(options.GetSimpleStep(), 1U << 20);
    options.bufferBytes = 1 << 20;
    EXPECT_EQ(options.GetSimpleStep(), 128U << 10);
}

TEST(NcclCostModel, ChunksOfNvlsFollowVariablesNetworkAndRelease)
{
    // NCCL src/transport/nvls.cc, ncclNvlsTuning: at most 128 KiB, in NVLS-Tree 64 KiB from four
    // nodes on; a variable wins, and NVLS-Tree never has more than NVLS. aws-ofi-nccl sets both
    // variables to 512 KiB (platform-aws.cpp).
    constexpr uint64_t KIB = 1024;
    Cluster cluster("H100", 8, 50);
    const auto chunk = [&](uint32_t servers) {
        return cluster.Model().GetSearch().TuneNvls(cluster.Servers(servers)).chunk / KIB;
    };
    EXPECT_EQ(chunk(1), 128U);
    EXPECT_EQ(chunk(2), 128U);
    EXPECT_EQ(chunk(4), 64U);
    cluster.options.nvlsTreeChunk = 512 * KIB; // as the plug-in until 1.8
    EXPECT_EQ(chunk(1), 128U);
    EXPECT_EQ(chunk(2), 128U);
    EXPECT_EQ(chunk(4), 128U);
    cluster.options.nvlsTreeChunk = 0;
    cluster.options.SetNetworkKind("EFA-p5", "test", "kind");
    EXPECT_EQ(chunk(1), 512U);
    EXPECT_EQ(chunk(2), 512U);
    EXPECT_EQ(chunk(4), 512U);
    cluster.options.bufferBytes = 2048 * KIB;
    EXPECT_EQ(chunk(1), 256U) << "an eighth of the buffer";
    cluster.options.nvlsChunk = 64 * KIB;
    EXPECT_EQ(chunk(1), 64U) << "the user's word counts";
    EXPECT_EQ(chunk(2), 64U);

    // Before 2.21 NVLS has no variable, and NVLS-Tree the chunk of other collectives.
    cluster.options = {};
    cluster.options.release = NcclRelease::V2_20;
    cluster.options.nvlsChunk = 512 * KIB;
    EXPECT_EQ(chunk(1), 128U);
    EXPECT_EQ(chunk(2), 512U);
    EXPECT_EQ(chunk(4), 64U);
    cluster.options.nvlsTreeChunk = 256 * KIB;
    EXPECT_EQ(chunk(4), 256U);
}

TEST(NcclCostModel, AnEfaPairsChunkIsThePlugIns)
{
    constexpr uint64_t KIB = 1024;
    Cluster cluster("H100", 8, 50);
    const auto chunk = [&] {
        const NcclPlan plan =
            cluster.Model().EvaluatePairs(CollectiveOp::AllToAll, cluster.Servers(2), 1 << 26);
        return plan.Of<PairPlan>().layout.chunk / KIB;
    };
    EXPECT_EQ(chunk(), 128U);
    for (const char* kind : {"EFA-p4d", "EFA-p5", "EFA-p6-b200", "EFA-p5en", "EFA-p6-b300"})
    {
        cluster.options.SetNetworkKind(kind, "test", "kind");
        EXPECT_EQ(chunk(), 512U) << kind;
    }
    cluster.options.pairNetChunk = 64 * KIB;
    EXPECT_EQ(chunk(), 64U) << "the user's word counts";
}

TEST(NcclCostModel, TreeOfH800HasTheBandwidthThatNcclPrints)
{
    // NVIDIA/nccl issue 1154: Tree Simple 68.8 GB/s with 8 NICs of 400 Gb/s.
    const Cluster cluster("H800", 8, 50);
    const GroupShape two = cluster.Servers(2);
    const auto predicted = [&](uint64_t bytes) {
        return cluster.Model()
            .Evaluate(NcclAlgorithm::Tree,
                      NcclProtocol::Simple,
                      CollectiveOp::AllReduce,
                      two,
                      bytes)
            .predicted;
    };
    const double seconds = (predicted(2ULL << 30) - predicted(1ULL << 30)) / 1e12;
    EXPECT_NEAR((1ULL << 30) / seconds / 1e9, 68.8, 0.05);
}

TEST(NcclCostModel, HasAsManyChannelsAsNcclReports)
{
    const auto channels =
        [](const Cluster& cluster, const NcclAlgorithm& algorithm, uint32_t servers) {
            return cluster.Model().GetSearch().GetChannels(algorithm, cluster.Servers(servers));
        };
    // nccl-tests issue 100, nccl issues 892, 1259 ("24 coll channels, 16 nvls channels"), 1453 and
    // 1189 (two GPUs of a node: "nChannels 4", which become eight).
    EXPECT_EQ(channels(Cluster("A100", 8, 25), NcclAlgorithm::Ring, 1), 24U);
    EXPECT_EQ(channels(Cluster("H800", 8, 50), NcclAlgorithm::Ring, 1), 16U);
    EXPECT_EQ(channels(Cluster("H100", 8, 50), NcclAlgorithm::Ring, 1), 24U);
    EXPECT_EQ(channels(Cluster("H100", 8, 50), NcclAlgorithm::Nvls, 1), 16U);
    EXPECT_EQ(channels(Cluster("H100", 8, 25), NcclAlgorithm::Ring, 3), 16U);
    EXPECT_EQ(channels(Cluster("H20", 2, 50), NcclAlgorithm::Ring, 2), 8U);
}

TEST(NcclCostModel, ProtocolsOfA100CrossWhereTheirTimesAreEqual)
{
    // NCCL 2.18, rings of 12 x 20 GB/s: LL 15.0 us and 60 GB/s of bus bandwidth, LL128 40.6 us and
    // 220.8, Simple 56.0 us and 240; algorithm bandwidth is 8/14 of them.
    Cluster cluster("A100", 8, 25);
    cluster.options.release = NcclRelease::V2_18;
    const auto crossing = [](double extraUs, double slowGBps, double fastGBps) {
        return extraUs * 1e-6 / (14.0 / 8 * (1 / slowGBps - 1 / fastGBps)) * 1e9;
    };
    const double first = crossing(40.6 - 15.0, 60, 220.8);
    const double second = crossing(56.0 - 40.6, 220.8, 240);
    EXPECT_EQ(cluster.Choice(1, static_cast<uint64_t>(first * 0.999)), "Ring LL");
    EXPECT_EQ(cluster.Choice(1, static_cast<uint64_t>(first * 1.001)), "Ring LL128");
    EXPECT_EQ(cluster.Choice(1, static_cast<uint64_t>(second * 0.999)), "Ring LL128");
    EXPECT_EQ(cluster.Choice(1, static_cast<uint64_t>(second * 1.001)), "Ring Simple");
}

TEST(NcclCostModel, NvlsReplacesRingsOfH100WhereTheirTimesAreEqual)
{
    // NCCL 2.30: LL 15.0 us and 141 GB/s; NVLS 25 us and 8 heads x 40 GB/s x 0.85 x 7/8 x 2.
    const Cluster cluster("H100", 8, 50);
    const double nvls = 8 * 40 * 0.85 * 7 / 8 * 2;
    const double crossing = 10e-6 / (14.0 / 8 * (1 / 141.0 - 1 / nvls)) * 1e9;
    EXPECT_EQ(cluster.Choice(1, static_cast<uint64_t>(crossing * 0.999)), "Ring LL");
    EXPECT_EQ(cluster.Choice(1, static_cast<uint64_t>(crossing * 1.001)), "NVLS Simple");
    EXPECT_EQ(cluster.Choice(1, 1ULL << 33), "NVLS Simple");
}

TEST(NcclCostModel, NvlsTreeTakesTheSlowerOfNodeAndNetwork)
{
    const Cluster cluster("H100", 8, 50);
    const auto busGBps = [&](uint32_t servers) {
        const GroupShape shape = cluster.Servers(servers);
        const auto predicted = [&](uint64_t bytes) {
            return cluster.Model()
                .Evaluate(NcclAlgorithm::NvlsTree,
                          NcclProtocol::Simple,
                          CollectiveOp::AllReduce,
                          shape,
                          bytes)
                .predicted;
        };
        const double ranks = shape.GetRanks();
        const double seconds = (predicted(2ULL << 30) - predicted(1ULL << 30)) / 1e12;
        return (1ULL << 30) / seconds / 1e9 * 2 * (ranks - 1) / ranks;
    };
    // Two nodes: 57.7 GB/s per head at most; more: 45.5.
    EXPECT_NEAR(busGBps(2), 8 * 57.7, 0.1);
    EXPECT_NEAR(busGBps(16), 8 * 45.5, 0.1);
    EXPECT_EQ(cluster.Choice(16, 1ULL << 30), "NVLSTree Simple");
}

TEST(NcclCostModel, ManyNodesPreferTreesFewOnesRings)
{
    const Cluster cluster("A100", 8, 25);
    EXPECT_EQ(cluster.Choice(64, 1 << 20).substr(0, 4), "Tree");
    EXPECT_EQ(cluster.Choice(2, 1ULL << 32), "Ring Simple");
}

TEST(NcclCostModel, ChannelsShrinkWithTheSizeWithoutChangingTheChoice)
{
    // Ring LL: 512 threads x 8 bytes x 8 ranks per channel.
    const Cluster cluster("H100", 8, 50);
    EXPECT_EQ(cluster.AllReduce(1, 512 * 8 * 8 * 24).channels, 24U);
    EXPECT_EQ(cluster.AllReduce(1, 512 * 8 * 8 * 24 - 1).channels, 23U);
    EXPECT_EQ(cluster.AllReduce(1, 8).channels, 1U);
}

TEST(NcclCostModel, BlocksCopyOverNvLinkAsFastAsThePlanInForceNeeds)
{
    // GB/s on the wire of a channel's block: what it moves of data times the protocol's inflation.
    // NVLinks of 360 GB/s are shared by 24 channels in a server and by 16 between servers (8 of
    // 45). What LL moves is a block's own limit.
    Cluster h100("H100", 8, 50);

    const struct
    {
        NcclProtocol protocol;
        double within;
        double between;
    } cases[] = {
        {NcclProtocol::Ll, 2 * 141.0 / 24, 2 * 141.0 / 24},
        {NcclProtocol::Ll128, 128.0 / 120 * 0.92 * 360 / 24, 128.0 / 120 * 8 * 36.7 / 16},
        {NcclProtocol::Simple, 360.0 / 24, 360.0 / 16},
    };

    h100.SetNvLinkGBps(360);
    for (const auto& [protocol, within, between] : cases)
    {
        for (const uint32_t servers : {1U, 2U, 16U})
        {
            const double ring = servers == 1 ? within : between;
            for (const uint32_t most : {0U, 2U})
            {
                h100.options.maxChannels = most;
                const auto speed = [&](const NcclAlgorithm& algorithm) {
                    return h100.Model()
                        .Evaluate(algorithm,
                                  protocol,
                                  CollectiveOp::AllReduce,
                                  h100.Servers(servers),
                                  1 << 20)
                        .speeds.channelGBps;
                };
                EXPECT_NEAR(speed(NcclAlgorithm::Ring), ring, 1e-9 * ring) << servers;
                EXPECT_NEAR(speed(NcclAlgorithm::Tree), ring / 2, 1e-9 * ring) << servers;
            }
        }
    }
}

TEST(NcclCostModel, MinAndMaxChannelsAreHonoured)
{
    Cluster cluster("A100", 8, 25);
    cluster.options = OptionsOf({{"NCCL_MAX_NCHANNELS", "4"}});
    EXPECT_EQ(cluster.AllReduce(1, 1 << 30).channels, 4U);
    cluster.options = OptionsOf({{"NCCL_MIN_NCHANNELS", "28"}});
    EXPECT_EQ(cluster.AllReduce(1, 1 << 30).channels, 28U);
    EXPECT_EQ(cluster.AllReduce(1, 8).channels, 28U);
    cluster.options = OptionsOf({{"AS_NV_CHANNELS", "6"}, {"AS_RING_CHANNELS", "10"}});
    EXPECT_EQ(cluster.AllReduce(1, 1 << 30).channels, 6U);
    EXPECT_EQ(cluster.AllReduce(2, 1 << 30).channels, 10U);
    for (const char* only : {"AS_NV_CHANNELS", "AS_RING_CHANNELS"})
    {
        const Cluster others("A100", 8, 25);
        cluster.options = OptionsOf({{only, "6"}});
        const bool within = std::string(only) == "AS_NV_CHANNELS";
        EXPECT_EQ(cluster.AllReduce(within ? 2 : 1, 1 << 30).channels,
                  others.AllReduce(within ? 2 : 1, 1 << 30).channels);
        EXPECT_EQ(cluster.AllReduce(within ? 1 : 2, 1 << 30).channels, 6U);
    }
}

TEST(NcclCostModel, MinAndMaxChannelsOfRingsLeaveThoseOfNvlsAlone)
{
    // NVLS has 16 channels on Hopper; NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS are of rings.
    Cluster cluster("H100", 8, 50);
    for (const char* variable : {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"})
    {
        cluster.options = OptionsOf({{variable, "32"}});
        for (const uint32_t servers : {1U, 2U})
        {
            const NcclPlan plan = cluster.AllReduce(servers, 1 << 30);
            EXPECT_EQ(plan.algorithm,
                      servers == 1 ? &NcclAlgorithm::Nvls : &NcclAlgorithm::NvlsTree);
            EXPECT_EQ(plan.channels, 16U) << variable << ", " << servers << " servers";
        }
    }
}

TEST(NcclCostModel, BroadcastAndReduceHaveTheProtocolThatNcclCountsShortest)
{
    // One server of H100: LL counts 6.6 + 0.6 us and Simple 8.4 + 3.4, at 360 GB/s; LL takes longer
    // from about a megabyte on, whatever its bandwidth between 1/4 and 1/2 of that.
    Cluster cluster("H100", 8, 50);
    cluster.options = OptionsOf({{"NCCL_ALGO", "Tree"}}); // these two have rings only
    for (const CollectiveOp op : {CollectiveOp::Broadcast, CollectiveOp::Reduce})
    {
        const auto choose = [&](uint32_t servers, uint64_t bytes) {
            return *NcclChooser(cluster.Model())
                        .Choose(op, cluster.Servers(servers), GroupKind::Dp, bytes);
        };
        EXPECT_EQ(choose(1, 1024).protocol, NcclProtocol::Ll);
        EXPECT_EQ(choose(1, 1024).latency, 7.2 * PS_PER_US);
        EXPECT_EQ(choose(1, 4 << 20).protocol, NcclProtocol::Simple);
        EXPECT_EQ(choose(1, 4 << 20).latency, 11.8 * PS_PER_US);
        EXPECT_EQ(choose(1, 4 << 20).algorithm, &NcclAlgorithm::Ring);
        // Between servers NCCL counts a step for each rank: 2.7 us with LL.
        EXPECT_EQ(choose(2, 1024).latency, 49.8 * PS_PER_US); // 6.6 + 16 * 2.7
    }
}

TEST(NcclCostModel, PairsBetweenServersWaitForTheCpuOfTheirNic)
{
    // 6.1 us from GPU to GPU, of which the CPU serves nothing else for 3.3; the rest is the
    // network's, and more on EFA, where a step takes 35 us more.
    Cluster cluster("H100", 8, 50);
    const auto plan = [&] {
        return cluster.Model().EvaluatePairs(CollectiveOp::AllToAll, cluster.Servers(2), 1024);
    };
    EXPECT_EQ(plan().speeds.net.latency + plan().speeds.net.slowStarts.front().latency,
              6.1 * PS_PER_US);
    EXPECT_EQ(plan().speeds.net.slowStarts.front().latency, 3.3 * PS_PER_US);
    EXPECT_EQ(plan().speeds.net.slowStarts.front().above, 0U);
    EXPECT_TRUE(plan().speeds.net.slowStarts.front().occupies);
    EXPECT_EQ(plan().speeds.net.slowStarts.front().again, 2 * PS_PER_US)
        << "further messages of a pair";
    cluster.options = OptionsOf({{"AS_NETWORK_KIND", "EFA-p4d"}});
    EXPECT_EQ(plan().speeds.net.latency + plan().speeds.net.slowStarts.front().latency,
              41.1 * PS_PER_US);
    // On Slingshot the CPU's work has figures of its own, by size.
    cluster.options = OptionsOf({{"AS_NETWORK_KIND", "Slingshot"}});
    EXPECT_EQ(plan().speeds.net.slowStarts.front().latency, 1.3 * PS_PER_US);
}

TEST(NcclCostModel, AlgorithmsAndProtocolsCanBeForcedOrLeftOut)
{
    Cluster cluster("A100", 8, 25); // has no NVLS
    cluster.options = OptionsOf({{"NCCL_ALGO", "tree"}, {"NCCL_PROTO", "Simple"}});
    EXPECT_EQ(cluster.Choice(1, 8), "Tree Simple");
    cluster.options = OptionsOf({{"NCCL_PROTO", "^LL,Simple"}});
    EXPECT_EQ(cluster.Choice(1, 8), "Tree LL128");
    cluster.options = OptionsOf({{"NCCL_ALGO", "^Ring"}});
    EXPECT_EQ(cluster.Choice(1, 1 << 30), "Tree Simple");
    cluster.options = OptionsOf({{"NCCL_ALGO", "NVLS"}});
    EXPECT_THROW(cluster.Choice(1, 1 << 30), std::bad_optional_access) << "nothing is left";
    Cluster hopper("H100", 8, 50);
    hopper.options = cluster.options;
    EXPECT_EQ(hopper.Choice(1, 8), "NVLS Simple");
    hopper.options = OptionsOf({{"NCCL_ALGO", "NVLS"}, {"NCCL_NVLS_ENABLE", "0"}});
    EXPECT_THROW(hopper.Choice(1, 8), std::bad_optional_access);
}

TEST(NcclCostModel, HopperAndBlackwellUseNvlsUnlessToldOtherwise)
{
    for (const char* gpu : {"H100", "H200", "B200", "GB300"})
    {
        Cluster cluster(gpu, 8, 50);
        EXPECT_EQ(cluster.Choice(1, 1 << 30), "NVLS Simple") << gpu;
        EXPECT_EQ(cluster.Choice(4, 1 << 30), "NVLSTree Simple") << gpu;
        cluster.options = OptionsOf({{"NCCL_NVLS_ENABLE", "0"}});
        EXPECT_EQ(cluster.Choice(1, 1 << 30), "Ring Simple") << gpu;
        EXPECT_THAT(cluster.Choice(4, 1 << 30), testing::Not(testing::HasSubstr("NVLS"))) << gpu;
        cluster.options = OptionsOf({{"AS_NVLSTREE_ENABLE", "0"}});
        EXPECT_EQ(cluster.Choice(1, 1 << 30), "NVLS Simple") << gpu;
        EXPECT_THAT(cluster.Choice(4, 1 << 30), testing::Not(testing::HasSubstr("NVLS"))) << gpu;
    }
    EXPECT_EQ(Cluster("A100", 8, 25).Choice(1, 1 << 30), "Ring Simple");
}

TEST(NcclOptions, NcclsVariableAndOursSayWhetherNvlsIsUsed)
{
    struct Case
    {
        std::map<std::string, std::string> environment;
        bool nvls;
        bool tree;
    };

    const Case cases[] = {
        {{}, true, true},
        {{{"NCCL_NVLS_ENABLE", "2"}}, true, true},
        {{{"NCCL_NVLS_ENABLE", "1"}}, true, true},
        {{{"NCCL_NVLS_ENABLE", "0"}}, false, false},
        {{{"AS_NVLS_ENABLE", "0"}}, false, false},
        {{{"NCCL_NVLS_ENABLE", "0"}, {"AS_NVLS_ENABLE", "1"}}, true, true},
        {{{"AS_NVLSTREE_ENABLE", "0"}}, true, false},
        {{{"AS_NVLS_ENABLE", "0"}, {"AS_NVLSTREE_ENABLE", "1"}}, false, true},
        {{{"NCCL_SELECT", "rules"}}, false, false}, // as SimAI has it
        {{{"NCCL_SELECT", "rules"}, {"AS_NVLS_ENABLE", "1"}}, true, false},
    };
    for (const Case& item : cases)
    {
        const NcclOptions options = OptionsOf(item.environment);
        EXPECT_EQ(options.nvlsEnable, item.nvls) << testing::PrintToString(item.environment);
        EXPECT_EQ(options.nvlsTreeEnable, item.tree) << testing::PrintToString(item.environment);
    }
    EXPECT_TRUE(OptionsOf({{"NCCL_NVLS_ENABLE", "1"}}).nvlsRequired);
    EXPECT_FALSE(OptionsOf({{"NCCL_NVLS_ENABLE", "2"}}).nvlsRequired);
    EXPECT_THROW(OptionsOf({{"NCCL_NVLS_ENABLE", "3"}}), ns3::InputError);
}

TEST(NcclCostModel, RulesAreThoseOfTheSeed)
{
    const std::map<std::string, std::string> rules = {{"NCCL_SELECT", "rules"},
                                                      {"AS_NVLS_ENABLE", "1"}};
    Cluster hopper("H100", 8, 50);
    hopper.options = OptionsOf(rules);
    hopper.options.nvlsTreeEnable = true;
    EXPECT_EQ(hopper.Choice(1, 8, GroupKind::Tp), "NVLS Simple");
    EXPECT_EQ(hopper.Choice(1, 8, GroupKind::Dp), "Ring Simple");
    EXPECT_EQ(hopper.Choice(2, 8, GroupKind::Tp), "NVLSTree Simple");
    const auto other = [&](CollectiveOp op, GroupKind kind) {
        return NcclChooser(hopper.Model()).Choose(op, hopper.Servers(1), kind, 8)->algorithm;
    };
    EXPECT_EQ(other(CollectiveOp::AllGather, GroupKind::Tp), &NcclAlgorithm::Nvls);
    EXPECT_EQ(other(CollectiveOp::AllGather, GroupKind::Dp), &NcclAlgorithm::Ring);
    EXPECT_EQ(other(CollectiveOp::ReduceScatter, GroupKind::Tp), &NcclAlgorithm::Ring);
    hopper.options.nvlsTreeEnable = false;
    EXPECT_EQ(hopper.Choice(2, 8, GroupKind::Tp), "Ring Simple");
    EXPECT_EQ(other(CollectiveOp::AllGather, GroupKind::Tp), &NcclAlgorithm::Ring);
    Cluster four("H100", 4, 50);
    four.options = OptionsOf(rules);
    EXPECT_EQ(four.Choice(1, 8, GroupKind::Tp), "Ring Simple"); // fewer than eight ranks
    Cluster ampere("A100", 8, 25);
    ampere.options = OptionsOf(rules);
    EXPECT_EQ(ampere.Choice(1, 8, GroupKind::Tp), "Ring Simple");
}

TEST(NcclCostModel, CollNetServesAllReduceBetweenNodesWhereItIsOn)
{
    Cluster cluster("H100", 8, 50);
    const auto possible = [&](const NcclAlgorithm& algorithm, CollectiveOp op, uint32_t servers) {
        return cluster.Model().IsPossible(algorithm,
                                          NcclProtocol::Simple,
                                          op,
                                          cluster.Servers(servers));
    };
    EXPECT_FALSE(possible(NcclAlgorithm::CollNetDirect, CollectiveOp::AllReduce, 2));
    cluster.options.collNetEnable = true;
    EXPECT_TRUE(possible(NcclAlgorithm::CollNetDirect, CollectiveOp::AllReduce, 2));
    EXPECT_TRUE(possible(NcclAlgorithm::CollNetChain, CollectiveOp::AllReduce, 2));
    EXPECT_FALSE(possible(NcclAlgorithm::CollNetDirect, CollectiveOp::AllReduce, 1));
    EXPECT_FALSE(possible(NcclAlgorithm::CollNetChain, CollectiveOp::AllGather, 2));
}

TEST(NcclCostModel, StepsTakeWhatTheirLinksTake)
{
    // LL through an NVSwitch 0.6 us on Hopper, as NCCL counts, and 1.4 on others; from GPU to GPU
    // 0.2; between nodes the 5 that NCCL counts where nothing hides a step (trees), and 0.6 more on
    // Slingshot.
    const auto plan = [](const Cluster& cluster, uint32_t servers) {
        return cluster.Model().Evaluate(NcclAlgorithm::Ring,
                                        NcclProtocol::Ll,
                                        CollectiveOp::AllReduce,
                                        cluster.Servers(servers),
                                        1024);
    };
    Cluster switched("H100", 8, 50);
    const Cluster meshed("GH200", 4, 25);
    EXPECT_EQ(plan(switched, 1).speeds.intraLatency, 0.6 * PS_PER_US);
    EXPECT_EQ(plan(Cluster("A100", 8, 50), 1).speeds.intraLatency, 1.4 * PS_PER_US);
    EXPECT_EQ(plan(Cluster("B200", 8, 50), 1).speeds.intraLatency, 1.4 * PS_PER_US);
    EXPECT_EQ(plan(meshed, 1).speeds.intraLatency, 0.2 * PS_PER_US);
    EXPECT_EQ(plan(switched, 2).speeds.net.latency, 5 * PS_PER_US);
    switched.options = OptionsOf({{"AS_NETWORK_KIND", "slingshot"}});
    EXPECT_EQ(plan(switched, 2).speeds.net.latency, 5.6 * PS_PER_US);
}

// A thread of NCCL's copies each message into a socket, which takes it 1000 ps for each byte of 1
// GB/s.
TEST(NcclCostModel, TheCpuOfAGpuCopiesMessagesIntoSockets)
{
    Cluster cluster("H100", 8, 12.5);
    cluster.options = OptionsOf({{"AS_NETWORK_KIND", "Socket"}});
    const double copying = cluster.options.networkKind.slowStarts.front().GBps;
    const SlowStart start = cluster.AllReduce(2, 64 << 20).speeds.net.slowStarts.front();
    EXPECT_TRUE(start.Applies());
    EXPECT_TRUE(start.occupies);
    EXPECT_EQ(start.latency, 0);
    EXPECT_DOUBLE_EQ(start.psPerByte, 1000 / copying);
}

// NCCL's table of latencies has a row for PCIe, whose steps are longer than NVLink's; LL128 is off
// there, and a pair has two channels and chunks of 128 KiB. A server of one GPU has no such steps.
TEST(NcclCostModel, ServersWithoutNvLinksHaveTheStepsOfPcie)
{
    const Cluster pcie("H100PCIe", 8, 50);
    const NcclCostModel model = pcie.Model();
    const GroupShape server = pcie.Servers(1);
    const auto stepOf = [&](NcclProtocol protocol) {
        return model
            .Evaluate(NcclAlgorithm::Ring, protocol, CollectiveOp::AllReduce, server, 1 << 20)
            .speeds.intraLatency;
    };
    EXPECT_EQ(stepOf(NcclProtocol::Ll), 1'000'000);
    EXPECT_EQ(stepOf(NcclProtocol::Simple), 5'700'000);
    for (uint64_t bytes = 1024; bytes <= 1 << 30; bytes *= 2)
    {
        EXPECT_THAT(pcie.Choice(1, bytes), testing::Not(testing::HasSubstr("LL128"))) << bytes;
        EXPECT_THAT(pcie.Choice(2, bytes), testing::Not(testing::HasSubstr("LL128"))) << bytes;
    }
    EXPECT_EQ(pcie.Choice(1, 64 << 20), "Ring Simple");
    const auto pairs =
        model.EvaluatePairs(CollectiveOp::AllToAll, server, 1 << 20).Of<PairPlan>().layout;
    EXPECT_EQ(pairs.perPair, 2U);
    EXPECT_EQ(pairs.chunk, 128U << 10);
    const Cluster alone("H100PCIe", 1, 50);
    EXPECT_TRUE(alone.Model().HasLl128(alone.Servers(2)));
    const Cluster nvlink("H100", 8, 50);
    EXPECT_TRUE(nvlink.Model().HasLl128(nvlink.Servers(1)));
}

// NCCL's search takes the fastest speeds of its list that slots and CPUs hold. 48 GB/s of a slot
// are 2 x 24 beside AMD, and 1 x 40 of 1.2 bytes each beside Intel, which become 2 x 20. Across two
// CPUs 22 GB/s are 1 x 20. All of these are doubled.
TEST(NcclPcie, RingsFollowFromSlotsAndCpus)
{
    const auto channels = [](const Cluster& cluster) {
        return cluster.Model().GetSearch().GetChannels(NcclAlgorithm::Ring, cluster.Servers(1));
    };
    const auto expected = [](const Cluster& cluster) {
        return cluster.Model().GetSearch().SearchChannels(cluster.Servers(1), true).Bandwidth(1);
    };
    for (const bool isAmd : {false, true})
    {
        Cluster four("RTXPRO6000", 4, 50);
        four.options.hostsAreAmd = isAmd;
        EXPECT_EQ(channels(four), 4U);
        EXPECT_EQ(expected(four), isAmd ? 48 : 40);
    }
    const Cluster eight("RTXPRO6000", 8, 50);
    EXPECT_EQ(channels(eight), 2U);
    EXPECT_EQ(expected(eight), 20);
    const Cluster gen4("L40S", 8, 25); // 10 GB/s between Ice Lake's CPUs
    EXPECT_EQ(channels(gen4), 2U);
    EXPECT_EQ(expected(gen4), 10);
}

// 16 GB/s between AMD's CPUs hold none of the speeds from 18 on that Blackwell has. NCCL expects
// 0.1 GB/s of the ring that is left, so 5.7 us of Simple in place of 1 for each of 14 steps are
// soon worth their half of the bytes.
TEST(NcclPcie, ARingThatDoesNotFitLeavesLlSoon)
{
    Cluster cluster("RTXPRO6000", 8, 50);
    EXPECT_EQ(cluster.Choice(1, 256 << 10), "Ring LL");
    cluster.options.hostsAreAmd = true;
    EXPECT_EQ(cluster.Choice(1, 1024), "Ring LL");
    EXPECT_EQ(cluster.Choice(1, 4096), "Ring Simple");
    EXPECT_EQ(cluster.Model().GetSearch().GetChannels(NcclAlgorithm::Ring, cluster.Servers(1)), 2U);
}

// GPUs of a CPU share its memory, unless they write to each other: as NCCL has it two GPUs beside
// AMD do, or those that the user allows to.
TEST(NcclPcie, GpusShareTheMemoryOfTheirCpuUnlessTheyArePeers)
{
    const auto ringGBps = [](const Cluster& cluster) {
        const NcclPlan plan = cluster.AllReduce(1, 64 << 20);
        return plan.channels * plan.speeds.channelGBps;
    };
    Cluster four("RTXPRO6000", 4, 50);
    const double memory = four.options.figures.hostMemoryGBps;
    const double block = four.options.figures.pcieBlockGBps;
    EXPECT_DOUBLE_EQ(ringGBps(four), memory / 4);
    four.options = OptionsOf({{"NCCL_P2P_LEVEL", "PHB"}});
    EXPECT_DOUBLE_EQ(ringGBps(four), 4 * block);
    four.options = OptionsOf({{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_P2P_DISABLE", "1"}});
    EXPECT_DOUBLE_EQ(ringGBps(four), memory / 4);
    const Cluster eight("RTXPRO6000", 8, 50); // two rings, and 4 GPUs of each CPU
    EXPECT_DOUBLE_EQ(ringGBps(eight), 2 * block);
    Cluster two("RTXPRO6000", 2, 50);
    two.options.figures.hostMemoryGBps = 20;
    EXPECT_DOUBLE_EQ(ringGBps(two), 10);
    two.options.hostsAreAmd = true;
    EXPECT_DOUBLE_EQ(ringGBps(two), 4 * block);
}

TEST(NcclCostModel, GpusWithoutAnNvSwitchHaveNoNvls)
{
    EXPECT_EQ(Cluster("GH200", 8, 25).Choice(1, 1 << 30), "Ring Simple");
    EXPECT_EQ(Cluster("H200", 8, 25).Choice(1, 1 << 30), "NVLS Simple");
}

TEST(NcclCostModel, NetworkKindsLeaveOutWhatTheyCannotCarry)
{
    // EFA keeps no order of writes: Simple only. Google's settings of TCPXO leave LL and NVLS out.
    Cluster efa("A100", 8, 50);
    efa.options = OptionsOf({{"AS_NETWORK_KIND", "EFA-p4d"}});
    Cluster tcpxo("H100", 8, 25);
    tcpxo.options = OptionsOf({{"AS_NETWORK_KIND", "TCPXO"}});
    for (uint64_t bytes = 8; bytes <= 1ULL << 33; bytes *= 4)
    {
        EXPECT_THAT(efa.Choice(2, bytes), testing::EndsWith(" Simple")) << bytes;
        EXPECT_THAT(tcpxo.Choice(2, bytes), testing::Not(testing::EndsWith(" LL"))) << bytes;
        EXPECT_THAT(tcpxo.Choice(2, bytes), testing::Not(testing::HasSubstr("NVLS"))) << bytes;
    }
    EXPECT_EQ(efa.Choice(1, 8), "Ring LL") << "within a server there is no network";
    efa.options = OptionsOf({{"AS_NETWORK_KIND", "EFA-p4d"}, {"NCCL_PROTO", "LL"}});
    EXPECT_THAT(efa.Choice(2, 8), testing::EndsWith(" LL")) << "the user's word counts";
    EXPECT_THROW(OptionsOf({{"AS_NETWORK_KIND", "carrier pigeon"}}), ns3::InputError);
}

TEST(NcclCostModel, TcpxoLeavesLl128From16KiBOfEachRank)
{
    // An AllGather's bytes are those of all 16 ranks, an AllReduce's those of each.
    Cluster tcpxo("H100", 8, 25);
    tcpxo.options = OptionsOf({{"AS_NETWORK_KIND", "TCPXO"}});
    const auto protocol = [&](CollectiveOp op, uint64_t bytes) {
        return NcclChooser(tcpxo.Model())
            .Choose(op, tcpxo.Servers(2), GroupKind::Dp, bytes)
            ->protocol;
    };
    EXPECT_EQ(protocol(CollectiveOp::AllGather, 16 * 16384 - 16), NcclProtocol::Ll128);
    EXPECT_EQ(protocol(CollectiveOp::AllGather, 16 * 16384), NcclProtocol::Simple);
    EXPECT_EQ(protocol(CollectiveOp::AllReduce, 16384 - 16), NcclProtocol::Ll128);
    EXPECT_EQ(protocol(CollectiveOp::AllReduce, 16384), NcclProtocol::Simple);
}

TEST(NcclCostModel, EstimatesUseTheLatencyThatThePluginTells)
{
    // aws-ofi-nccl tells NCCL 75 us on p4d, whatever a step takes; with Simple NCCL counts it
    // twice, for the flush (ncclTopoTuneModel). Two nodes: a tree's step up and one down.
    Cluster plain("A100", 8, 12.5);
    Cluster efa("A100", 8, 12.5);
    efa.options = OptionsOf({{"AS_NETWORK_KIND", "EFA-p4d"}});
    const auto tree = [](const Cluster& cluster) {
        return cluster.Model().Evaluate(NcclAlgorithm::Tree,
                                        NcclProtocol::Simple,
                                        CollectiveOp::AllReduce,
                                        cluster.Servers(2),
                                        8);
    };
    EXPECT_NEAR((tree(efa).latency - tree(plain).latency) / PS_PER_US, 2 * 2 * 75, 1e-6);
    EXPECT_NEAR((tree(efa).speeds.net.latency - tree(plain).speeds.net.latency) / PS_PER_US,
                35,
                1e-6)
        << "a step takes what was measured";
}

TEST(NcclCostModel, NvlsTreeOnBlackwellHasTheChannelsThatNcclSets)
{
    // NCCL 2.30 src/transport/nvls.cc: 24 in one node; of two nodes 32; of more 24 with NICs of 400
    // or, on up to 8 GPUs, 800 Gb/s, else 32. Chunks by NIC and GPUs per node.
    struct Case
    {
        const char* gpu;
        uint32_t gpus;
        double nicGBps;
        uint32_t servers;
        uint32_t channels;
        uint64_t chunkKiB;
    };

    const Case cases[] = {
        {"B200", 8, 50, 1, 24, 128},
        {"B200", 8, 50, 2, 32, 64},
        {"B300", 8, 100, 2, 32, 128},
        {"GB200", 4, 50, 2, 32, 256},
        {"B200", 8, 50, 4, 24, 64},
        {"GB200", 8, 50, 4, 24, 128},
        {"B300", 8, 100, 4, 24, 256},
        {"GB300", 36, 100, 4, 32, 64},
        {"B200", 8, 25, 4, 32, 64},
        {"H100", 8, 50, 2, 16, 128},
        {"H100", 8, 50, 4, 16, 64},
    };
    for (const Case& item : cases)
    {
        const Cluster cluster(item.gpu, item.gpus, item.nicGBps);
        const NcclPlan plan = cluster.Model().Evaluate(NcclAlgorithm::NvlsTree,
                                                       NcclProtocol::Simple,
                                                       CollectiveOp::AllReduce,
                                                       cluster.Servers(item.servers),
                                                       1 << 30);
        EXPECT_EQ(plan.channels, item.channels) << item.gpu << " " << item.servers;
        EXPECT_EQ(plan.Of<NvlsPlan>().chunk, item.chunkKiB * 1024)
            << item.gpu << " " << item.servers;
    }
}

TEST(NcclCostModel, PairsShareWhatBlocksStoreOverNvLink)
{
    const auto pairs = [](const Cluster& cluster) {
        return cluster.Model().EvaluatePairs(CollectiveOp::AllToAll, cluster.Servers(1), 1 << 30);
    };
    Cluster cluster("B200", 8, 50);
    EXPECT_NEAR(pairs(cluster).Of<PairPlan>().speeds.rankGBps,
                0.925 * 450,
                1e-9); // the cluster's NVLinks
    cluster.SetNvLinkGBps(900);
    EXPECT_NEAR(pairs(cluster).Of<PairPlan>().speeds.rankGBps, 0.925 * 720, 1e-9);
    EXPECT_NEAR(pairs(cluster).Of<PairPlan>().speeds.blockGBps, 0.925 * 720 / 32, 1e-9)
        << "32 of them fill the links";
    // 16 blocks of an H100, or of an A100, move what AllToAll on 2 GPUs reaches.
    EXPECT_NEAR(pairs(Cluster("H100", 8, 50)).Of<PairPlan>().speeds.blockGBps, 281.0 / 16, 0.1);
    EXPECT_NEAR(pairs(Cluster("A100", 8, 50)).Of<PairPlan>().speeds.blockGBps, 164.0 / 16, 0.1);
}

// sendrecv_perf on 8 B200 (docs/source/data/measurements) is slower at 512 KiB than at 1 MiB, and
// alltoall_perf at 4 MiB, which is 512 KiB for each pair, than at 8 MiB.
TEST(NcclCostModel, PairsOfANodeUseLlUpTo16KiBForEachChannel)
{
    Cluster cluster("B200", 8, 50);
    cluster.SetNvLinkGBps(900);
    cluster.options = OptionsOf({{"NCCL_TUNING", "2.28"}});
    const auto pairs = [&](uint64_t bytes, uint32_t servers = 1) {
        return cluster.Model().EvaluatePairs(CollectiveOp::SendRecv,
                                             cluster.Servers(servers),
                                             bytes);
    };
    const NcclPlan ll = pairs(512 << 10);
    EXPECT_EQ(ll.protocol, NcclProtocol::Ll);
    EXPECT_EQ(ll.Of<PairPlan>().layout.channels, 32U);
    EXPECT_EQ(ll.GetWireInflation(), 2);
    EXPECT_EQ(ll.speeds.baseLatency, 8.4 * PS_PER_US) << "the kernel is the one of Simple";
    // Half of a block's 282 / 32 GB/s of data, which are twice as many on the wire.
    EXPECT_NEAR(ll.Of<PairPlan>().speeds.rankGBps / ll.Of<PairPlan>().layout.channels,
                282.0 / 32,
                1e-9);
    EXPECT_EQ(pairs((512 << 10) + 1).protocol, NcclProtocol::Simple);
    EXPECT_EQ(pairs(8, 2).protocol, NcclProtocol::Simple) << "between servers";
    // From 2.29 on channels are counted first, of which 64 KiB have one.
    cluster.options = OptionsOf({{"NCCL_TUNING", "2.29"}});
    EXPECT_EQ(pairs(16 << 10).protocol, NcclProtocol::Ll);
    EXPECT_EQ(pairs((16 << 10) + 1).protocol, NcclProtocol::Simple);
    cluster.options = OptionsOf({{"NCCL_PROTO", "Simple"}});
    EXPECT_EQ(pairs(8).protocol, NcclProtocol::Simple);
}

TEST(NcclCostModel, AmdHostsLeaveLlEarlier)
{
    // Two servers: LL moves 39 GB/s with Intel's hosts and 22.5 with AMD's (src/graph/tuning.cc).
    const auto firstWithoutLl = [](const std::string& cpu) {
        Cluster cluster("H100", 8, 50);
        cluster.options = OptionsOf({{"AS_HOST_CPU", cpu}});
        uint64_t bytes = 8;
        while (cluster.AllReduce(2, bytes).protocol == NcclProtocol::Ll)
        {
            bytes *= 2;
        }
        return bytes;
    };
    EXPECT_LT(firstWithoutLl("AMD"), firstWithoutLl("Intel"));
    EXPECT_EQ(firstWithoutLl("Arm"), firstWithoutLl("Intel"));
    EXPECT_THROW(OptionsOf({{"AS_HOST_CPU", "abacus"}}), ns3::InputError);
}

TEST(NcclCostModel, Ll128IsOffBehindAGraceCpuBefore227)
{
    Cluster cluster("GH200", 4, 25);
    const auto usesLl128 = [&](uint32_t servers) {
        for (uint64_t bytes = 8; bytes <= 1ULL << 30; bytes *= 2)
        {
            if (cluster.AllReduce(servers, bytes).protocol == NcclProtocol::Ll128)
            {
                return true;
            }
        }
        return false;
    };
    EXPECT_TRUE(usesLl128(4));
    cluster.options = OptionsOf({{"NCCL_TUNING", "2.23"}});
    EXPECT_FALSE(usesLl128(4));
    EXPECT_TRUE(usesLl128(1)) << "within a server";
}

// Four NICs of 12.5 GB/s for 8 GPUs: a channel of the search for each, doubled; each enters a
// server at the first GPU of its NIC.
TEST(NcclCostModel, GpusThatShareNicsHaveAChannelForEachNic)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile("A100");
    machine.nicGBps = 12.5;
    machine.gpusPerNic = 2;
    CommGroup group;
    group.ranks.resize(16);
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    const GroupShape shape(group, machine);
    const NcclOptions options;
    const NcclCostModel model(machine, options);
    EXPECT_EQ(shape.GetGpusPerNic(), 2U);
    EXPECT_EQ(model.GetSearch().GetChannels(NcclAlgorithm::Ring, shape), 8U);
    std::set<uint32_t> nics;
    for (uint32_t channel = 0; channel < 4; ++channel)
    {
        nics.insert(RingOrder(shape, channel, true).front() / machine.gpusPerNic);
    }
    EXPECT_EQ(nics.size(), 4U);

    group.ranks = {0, 2, 8, 10}; // GPUs of a group that have NICs of their own
    EXPECT_EQ(GroupShape(group, machine).GetGpusPerNic(), 1U);
}

// 4 GH200 with NVLinks of 360 GB/s and a NIC of 25 GB/s each have 8 channels between servers: 45
// GB/s for each, more than a block moves.
TEST(NcclCostModel, ABlockHasALimitOfItsOwn)
{
    const auto speed = [](const char* gpu, uint32_t gpus, double nic) {
        Cluster cluster(gpu, gpus, nic);
        cluster.SetNvLinkGBps(900);
        return cluster.Model()
            .Evaluate(NcclAlgorithm::Ring,
                      NcclProtocol::Simple,
                      CollectiveOp::AllGather,
                      cluster.Servers(4),
                      1 << 30)
            .speeds.channelGBps;
    };
    EXPECT_EQ(speed("GH200", 4, 25), 720.0 / 32);
    EXPECT_EQ(speed("B200", 8, 50), 720.0 / 32);
    EXPECT_EQ(speed("A100", 8, 25), 240.0 / 16);
    EXPECT_EQ(speed("A100", 4, 12.5), 40.0 / 2);
}

// Between servers a channel of a tree is a chain of 8 GPUs: 7 of their 8 NVLinks carry it, so what
// is up and what is down have 8/7 of what a ring would have. GPUs without an NVSwitch have links
// for each neighbour, which no other can use.
TEST(NcclCostModel, TreesShareTheNvLinksThatTheirChainsLeaveFree)
{
    const auto speed = [](const char* gpu, uint32_t gpus, double nic, NcclProtocol protocol) {
        Cluster cluster(gpu, gpus, nic);
        cluster.SetNvLinkGBps(900);
        return cluster.Model()
            .Evaluate(NcclAlgorithm::Tree,
                      protocol,
                      CollectiveOp::AllReduce,
                      cluster.Servers(2),
                      1 << 30)
            .speeds.channelGBps;
    };
    EXPECT_NEAR(speed("A100", 8, 25, NcclProtocol::Simple), 240.0 / 16 * 8 / 7 / 2, 1e-9);
    EXPECT_NEAR(speed("A100", 8, 25, NcclProtocol::Ll128), 20.0 / 2 / 2 * 128 / 120, 1e-9)
        << "a block's limit, in half of its time";
    Cluster meshed("GH200", 4, 25);
    meshed.SetNvLinkGBps(240);
    EXPECT_NEAR(meshed.Model()
                    .Evaluate(NcclAlgorithm::Tree,
                              NcclProtocol::Simple,
                              CollectiveOp::AllReduce,
                              meshed.Servers(2),
                              1 << 30)
                    .speeds.channelGBps,
                720.0 / 32 / 2,
                1e-9);
}

// NCCL src/device/all_reduce.h, runTreeSplit: of 640 threads of Simple 384 work upwards and 256
// downwards, less a warp each; a ring has 512. Of LL's 512 and LL128's 640, 7/10 in whole warps
// work upwards. On Ampere, LL and LL128 do not follow the number of their threads.
TEST(NcclCostModel, TreesDivideABlocksThreads)
{
    const auto plan = [](const char* gpu, NcclProtocol protocol) {
        Cluster cluster(gpu, 8, 50);
        cluster.SetNvLinkGBps(900);
        return cluster.Model().Evaluate(NcclAlgorithm::Tree,
                                        protocol,
                                        CollectiveOp::AllReduce,
                                        cluster.Servers(2),
                                        1 << 20);
    };
    EXPECT_NEAR(plan("H100", NcclProtocol::Simple).Of<TreePlan>().threads.upGBps,
                720.0 / 32 * 352 / 512,
                1e-9);
    EXPECT_NEAR(plan("H100", NcclProtocol::Simple).Of<TreePlan>().threads.downGBps,
                720.0 / 32 * 224 / 512,
                1e-9);
    EXPECT_NEAR(plan("A100", NcclProtocol::Simple).Of<TreePlan>().threads.downGBps,
                20.0 * 224 / 512,
                1e-9);
    const NcclPlan ll128 = plan("B200", NcclProtocol::Ll128);
    EXPECT_NEAR(ll128.Of<TreePlan>().threads.upGBps, 40.0 / 2 * 128 / 120 * 448 / 640, 1e-9);
    EXPECT_NEAR(ll128.Of<TreePlan>().threads.downGBps, 40.0 / 2 * 128 / 120 * 192 / 640, 1e-9);
    const NcclPlan ll = plan("B200", NcclProtocol::Ll);
    EXPECT_NEAR(ll.Of<TreePlan>().threads.upGBps, 282.0 / 32 * 2 * 352 / 512, 1e-9);
    EXPECT_NEAR(ll.Of<TreePlan>().threads.downGBps, 282.0 / 32 * 2 * 160 / 512, 1e-9);
    EXPECT_EQ(plan("A100", NcclProtocol::Ll).Of<TreePlan>().threads.upGBps, 0);
    EXPECT_EQ(plan("A100", NcclProtocol::Ll128).Of<TreePlan>().threads.downGBps, 0);
}

TEST(NetworkKind, WithTheProtocolSendrecvAMessageKeepsItsSlotForFourTrips)
{
    const auto trips = [](const char* kind) {
        Cluster cluster("A100", 8, 12.5);
        cluster.options = OptionsOf({{"AS_NETWORK_KIND", kind}});
        return cluster.AllReduce(2, 1 << 20).speeds.net.slotTrips;
    };
    EXPECT_EQ(trips("EFA-p4d"), 4U);
    EXPECT_EQ(trips("RoCE"), 1U);
}

// AWS tells NCCL 75 us for p5, where a step of few bytes with LL128 takes 8.5 + 9.9: four of them.
// On later types it is 35 us.
TEST(NetworkKind, WordsKeepTheirSlotsForTheLatencyThatNcclIsTold)
{
    const auto trips = [](const char* kind, NcclProtocol protocol) {
        Cluster cluster("H100", 8, 50);
        cluster.options = OptionsOf({{"AS_NETWORK_KIND", kind}});
        return cluster.Model().StartPlan(NcclAlgorithm::Ring, protocol).speeds.net.slotTrips;
    };
    EXPECT_EQ(trips("EFA-p5", NcclProtocol::Ll128), 4U);
    EXPECT_EQ(trips("EFA-p5", NcclProtocol::Simple), 1U);
    EXPECT_EQ(trips("EFA-p6-b200", NcclProtocol::Ll128), 2U);
    EXPECT_EQ(trips("InfiniBand", NcclProtocol::Ll128), 1U);
}

TEST(NetworkKind, ItsWordOnNvlsCountsHoweverItIsChosen)
{
    // Google's settings of a3-megagpu turn NVLS off, unless the user turns it on.
    NcclOptions options;
    EXPECT_TRUE(options.nvlsEnable);
    options.SetNetworkKind("TCPXO", "command line", "--network-kind");
    EXPECT_FALSE(options.nvlsEnable);
    EXPECT_FALSE(options.nvlsTreeEnable);
    options.SetNetworkKind("RoCE", "command line", "--network-kind");
    EXPECT_TRUE(options.nvlsEnable);
    EXPECT_TRUE(options.nvlsTreeEnable);

    NcclOptions asked = OptionsOf({{"NCCL_NVLS_ENABLE", "2"}});
    asked.SetNetworkKind("TCPXO", "command line", "--network-kind");
    EXPECT_TRUE(asked.nvlsEnable);
    EXPECT_FALSE(OptionsOf({{"AS_NETWORK_KIND", "TCPXO"}}).nvlsEnable);
}

// NCCL's latency of NVLS, 25 us, and on Blackwell the 10 that its tables show besides, are what few
// data take: one iteration that scatters and one that gathers, both of an idle GPU, and 4 us to
// announce a chunk.
TEST(NcclCostModel, StagesOfNvlsMakeUpNcclsLatency)
{
    const auto least = [](const char* gpu, uint32_t servers) {
        const Cluster cluster(gpu, 8, 50);
        const NcclPlan plan =
            cluster.Model().Evaluate(servers > 1 ? NcclAlgorithm::NvlsTree : NcclAlgorithm::Nvls,
                                     NcclProtocol::Simple,
                                     CollectiveOp::AllReduce,
                                     cluster.Servers(servers),
                                     1 << 30);
        EXPECT_EQ(plan.speeds.intraLatency, 4 * PS_PER_US);
        EXPECT_GT(plan.Of<NvlsPlan>().speeds.hunkUs, plan.Of<NvlsPlan>().speeds.aloneUs)
            << "others slow it down";
        return static_cast<double>(plan.speeds.baseLatency + plan.speeds.intraLatency) / PS_PER_US +
               2 * plan.Of<NvlsPlan>().speeds.aloneUs;
    };
    EXPECT_NEAR(least("H100", 1), 25, 1e-6);
    EXPECT_NEAR(least("H100", 2), 25, 1e-6);
    EXPECT_NEAR(least("B200", 1), 35, 1e-6);
}

// A GPU's links carry all its data once, and a head's share of 1/32 once more, however many GPUs
// the domain has: nothing else limits a rack of 72.
TEST(NcclCostModel, LinksAreTheOnlyRateOfNvlsInADomainOf72)
{
    for (const uint32_t gpus : {32U, 36U, 72U})
    {
        Cluster cluster("GB200", gpus, 50);
        cluster.SetNvLinkGBps(900);
        const NcclPlan plan = cluster.Model().Evaluate(NcclAlgorithm::Nvls,
                                                       NcclProtocol::Simple,
                                                       CollectiveOp::AllReduce,
                                                       cluster.Servers(1),
                                                       1 << 30);
        EXPECT_EQ(plan.channels, 24U);
        EXPECT_NEAR(plan.speeds.channelGBps * 24, 720 * 0.92 / (1 + 1.0 / 32), 1e-6)
            << gpus << " GPUs";
    }
}

// Reductions and multicasts of NVLS-Tree use NVLinks at 0.92 of the 360 GB/s that NCCL counts for
// 450.
TEST(NcclCostModel, BytesOfNvlsTreeCountForMoreOnNvLinks)
{
    const auto inflation = [](const NcclAlgorithm& algorithm, uint32_t servers) {
        Cluster cluster("H100", 8, 50);
        return cluster.Model()
            .Evaluate(algorithm,
                      NcclProtocol::Simple,
                      CollectiveOp::AllReduce,
                      cluster.Servers(servers),
                      1 << 30)
            .Of<NvlsPlan>()
            .speeds.inflation;
    };
    EXPECT_NEAR(inflation(NcclAlgorithm::NvlsTree, 2), 450 / (0.92 * 360), 1e-9);
    EXPECT_EQ(inflation(NcclAlgorithm::Nvls, 1), 1) << "there lanes have all that links may carry";
}

// NCCL src/graph/connect.cc, ncclTopoPostset: rings of 2.20 to 2.27 have as many channels as NVLS,
// on Blackwell 32 between nodes; since 2.28 those that the search finds, twice the NICs.
TEST(NcclCostModel, RingsHadTheChannelsOfNvlsBefore228)
{
    const auto channels = [](const char* gpu,
                             uint32_t gpus,
                             uint32_t servers,
                             std::map<std::string, std::string> environment) {
        Cluster cluster(gpu, gpus, 50);
        cluster.SetNvLinkGBps(900);
        cluster.options = OptionsOf(environment);
        return cluster.Model().GetSearch().GetChannels(NcclAlgorithm::Ring,
                                                       cluster.Servers(servers));
    };
    EXPECT_EQ(channels("B200", 8, 2, {{"NCCL_TUNING", "2.23"}}), 32U);
    EXPECT_EQ(channels("B200", 8, 2, {{"NCCL_TUNING", "2.28"}}), 16U);
    EXPECT_EQ(channels("B200", 8, 2, {{"NCCL_TUNING", "2.30"}}), 16U);
    EXPECT_EQ(channels("B200", 8, 2, {{"NCCL_TUNING", "2.23"}, {"NCCL_NVLS_ENABLE", "0"}}), 16U);
    EXPECT_EQ(channels("B200", 8, 1, {{"NCCL_TUNING", "2.23"}}), 32U) << "more than the 24 of NVLS";
    EXPECT_EQ(channels("H100", 8, 2, {{"NCCL_TUNING", "2.20"}}), 16U);
    EXPECT_EQ(channels("H100", 3, 2, {{"NCCL_TUNING", "2.20"}}), 16U);
    EXPECT_EQ(channels("H100", 3, 2, {{"NCCL_TUNING", "2.18"}}), 12U) << "rings alone";
    EXPECT_EQ(channels("H100", 2, 2, {{"NCCL_TUNING", "2.20"}}), 8U) << "NVLS needs three GPUs";
}

// Figures of src/graph/tuning.cc and search.cc that differ from 2.27 to 2.30, seen in what NCCL
// expects of 2 GiB more than of 1 GiB on 2 or 4 servers of 8 B200.
TEST(NcclCostModel, BlackwellsFiguresAreThoseOfTheRelease)
{
    struct Case
    {
        const char* release;
        double ringLl128;  ///< on two nodes, of 8 channels of 48
        double nvlsTree;   ///< of each of 8 heads, four nodes of NICs of 96
        double nvlsTreeUs; ///< step between nodes
    };

    const Case cases[] = {
        {"2.23", 0.92 * 384, 0, 14},
        {"2.28", 8 * 34.6, 43.8, 20.9},
        {"2.29.2", 8 * 34.6, 43.8, 20.9},
        {"2.29", 8 * 40.0, 43.8, 20.9},
        {"2.30", 8 * 40.0, 80, 20.9},
    };
    const auto expected = [](const Cluster& cluster,
                             const NcclAlgorithm& algorithm,
                             NcclProtocol protocol,
                             uint32_t servers) {
        const auto predicted = [&](uint64_t bytes) {
            return cluster.Model().Evaluate(algorithm,
                                            protocol,
                                            CollectiveOp::AllReduce,
                                            cluster.Servers(servers),
                                            bytes);
        };
        const double ranks = cluster.Servers(servers).GetRanks();
        const double ps = predicted(2ULL << 30).predicted - predicted(1ULL << 30).predicted;
        return (1ULL << 30) / ps * 1e3 * 2 * (ranks - 1) / ranks;
    };
    for (const Case& item : cases)
    {
        Cluster ndr("B200", 8, 50);
        ndr.SetNvLinkGBps(900);
        ndr.options = OptionsOf({{"NCCL_TUNING", item.release}});
        EXPECT_NEAR(expected(ndr, NcclAlgorithm::Ring, NcclProtocol::Ll128, 2),
                    item.ringLl128,
                    1e-3 * item.ringLl128)
            << item.release;
        Cluster xdr("B300", 8, 100);
        xdr.SetNvLinkGBps(900);
        xdr.options = ndr.options;
        if (item.nvlsTree > 0)
        {
            EXPECT_NEAR(expected(xdr, NcclAlgorithm::NvlsTree, NcclProtocol::Simple, 4),
                        8 * item.nvlsTree,
                        1e-3 * 8 * item.nvlsTree)
                << item.release;
        }
        const auto tree = ndr.Model().Evaluate(NcclAlgorithm::NvlsTree,
                                               NcclProtocol::Simple,
                                               CollectiveOp::AllReduce,
                                               ndr.Servers(2),
                                               8);
        EXPECT_EQ(tree.speeds.net.latency, item.nvlsTreeUs * PS_PER_US) << item.release;
    }
}

// src/graph/tuning.cc, perChMaxRingLL128Bws: LL128 of 16 channels in one server of B200 counts for
// 0.92 x 720 = 662 GB/s until 2.28, 16 x 34.5 = 552 in 2.29.2 and 2.29.3, 16 x 40 = 640 from 2.29.7
// on. Simple has 720 and 4.9 us more of latency: with 16 MiB it takes 52.6 us, LL128 49.5, 53.9
// and 50.2.
TEST(NcclCostModel, SimpleReplacesLl128EarlierOnBlackwellWith2292)
{
    const auto choice = [](const char* release) {
        Cluster cluster("B200", 8, 50);
        cluster.SetNvLinkGBps(900);
        cluster.options = OptionsOf({{"NCCL_TUNING", release}, {"NCCL_NVLS_ENABLE", "0"}});
        const NcclPlan plan =
            NcclChooser(cluster.Model())
                .Choose(CollectiveOp::AllGather, cluster.Servers(1), GroupKind::Dp, 16 << 20)
                .value();
        return std::string(ToString(plan.protocol));
    };
    EXPECT_EQ(choice("2.28"), "LL128");
    EXPECT_EQ(choice("2.29.2"), "Simple");
    EXPECT_EQ(choice("2.29"), "LL128");
    EXPECT_EQ(choice("2.30"), "LL128");
}

TEST(NcclCostModel, NvlsTreeOfBlackwellIsCorrectedBySizeSince229)
{
    // NCCL expects a tree's half of the bandwidth at 1 MiB, where 2.28 expects all of it.
    const auto atOneMiB = [](const char* release) {
        Cluster cluster("B200", 8, 50);
        cluster.SetNvLinkGBps(900);
        cluster.options = OptionsOf({{"NCCL_TUNING", release}});
        const NcclPlan plan = cluster.Model().Evaluate(NcclAlgorithm::NvlsTree,
                                                       NcclProtocol::Simple,
                                                       CollectiveOp::AllReduce,
                                                       cluster.Servers(2),
                                                       1 << 20);
        return static_cast<double>(plan.predicted - plan.latency);
    };
    EXPECT_NEAR(atOneMiB("2.29") / atOneMiB("2.28"), 2, 1e-6);
    EXPECT_NEAR(atOneMiB("2.30") / atOneMiB("2.28"), 2, 1e-6);
}

TEST(NetworkKind, MessagesAboveALimitTakeLongerToStart)
{
    Cluster cluster("GH200", 4, 25);
    cluster.options = OptionsOf({{"AS_NETWORK_KIND", "Slingshot"}});
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 4096;
    const NcclPlan plan = cluster.Model().Evaluate(NcclAlgorithm::Tree,
                                                   NcclProtocol::Ll,
                                                   request.op,
                                                   cluster.Servers(4),
                                                   request.bytes);
    const TimedLanes lanes(
        plan.algorithm->GetMethod().graph(cluster.options, request, cluster.Servers(4), plan));
    const FlowGraph& graph = *lanes.Get().graph;
    LaneTimes between;
    for (uint32_t rank = 0; rank < 16; ++rank)
    {
        const Lane lane = graph.GetOutbound(rank, 0);
        between = lane.messages && lane.peer / 4 != rank / 4 ? lanes.Out(rank, 0) : between;
    }
    const auto more = [&](uint64_t bytes) {
        return CopyTimeOf(between, bytes, 2).latency - between.latency;
    };
    const auto busy = [&](uint64_t bytes) { return CopyTimeOf(between, bytes, 2).busy; };
    // Twice the data with LL: 192 bytes fit in a command, the CPU copies more than 4096, and what
    // is above 16384 + 2049 is announced.
    EXPECT_EQ(more(96), 0);
    EXPECT_EQ(more(97), 1.3 * PS_PER_US);
    EXPECT_EQ(more(2048), 1.3 * PS_PER_US);
    EXPECT_EQ(busy(2048), 0);
    EXPECT_EQ(more(2049), 11.5 * PS_PER_US);
    EXPECT_EQ(busy(2049), 11.5 * PS_PER_US);
    EXPECT_EQ(more((16384 + 2049) / 2), 11.5 * PS_PER_US);
    EXPECT_EQ(more((16384 + 2049) / 2 + 1), 3.7 * PS_PER_US);
    EXPECT_EQ(busy((16384 + 2049) / 2 + 1), 3.7 * PS_PER_US);
}

TEST(NcclCostModel, RingsOfGh200ThatMayNotCrossNicsLeaveByLinksBetweenCpus)
{
    // Four GPUs, each with its own CPU: 4 x 3 ways from one CPU to another's NIC, each of 6 GB/s,
    // and each channel becomes two. Else a channel of 24 GB/s for each NIC.
    Cluster cluster("GH200", 4, 25);
    const auto channels = [&](std::map<std::string, std::string> environment) {
        environment.emplace("NCCL_CROSS_NIC", "0");
        environment.emplace("NCCL_TUNING", "2.23");
        cluster.options = OptionsOf(environment);
        return cluster.Model().GetSearch().GetChannels(NcclAlgorithm::Ring, cluster.Servers(4));
    };
    EXPECT_EQ(channels({}), 2 * 4 * 3);
    EXPECT_EQ(channels({{"NCCL_CROSS_NIC", "1"}}), 2 * 4);
    EXPECT_EQ(channels({{"NCCL_TUNING", "2.28"}}), 2 * 4) << "a GPU behind a CPU may relay";
    EXPECT_EQ(channels({{"NCCL_TUNING", "2.30"}}), 2 * 4);
    EXPECT_EQ(cluster.Model().GetSearch().GetChannels(NcclAlgorithm::Ring, cluster.Servers(1)), 24);

    // So rings begin where nccl-tests of 4 to 64 such servers show it: at 16 MiB on 4 and 8, at 64
    // MiB on 16, and at 512 MiB on 64.
    channels({{"AS_NETWORK_KIND", "Slingshot"}, {"NCCL_NVLS_ENABLE", "0"}});
    for (const auto& [servers, first] :
         std::map<uint32_t, uint64_t>{{4, 16}, {8, 16}, {16, 64}, {64, 512}})
    {
        EXPECT_EQ(cluster.Choice(servers, (first << 20) / 2), "Tree Simple") << servers;
        EXPECT_EQ(cluster.Choice(servers, first << 20), "Ring Simple") << servers;
    }
}

TEST(NcclOptions, ReleaseOfTheTablesCanBeChosen)
{
    EXPECT_EQ(OptionsOf({}).release, NcclRelease::V2_30);
    EXPECT_EQ(OptionsOf({{"NCCL_TUNING", "2.20"}}).release, NcclRelease::V2_20);
    EXPECT_EQ(OptionsOf({{"NCCL_TUNING", "2.23"}}).release, NcclRelease::V2_23);
    EXPECT_EQ(OptionsOf({{"NCCL_TUNING", "2.18"}}).release, NcclRelease::V2_18);
    EXPECT_EQ(OptionsOf({{"NCCL_TUNING", "2.28"}}).release, NcclRelease::V2_28);
    EXPECT_EQ(OptionsOf({{"NCCL_TUNING", "2.29"}}).release, NcclRelease::V2_29);
    EXPECT_THROW(OptionsOf({{"NCCL_TUNING", "2.19"}}), ns3::InputError);
}

TEST(NcclOptions, AlgorithmsAndProtocolsCanBeOfSingleCollectives)
{
    const auto options =
        OptionsOf({{"NCCL_ALGO", "ring;allreduce:tree,NVLSTree;AllGather:^ring,nvls"},
                   {"NCCL_PROTO", "allreduce:^LL"}});
    using Op = CollectiveOp;
    const auto allows = [&](Op op, const NcclAlgorithm& algorithm) {
        return options.algorithms.Allow(op, &algorithm);
    };
    EXPECT_TRUE(allows(Op::AllReduce, NcclAlgorithm::Tree));
    EXPECT_TRUE(allows(Op::AllReduce, NcclAlgorithm::NvlsTree));
    EXPECT_FALSE(allows(Op::AllReduce, NcclAlgorithm::Ring));
    EXPECT_TRUE(allows(Op::AllGather, NcclAlgorithm::Pat));
    EXPECT_FALSE(allows(Op::AllGather, NcclAlgorithm::Ring));
    EXPECT_TRUE(allows(Op::ReduceScatter, NcclAlgorithm::Ring));
    EXPECT_FALSE(allows(Op::ReduceScatter, NcclAlgorithm::Pat));
    EXPECT_FALSE(options.protocols.Allow(Op::AllReduce, NcclProtocol::Ll));
    EXPECT_TRUE(options.protocols.Allow(Op::AllReduce, NcclProtocol::Simple));
    EXPECT_TRUE(options.protocols.Allow(Op::AllGather, NcclProtocol::Ll));
    for (const char* wrong : {"allreduces:tree", "allreduce:trees", "allreduce:", ":ring", "^"})
    {
        EXPECT_THROW(OptionsOf({{"NCCL_ALGO", wrong}}), ns3::InputError) << wrong;
    }
}

TEST(NcclOptions, RefuseIllegalValuesOfEveryVariable)
{
    const struct
    {
        const char* name;
        std::vector<const char*> illegal;
        const char* expected;
    } cases[] = {
        {"AS_SEND_LAT", {"-1", "1000001", "6us"}, "microseconds from 0 to 1e+06"},
        {"AS_NVLS_ENABLE", {"2", "yes"}, "0 or 1"},
        {"AS_NVLSTREE_ENABLE", {"2"}, "0 or 1"},
        {"AS_PXN_ENABLE", {"-1"}, "0 or 1"},
        {"AS_HOST_CPU", {"amd"}, "Intel, AMD or Arm; the nearest is AMD"},
        {"NCCL_TUNING", {"2.19"}, "2.18, 2.20, 2.23, 2.28, 2.29.2, 2.29 or 2.30"},
        {"NCCL_SELECT", {"Rules"}, "model or rules; the nearest is rules"},
        {"OFI_NCCL_TUNER_TYPE", {"Tree"}, "Internal or Region"},
        {"NCCL_NVLS_ENABLE", {"3"}, "a whole number from 0 to 2"},
        {"NCCL_COLLNET_ENABLE", {"2"}, "0 or 1"},
        {"NCCL_PXN_DISABLE", {"2"}, "0 or 1"},
        {"NCCL_CROSS_NIC", {"3"}, "2, 1 or 0"},
        {"AS_NV_CHANNELS", {"0", "129"}, "channels from 1 to 128"},
        {"AS_RING_CHANNELS", {"0", "129"}, "channels from 1 to 128"},
        {"AS_RING_STEPS_PER_MESSAGE", {"0", "4097"}, "steps from 1 to 4096"},
        {"NCCL_MIN_NCHANNELS", {"0", "129"}, "channels from 1 to 128"},
        {"NCCL_MAX_NCHANNELS", {"0", "129"}, "channels from 1 to 128"},
        {"NCCL_NCHANNELS_PER_NET_PEER", {"0", "129"}, "channels from 1 to 128"},
        {"NCCL_BUFFSIZE", {"65535", "1073741825"}, "bytes from 65536 to 1073741824"},
        {"NCCL_P2P_NET_CHUNKSIZE", {"1023", "1073741825"}, "bytes from 1024 to 1073741824"},
        {"NCCL_P2P_NVL_CHUNKSIZE", {"1023", "1073741825"}, "bytes from 1024 to 1073741824"},
        {"NCCL_P2P_LEVEL", {"4", "7"}, "LOC, NVL, PIX, PXB, PHB or SYS"},
        {"NCCL_P2P_DISABLE", {"2", "yes"}, "0 or 1"},
        {"NCCL_P2P_PCI_CHUNKSIZE", {"1023", "1073741825"}, "bytes from 1024 to 1073741824"},
        {"NCCL_NVLS_CHUNKSIZE", {"16383", "1073741825"}, "bytes from 16384 to 1073741824"},
        {"NCCL_NVLSTREE_MAX_CHUNKSIZE", {"16383", "0"}, "bytes from 16384 to 1073741824"},
        {"NCCL_PROTO",
         {"LL256", "allreduces:LL", "LL;;", "^"},
         "such lists after AllReduce:, AllGather:, ReduceScatter:, Broadcast:, Reduce:, with ';' "
         "between, or for all collectives a comma list of LL, LL128, Simple"},
    };

    for (const auto& [name, illegal, expected] : cases)
    {
        for (const char* text : illegal)
        {
            try
            {
                OptionsOf({{name, text}});
                ADD_FAILURE() << name << "=" << text;
            }
            catch (const ns3::InputError& error)
            {
                EXPECT_EQ(error.what(),
                          std::string("environment: ") + name + " is '" + text + "'; expected " +
                              expected);
            }
        }
        EXPECT_NO_THROW(OptionsOf({{name, ""}})) << name << ": empty is as if it were not set";
    }
}

// NCCL src/graph/tuning.cc: "Never disable ring for non-allreduce operations."
TEST(NcclCostModel, TreeAloneLeavesRingsToOtherCollectives)
{
    Cluster cluster("H100", 8, 50);
    const auto choose = [&](CollectiveOp op) {
        const auto plan =
            NcclChooser(cluster.Model()).Choose(op, cluster.Servers(2), GroupKind::Dp, 1 << 20);
        return plan ? plan->algorithm : nullptr;
    };
    cluster.options.algorithms = {&NcclAlgorithm::Tree};
    EXPECT_EQ(choose(CollectiveOp::AllReduce), &NcclAlgorithm::Tree);
    for (const CollectiveOp op : {CollectiveOp::AllGather,
                                  CollectiveOp::ReduceScatter,
                                  CollectiveOp::Broadcast,
                                  CollectiveOp::Reduce})
    {
        EXPECT_EQ(choose(op), &NcclAlgorithm::Ring) << ToString(op);
    }
    cluster.options = OptionsOf({{"NCCL_ALGO", "allgather:tree"}});
    EXPECT_EQ(choose(CollectiveOp::AllGather), nullptr) << "asked for by name";
    EXPECT_EQ(choose(CollectiveOp::ReduceScatter), &NcclAlgorithm::Ring);
}

// NCCL src/graph/paths.cc, ncclTopoComputeP2pChannels: the next power of two.
TEST(NcclCostModel, PairsHaveAPowerOfTwoOfChannels)
{
    Cluster cluster("H100", 8, 50);
    for (const auto& [rings, pairs] :
         std::map<uint32_t, uint32_t>{{1, 1}, {3, 4}, {12, 16}, {16, 16}, {17, 32}, {24, 32}})
    {
        cluster.options.nvChannels = rings;
        EXPECT_EQ(cluster.Model().GetSearch().GetPairChannels(cluster.Servers(1)), pairs) << rings;
    }
}

// NCCL src/graph/paths.cc, ncclTopoGetNchannels: up to 2.28 two channels for a peer across the
// network, one if eight operations and more would share a channel; from 2.29 on one for each 14
// GB/s of the NICs, as long as eight peers at a time have channels of their own.
TEST(NcclCostModel, APairsChannelsAreAsManyAsTheNetworkNeeds)
{
    const auto most = [](uint32_t servers, double nicGBps, const char* release) {
        Cluster cluster("H100", 8, nicGBps);
        cluster.options = OptionsOf({{"NCCL_TUNING", release}});
        cluster.options.nvChannels = 16;
        cluster.options.ringChannels = 16;
        return cluster.Model().GetSearch().GetChannelsPerPair(cluster.Servers(servers));
    };
    EXPECT_EQ(most(1, 50, "2.28"), 16U) << "NVLinks alone";
    EXPECT_EQ(most(2, 50, "2.28"), 2U);
    EXPECT_EQ(most(4, 50, "2.28"), 2U);
    EXPECT_EQ(most(5, 50, "2.28"), 1U);
    EXPECT_EQ(most(2, 25, "2.30"), 2U);
    EXPECT_EQ(most(2, 50, "2.30"), 4U);
    EXPECT_EQ(most(2, 100, "2.30"), 8U);
    EXPECT_EQ(most(4, 100, "2.30"), 4U);
    Cluster cluster("H100", 8, 50);
    cluster.options = OptionsOf({{"NCCL_NCHANNELS_PER_NET_PEER", "3"}});
    EXPECT_EQ(cluster.Model().GetSearch().GetChannelsPerPair(cluster.Servers(2)), 4U);
}

// NCCL's search takes the fastest channels that fill the NVLinks (src/graph/search.cc): 12 of 20
// GB/s on A100, of 30 on Hopper (H20 has all 18 links, H800 8 of them with channels of 20), 16 of
// 45 on Blackwell; each becomes two.
TEST(NcclCostModel, ChannelsOfAServerFillItsNvLinks)
{
    for (const auto& [gpu, channels] : std::map<std::string, uint32_t>{{"A100", 24},
                                                                       {"A800", 16},
                                                                       {"H100", 24},
                                                                       {"H200", 24},
                                                                       {"H20", 24},
                                                                       {"H800", 16},
                                                                       {"B200", 32},
                                                                       {"B300", 32}})
    {
        const Cluster cluster(gpu, 8, 50);
        Cluster wide = cluster;
        wide.SetNvLinkGBps(900);
        EXPECT_EQ(wide.Model().GetSearch().GetChannels(NcclAlgorithm::Ring, wide.Servers(1)),
                  channels)
            << gpu;
    }
}

TEST(NcclCostModel, ANicFasterThanTheFastestChannelHasSeveral)
{
    // Hopper's channels between nodes carry 48 GB/s at most (src/graph/search.cc).
    const auto gigabytesPerSecond = [](uint32_t gpus, double nicGBps) {
        const Cluster cluster("H100", gpus, nicGBps);
        const auto predicted = [&](uint64_t bytes) {
            return cluster.Model()
                .Evaluate(NcclAlgorithm::Ring,
                          NcclProtocol::Simple,
                          CollectiveOp::AllGather,
                          cluster.Servers(4),
                          bytes)
                .predicted;
        };
        const uint32_t ranks = 4 * gpus;
        const double seconds = (predicted(2ULL << 30) - predicted(1ULL << 30)) / 1e12;
        return (1ULL << 30) * (ranks - 1.0) / ranks / seconds / 1e9;
    };
    EXPECT_NEAR(gigabytesPerSecond(1, 50), 48, 0.1);
    EXPECT_NEAR(gigabytesPerSecond(1, 95), 48, 0.1);
    EXPECT_NEAR(gigabytesPerSecond(1, 100), 2 * 48, 0.1);
    EXPECT_NEAR(gigabytesPerSecond(1, 200), 4 * 48, 0.1);
    EXPECT_NEAR(gigabytesPerSecond(8, 50), 8 * 45, 0.1) << "of 360 that the NVLinks carry";
    EXPECT_NEAR(gigabytesPerSecond(8, 100), 8 * 45, 0.1) << "not 16 channels of 22";
    const auto channels = [](double nicGBps) {
        const Cluster cluster("H100", 1, nicGBps);
        return cluster.Model().GetSearch().GetChannels(NcclAlgorithm::Ring, cluster.Servers(4));
    };
    EXPECT_EQ(channels(50), 4U);
    EXPECT_EQ(channels(100), 8U);
}

} // namespace AstraSim
