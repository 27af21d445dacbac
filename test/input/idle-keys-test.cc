/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/applied-conf.h"
#include "rdma-qbb/model/input/idle-keys.h"

#include "ns3/fabric-frame-sizes.h"
#include "ns3/uinteger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ns3;
using testing::ElementsAre;

namespace
{

constexpr const char* MTU = "ns3::RdmaHw::Mtu";

AttributeSetting
MtuOf(uint64_t bytes)
{
    return {MTU, Create<UintegerValue>(bytes)};
}

/// Flags "--set KEY=value" in force while the object lives.
struct GivenKeys : AppliedConf
{
    explicit GivenKeys(const std::vector<std::string>& flags)
        : AppliedConf("")
    {
        conf.SetFromFlags(flags);
        for (const auto& [place, settings] : conf.settings)
        {
            std::for_each(settings.begin(), settings.end(), [this](const auto& each) {
                Set(each);
            });
        }
    }
};

const ConfUse FORMULAS{"with formulas", false, true};

} // namespace

TEST(IdleKeys, ADefaultIsReadByModelsAndNotByDescriptionsOrBeforeItIsSet)
{
    AppliedConf applied("");
    EXPECT_EQ(AttributeDefault<UintegerValue>(MTU), 1000u);
    EXPECT_TRUE(WasRead(MTU));
    applied.Set(MtuOf(500));
    EXPECT_FALSE(WasRead(MTU)) << "of 1000 bytes";
    EXPECT_EQ(LookAtDefault<UintegerValue>(MTU), 500u);
    EXPECT_FALSE(FabricConfValues(applied.conf).empty());
    EXPECT_FALSE(WasRead(MTU));
    FabricFrameSizes::OfDefaults();
    EXPECT_TRUE(WasRead(MTU));
}

TEST(IdleKeys, ADefaultIsReadUnderEachNameThatMeansIt)
{
    AppliedConf applied("EWMA_GAIN 0.5\n");
    EXPECT_FALSE(WasRead("ns3::RdmaCongestionOps::EwmaGain"));
    ReadDefault("ns3::RdmaDcqcn::EwmaGain"); // which RdmaDcqcnBase declares
    EXPECT_TRUE(WasRead("ns3::RdmaCongestionOps::EwmaGain"));
    EXPECT_TRUE(WasRead("ns3::RdmaDcqcnBase::EwmaGain"));
    EXPECT_FALSE(WasRead("ns3::RdmaDctcp::EwmaGain"));
}

TEST(IdleKeys, WhoeverReadsACopyHasReadTheParameter)
{
    FabricConf conf;
    const FabricConf copy = conf;
    EXPECT_EQ(copy.monEndPs.Look(), 20'000'000'000);
    EXPECT_FALSE(*conf.monEndPs.wasRead);
    EXPECT_EQ(copy.monEndPs, 20'000'000'000);
    EXPECT_TRUE(*conf.monEndPs.wasRead);
}

TEST(IdleKeys, AParameterThatNobodyReadHasNoEffect)
{
    GivenKeys given({"MON_END=90", "PACKET_PAYLOAD_SIZE=500", "MON_START=1", "RTO=50"});
    EXPECT_EQ(given.conf.monStartPs, 1'000'000);
    ReadDefault(MTU);
    EXPECT_THAT(DescribeIdle(given.conf, {{"ns3::RdmaHw::AckInterval", "--flag"}}, FORMULAS),
                ElementsAre("--set MON_END=90: MON_END has no effect with formulas",
                            "--set RTO=50: RTO has no effect with formulas",
                            "--flag has no effect with formulas"));
    EXPECT_THAT(DescribeIdle(given.conf, {}, {"in this run", true, true}),
                ElementsAre("--set MON_END=90: MON_END has no effect in this run"))
        << "objects read the others";
}

TEST(IdleKeys, EnginesAndPlanesOfAFileAreToldWhereNobodyAsksForThem)
{
    AppliedConf applied("KMIN 5\nCOLLECTIVE_ENGINE ENGINE DP\nPLANE TP 0\n");
    const std::string file = applied.conf.source;
    const ConfUse perf{"in this run", true, true};
    EXPECT_THAT(DescribeIdle(applied.conf, {}, perf),
                ElementsAre(file + ":2: COLLECTIVE_ENGINE has no effect in this run",
                            file + ":3: PLANE has no effect in this run"));
    ReadDefault("ns3::CollectiveOffload::Engine");
    EXPECT_FALSE(applied.conf.planes->empty());
    EXPECT_THAT(DescribeIdle(applied.conf, {}, perf), ElementsAre());
    AppliedConf standard("COLLECTIVE_ENGINE NCCL\n");
    EXPECT_THAT(DescribeIdle(standard.conf, {}, perf), ElementsAre()) << "as it is";
}

TEST(IdleKeys, AttributesOfAControlThatTheTransportDoesNotChooseHaveNoEffect)
{
    const ConfUse flows{"in this run", true, true};
    const std::vector<GivenAttribute> attributes{{"ns3::UecNscc::WindowFactor", "--window"},
                                                 {"ns3::RdmaIrn::RtoLowFrames", "--rto"},
                                                 {"ns3::UecTransport::CreditPackets", "--credit"}};
    const auto idleWith = [&](const std::vector<std::string>& keys) {
        return DescribeIdle(GivenKeys(keys).conf, attributes, flows);
    };
    const std::string transport = "TRANSPORT ns3::UecTransport, which chooses ";
    const std::string noIrn = "--rto has no effect with LOSS_RECOVERY ns3::UecDelivery";
    EXPECT_THAT(idleWith({"TRANSPORT=UEC"}),
                ElementsAre(noIrn, "--credit has no effect with UEC_CC nscc"));
    EXPECT_THAT(idleWith({"TRANSPORT=UEC", "UEC_CC=rccc"}),
                ElementsAre("--window has no effect with " + transport + "ns3::UecRccc", noIrn));
    EXPECT_THAT(idleWith({"TRANSPORT=UEC", "UEC_CC=both"}), ElementsAre(noIrn));
}

TEST(IdleKeys, AFlagReplacesAKey)
{
    GivenKeys given({"TOPOLOGY_FILE=a"});
    given.conf.topologyFile = {"b", "-n b"};
    EXPECT_EQ(*given.conf.topologyFile, "b");
    EXPECT_THAT(DescribeIdle(given.conf, {}, FORMULAS),
                ElementsAre("--set TOPOLOGY_FILE=a: TOPOLOGY_FILE has no effect with -n b"));
}
