/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "../support/laned-server.h"
#include "astra-frontend/model/network/machine-of-topology.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-chooser.h"
#include "collectives/model/rccl/rccl-cost-model.h"
#include "symbolic-graph.h"

#include "ns3/collective-algorithm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace AstraSim
{

namespace
{

constexpr uint64_t KIB = 1024;
constexpr uint64_t MIB = KIB * KIB;

/// @return a file of servers of @p gpus that are linked to each other, and on a switch
std::string
MeshFile(uint32_t servers, uint32_t gpus, const std::string& type, const std::string& rate)
{
    const uint32_t hosts = servers * gpus;
    std::string links;
    uint32_t count = 0;
    for (uint32_t host = 0; host < hosts; ++host)
    {
        for (uint32_t peer = host + 1; peer < (host / gpus + 1) * gpus; ++peer, ++count)
        {
            links += fmt::format("{} {} {} 25ns 0\n", host, peer, rate);
        }
        links += fmt::format("{} {} 400Gbps 500ns 0\n", host, hosts);
        ++count;
    }
    return fmt::format("{} {} 0 1 {} {}\n{}\n", hosts + 1, gpus, count, type, hosts) + links;
}

/// Servers of 8 GPUs of AMD's, and what RCCL chooses there.
class Rccl
{
  public:
    Rccl(const std::string& type, const std::string& rate, NcclRelease release)
        : Rccl(MeshFile(4, 8, type, rate), release)
    {
    }

    Rccl(const std::string& file, NcclRelease release)
        : m_machine(MachineOfTopology(ns3::ReadTopology(file, "servers")))
    {
        options.release = release;
    }

    std::string Choice(CollectiveOp op, uint32_t servers, uint64_t bytes) const
    {
        const RcclCostModel model(m_machine, options);
        const NcclPlan plan =
            *NcclChooser(model).Choose(op, Group(8 * servers), GroupKind::Dp, bytes);
        return std::string(ToString(plan.algorithm)) + " " + ToString(plan.protocol);
    }

    NcclPlan Evaluate(const NcclAlgorithm& algorithm, NcclProtocol protocol, uint64_t bytes) const
    {
        return RcclCostModel(m_machine, options)
            .Evaluate(algorithm, protocol, CollectiveOp::AllReduce, Group(8), bytes);
    }

    GroupShape Group(uint32_t ranks) const
    {
        return {FirstRanks(ranks), m_machine};
    }

    const MachineModel& GetMachine() const
    {
        return m_machine;
    }

    NcclOptions options;

  private:
    MachineModel m_machine;
};

/// @return the plan of an AllReduce between servers that takes the shortest time by estimates
NcclPlan
ShortestOf(const NcclCostModel& model, const GroupShape& shape, uint64_t bytes)
{
    NcclPlan shortest;
    shortest.predicted = std::numeric_limits<TimePs>::max();
    for (const NcclAlgorithm* algorithm : NcclAlgorithm::GetAll())
    {
        for (const NcclProtocol protocol :
             {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
        {
            if (model.IsPossible(*algorithm, protocol, CollectiveOp::AllReduce, shape))
            {
                const NcclPlan plan =
                    model.Evaluate(*algorithm, protocol, CollectiveOp::AllReduce, shape, bytes);
                shortest = plan.predicted < shortest.predicted ? plan : shortest;
            }
        }
    }
    return shortest;
}

} // namespace

TEST(MachineModel, LinksBetweenAllGpusOfAServerMakeItANode)
{
    const Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_20);
    const MachineModel& machine = mi300.GetMachine();
    EXPECT_TRUE(machine.isMesh);
    EXPECT_DOUBLE_EQ(machine.nvlinkGBps, 7 * 48);
    EXPECT_DOUBLE_EQ(machine.nicGBps, 50);
    EXPECT_EQ(machine.nicsPerGpu, 1U);
    EXPECT_EQ(mi300.Group(32).GetNodes(), 4U);
    EXPECT_TRUE(mi300.Group(8).IsMesh());
}

TEST(MachineModel, GpusThatALinkIsMissingBetweenAreNodesOfTheirOwn)
{
    std::string text = MeshFile(1, 4, "MI300X", "384Gbps");
    const std::string missing = "0 3 384Gbps 25ns 0\n";
    text.erase(text.find(missing), missing.size());
    text.replace(text.find("1 10 "), 4, "1 9");
    const auto machine = MachineOfTopology(ns3::ReadTopology(text, "no mesh"));
    EXPECT_FALSE(machine.isMesh);
    EXPECT_EQ(GroupShape(FirstRanks(4), machine).GetNodes(), 4U);
}

TEST(RcclTuning, EstimatesAreLatenciesAndPartsOfTheLinks)
{
    const Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_20);
    // 7 links of 48 GB/s; 14 steps of a ring, or 7 up and 7 down a chain.
    const double bus = 336;
    const auto ring = [&](NcclProtocol protocol) {
        return static_cast<double>(
            mi300.Evaluate(NcclAlgorithm::Ring, protocol, 64 * MIB).predicted / 1e6);
    };
    const double alg = bus * 8 / 14 * 1e3;
    EXPECT_NEAR(ring(NcclProtocol::Simple), 17 + 14 * 2.1 + 64 * MIB / alg, 0.01);
    EXPECT_NEAR(ring(NcclProtocol::Ll), 12 + 14 * 0.8 + 64 * MIB / (0.08 * alg), 0.01);
    // LL's trees are rated at 6 %, and at 1 MiB (2^14 x 64) at all of that.
    EXPECT_NEAR(mi300.Evaluate(NcclAlgorithm::Tree, NcclProtocol::Ll, MIB).predicted / 1e6,
                12 + 14 * 0.9 + MIB / (0.06 * bus / 2 * 1e3),
                0.01);
}

TEST(RcclTuning, OneServerHasAllPairsAndThenRingsAndNoTreesWithSimple)
{
    const Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_20);
    EXPECT_EQ(mi300.Choice(CollectiveOp::AllReduce, 1, 64 * KIB), "AllPairs LL");
    EXPECT_EQ(mi300.Choice(CollectiveOp::AllReduce, 1, 4 * MIB), "AllPairs Simple");
    EXPECT_EQ(mi300.Choice(CollectiveOp::AllReduce, 1, 64 * MIB), "Ring Simple");
    EXPECT_EQ(mi300.Choice(CollectiveOp::AllGather, 1, 64 * MIB), "Ring Simple");
    const Rccl mi355("MI355X", "488Gbps", NcclRelease::V2_23);
    EXPECT_EQ(mi355.Choice(CollectiveOp::AllReduce, 1, 64 * MIB), "Ring Simple");
    // The rule of gfx950: up to 1 MiB of each rank with LL.
    EXPECT_EQ(mi355.Choice(CollectiveOp::ReduceScatter, 1, 8 * MIB), "Ring LL");
    EXPECT_EQ(mi355.Choice(CollectiveOp::ReduceScatter, 1, 8 * MIB + 64), "Ring Simple");
}

TEST(RcclTuning, BetweenServersRangesOfSizesSayTheProtocol)
{
    const Rccl old("MI300X", "384Gbps", NcclRelease::V2_20);
    for (uint64_t bytes = 8; bytes <= 1024 * MIB; bytes *= 2)
    {
        EXPECT_EQ(old.Choice(CollectiveOp::AllReduce, 2, bytes).find("LL128"), std::string::npos);
    }
    const Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_23);
    const auto protocol = [&](uint32_t servers, uint64_t bytes) {
        const std::string choice = mi300.Choice(CollectiveOp::AllReduce, servers, bytes);
        return choice.substr(choice.find(' ') + 1);
    };
    EXPECT_EQ(protocol(2, MIB), "LL");
    EXPECT_EQ(protocol(2, MIB + 64), "LL128");
    EXPECT_EQ(protocol(2, 9437184), "LL128");
    EXPECT_EQ(protocol(2, 9437184 + 64), "Simple");
    // Between more than two, 3.8 times as much goes with LL128.
    EXPECT_EQ(protocol(4, 35 * MIB - MIB), "LL128");
    EXPECT_EQ(protocol(4, 35 * MIB), "Simple");
    // 96 KiB of each of 16 ranks.
    EXPECT_EQ(mi300.Choice(CollectiveOp::AllGather, 2, 16 * 96 * KIB), "Ring LL");
    EXPECT_EQ(mi300.Choice(CollectiveOp::AllGather, 2, 16 * 97 * KIB), "Ring LL128");
}

TEST(RcclTuning, DiesOfMi250xHaveFourRingsOfALaneEach)
{
    const Rccl mi250(LanedFile(4), NcclRelease::V2_20);
    EXPECT_FALSE(mi250.GetMachine().isMesh);
    EXPECT_FALSE(mi250.GetMachine().switchesJoinServers);
    EXPECT_EQ(mi250.Group(32).GetNodes(), 4U);
    const NcclPlan plan = mi250.Evaluate(NcclAlgorithm::Ring, NcclProtocol::Simple, 64 * MIB);
    EXPECT_EQ(plan.channels, 16U);
    EXPECT_DOUBLE_EQ(plan.speeds.channelGBps * plan.channels, 4 * 36);
    // RCCL counts all 7 links of 36 GB/s.
    const double alg = 7 * 36 * 8 / 14.0 * 1e3;
    EXPECT_NEAR(plan.predicted / 1e6, 17 + 14 * 3.6 + 64 * MIB / alg, 0.01);
    EXPECT_EQ(mi250.Choice(CollectiveOp::AllReduce, 1, 64 * MIB), "Ring Simple");
    for (uint64_t bytes = 8; bytes <= 1024 * MIB; bytes *= 2)
    {
        for (const uint32_t servers : {1, 2, 4})
        {
            const std::string choice = mi250.Choice(CollectiveOp::AllReduce, servers, bytes);
            EXPECT_EQ(choice.find("LL128"), std::string::npos);
            EXPECT_EQ(choice.find("AllPairs"), std::string::npos);
        }
    }
}

// Where a plug-in's cost is compared with RCCL's estimates, they decide on the protocol, too.
TEST(RcclTuning, RangesOfSizesCountWhereNoPlugInCompetes)
{
    const Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_23);
    const RcclCostModel model(mi300.GetMachine(), mi300.options);
    const GroupShape shape = mi300.Group(16);
    const auto protocol = [&](uint64_t bytes) {
        const MockNcclGroup group(mi300.GetMachine(), mi300.options);
        return group.Choose(FirstRanks(16), Request(CollectiveOp::AllReduce, bytes))
            .choice.protocol;
    };
    uint32_t differing = 0;
    for (uint64_t bytes = KIB; bytes <= 256 * MIB; bytes *= 2)
    {
        const NcclPlan expected = ShortestOf(model, shape, bytes);
        const NcclProtocol ranged = *model.FixedProtocol(CollectiveOp::AllReduce, shape, bytes);
        differing += ranged == expected.protocol ? 0 : 1;
        EXPECT_EQ(protocol(bytes), ToString(ranged)) << bytes;
        CollectiveAlgorithm::Rules rules;
        rules.can = [](const CollectiveTask&) { return true; };
        rules.cost = [](const CollectiveTask&) { return std::numeric_limits<TimePs>::max(); };
        const CollectiveAlgorithm dear("Dear", rules);
        EXPECT_EQ(protocol(bytes), ToString(expected.protocol)) << bytes;
    }
    EXPECT_GT(differing, 0U);
}

TEST(RcclTuning, AUsersProtocolWins)
{
    Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_23);
    mi300.options.protocols.SetAll({NcclProtocol::Simple});
    EXPECT_NE(mi300.Choice(CollectiveOp::AllReduce, 2, MIB).find("Simple"), std::string::npos);
}

TEST(RcclTuning, StepsOfPairsBetweenServersGrowWithTheGroup)
{
    const Rccl mi355("MI355X", "488Gbps", NcclRelease::V2_23);
    const RcclCostModel model(mi355.GetMachine(), mi355.options);
    EXPECT_EQ(model.GetTraits().PairNetChunk(8), 128 * KIB);
    EXPECT_EQ(model.GetTraits().PairNetChunk(16), 256 * KIB);
    EXPECT_EQ(model.GetTraits().PairNetChunk(32), 512 * KIB);
    const Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_23);
    const RcclCostModel older(mi300.GetMachine(), mi300.options);
    EXPECT_EQ(older.GetTraits().PairNetChunk(32), 128 * KIB);
}

TEST(NcclCostModel, AGroupOfSomeGpusOfAMeshHasTheLinksBetweenThem)
{
    const Rccl mi300("MI300X", "384Gbps", NcclRelease::V2_20);
    const RcclCostModel model(mi300.GetMachine(), mi300.options);
    for (const uint32_t ranks : {2, 3, 4, 8})
    {
        const GroupShape shape = mi300.Group(ranks);
        const NcclPlan plan = model.Evaluate(NcclAlgorithm::Ring,
                                             NcclProtocol::Simple,
                                             CollectiveOp::AllGather,
                                             shape,
                                             1024 * MIB);
        const double seconds = static_cast<double>(plan.predicted - plan.latency) / 1e12;
        EXPECT_NEAR(1024.0 * MIB * (ranks - 1) / ranks / seconds / 1e9, 48.0 * (ranks - 1), 0.01);
    }
}

} // namespace AstraSim
