/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/applied-conf.h"
#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "../support/others-files.h"
#include "rdma-qbb/fabric/pfc-watchdog.h"
#include "rdma-qbb/model/congestion/rdma-hpcc.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/fabric-conf.h"
#include "ns3/input-error.h"
#include "ns3/link-changes.h"
#include "ns3/nearest-name.h"
#include "ns3/queue-weights.h"
#include "ns3/rate-map.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace ns3;
using testing::ElementsAre;
using testing::HasSubstr;

namespace
{

FabricConf
ParseConf(const std::string& text)
{
    std::istringstream stream(text);
    return FabricConf::Read(stream, "c");
}

std::string
ConfErrorOf(const std::string& text)
{
    try
    {
        ParseConf(text);
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "no error";
}

/// @return what a key is, as a file would say it, with a configuration of that text in force
std::string
ValueOf(const std::string& key, const std::string& text = "")
{
    const AppliedConf applied(text, "c");
    for (const auto& [name, value] : FabricConfValues(applied.conf))
    {
        if (name == key)
        {
            return value;
        }
    }
    return "";
}

/// @return what a configuration sets an attribute to
std::string
SettingOf(const FabricConf& conf, const std::string& attribute)
{
    for (const auto& [place, ofKey] : conf.settings)
    {
        for (const AttributeSetting& setting : ofKey)
        {
            if (setting.name == attribute)
            {
                return setting.value->SerializeToString(
                    FindAttributes(attribute).front().information.checker);
            }
        }
    }
    return "";
}

} // namespace

TEST(FabricConf, AnEmptyFileLeavesTheDefaults)
{
    const FabricConf conf = ParseConf("# nothing\n\n");
    EXPECT_TRUE(conf.settings.empty());
    EXPECT_EQ(ValueOf("PACKET_PAYLOAD_SIZE"), "1000");
    EXPECT_EQ(ValueOf("CC_MODE"), "1");
    EXPECT_EQ(ValueOf("BUFFER_SIZE"), "16");
    EXPECT_EQ(ValueOf("RP_TIMER"), "300") << "DCQCN's own";
    EXPECT_EQ(conf.monEndPs, 20'000'000'000);
    EXPECT_EQ(conf.stopTimePs, TIME_PS_MAX);
    EXPECT_TRUE(conf.warnings.empty());
}

TEST(FabricConf, ValuesBecomeBytesBitsPerSecondAndPicoseconds)
{
    UsePicoseconds();
    const AppliedConf applied("PACKET_PAYLOAD_SIZE 9000 # jumbo\n"
                              "RP_TIMER 300.5\n"
                              "RATE_AI 12.5MB/s\n"
                              "BUFFER_SIZE 32\n"
                              "SIMULATOR_STOP_TIME 4.00\n"
                              "KMAX_MAP 2 25000000000 400 100Gbps 1600\n"
                              "PMAX_MAP 1 25000000000 0.2\n"
                              "FCT_OUTPUT_FILE my results/fct.txt\n"
                              "ROUTING flowlet\n"
                              "LOSS_RECOVERY irn\n"
                              "RTO 50\n"
                              "QUEUE_WEIGHT 3 4\nQUEUE_WEIGHT 4 2\n"
                              "PFC_WATCHDOG_ACTION drop\n"
                              "QP_MODE persistent\n");
    EXPECT_EQ(AttributeDefault<UintegerValue>("ns3::RdmaHw::Mtu"), 9000u);
    EXPECT_EQ(AttributeDefault<TimeValue>("ns3::RdmaDcqcn::RpTimer"), NanoSeconds(300'500));
    EXPECT_EQ(AttributeDefault<TimeValue>("ns3::RdmaDcqcnPaper::RpTimer"), NanoSeconds(300'500));
    EXPECT_EQ(AttributeDefault<DataRateValue>("ns3::RdmaHpcc::RateAi").GetBitRate(), 100'000'000u);
    EXPECT_EQ(AttributeDefault<UintegerValue>("ns3::SwitchMmu::BufferBytes"), 32u << 20);
    EXPECT_EQ(applied.conf.stopTimePs, 4'000'000'000'000);
    const RateMap kmax = AttributeDefault<RateMapValue>("ns3::SwitchMmu::EcnKmax");
    EXPECT_EQ(kmax.At(25'000'000'000), 400'000);
    EXPECT_EQ(kmax.At(100'000'000'000), 1'600'000);
    EXPECT_EQ(*applied.conf.fctOutputFile, "my results/fct.txt");
    EXPECT_EQ(AttributeDefault<TypeIdValue>("ns3::SwitchNode::RoutingPolicyType"),
              TypeId::LookupByName("ns3::FlowletRouting"));
    EXPECT_EQ(AttributeDefault<TypeIdValue>("ns3::RdmaHw::LossRecoveryType"),
              TypeId::LookupByName("ns3::RdmaIrn"));
    EXPECT_EQ(AttributeDefault<TimeValue>("ns3::RdmaGoBackN::Timeout"), MicroSeconds(50));
    EXPECT_EQ(AttributeDefault<TimeValue>("ns3::RdmaIrn::RtoHigh"), MicroSeconds(50));
    EXPECT_EQ(AttributeDefault<QueueWeightsValue>("ns3::QbbNetDevice::QueueWeights").weights,
              (std::array<uint32_t, 8>{1, 1, 1, 4, 2, 1, 1, 1}));
    EXPECT_EQ(AttributeDefault<PfcActionValue>("ns3::PfcWatchdog::Action"), PfcAction::Drop);
    EXPECT_TRUE(AttributeDefault<BooleanValue>("ns3::RdmaFabric::PersistentQueuePairs"));
    EXPECT_EQ(ValueOf("BUFFER_SIZE", "BUFFER_SIZE 1024"), "1024");
    EXPECT_EQ(ParseConf("SIMULATOR_STOP_TIME 40000000000000.00").stopTimePs, TIME_PS_MAX);
}

TEST(FabricConf, AnUnknownKeyIsNamedWithItsLineAndTheNearestKnownKey)
{
    EXPECT_EQ(ConfErrorOf("CC_MODE 1\nRP_TIMR 900\n"),
              "c:2: unknown key RP_TIMR; expected a known key; the nearest is RP_TIMER");
    EXPECT_THAT(ConfErrorOf("cc_mode 1\n"), HasSubstr("the nearest is CC_MODE"));
}

TEST(FabricConf, LinesThatEndWithACarriageReturnAloneAreRefused)
{
    // Else all that follows a comment would be one.
    EXPECT_EQ(
        ConfErrorOf("# a conf\rCC_MODE 1\r"),
        "c:1: a carriage return without a line feed ends a line; expected lines that end with "
        "a line feed");
    EXPECT_EQ(ConfErrorOf("CC_MODE 1\r\nHAS_WIN 1\r\r\n"), "no error");
}

TEST(FabricConf, AValueOutOfRangeIsNamedWithTheLegalRange)
{
    EXPECT_EQ(ConfErrorOf("EWMA_GAIN 1.5"),
              "c:1: EWMA_GAIN cannot be '1.5'; expected number, above 0 to 1");
    EXPECT_EQ(ConfErrorOf("HAS_WIN yes"), "c:1: HAS_WIN cannot be 'yes'; expected flag, 0 or 1");
    for (const char* bad : {"CC_MODE 2",
                            "CC_MODE -1",
                            "PACKET_PAYLOAD_SIZE 0",
                            "RATE_AI fast",
                            "RP_TIMER 0",
                            "RP_TIMER -4",
                            "PINT_LOG_BASE 1",
                            "ERROR_RATE_PER_LINK 1.01",
                            "U_TARGET 0",
                            "BUFFER_SIZE 0",
                            "SIMULATOR_STOP_TIME 0",
                            "SIMULATOR_STOP_TIME soon",
                            "ROUTING random",
                            "ROUTING_AT spray",
                            "ROUTING_AT sideways asw",
                            "ROUTING_AT spray tor",
                            "ROUTING_AT spray 9-8",
                            "ROUTING_AT spray 8-",
                            "REORDER_FRAMES -1",
                            "REORDER_FRAMES 4294967296",
                            "REORDER_TIME -1",
                            "LOSS_RECOVERY tcp",
                            "SEED 0",
                            "MI_THRESH 1.5",
                            "PFC_WATCHDOG -1",
                            "PFC_WATCHDOG_ACTION reboot",
                            "NIC_TOTAL_PAUSE_TIME -1",
                            "NODE_DOWN 1",
                            "NODE_DOWN -1 2",
                            "NODE_UP 1 2 3",
                            "QUEUE_WEIGHT 3",
                            "QUEUE_WEIGHT 0 1",
                            "QUEUE_WEIGHT 8 1",
                            "QUEUE_WEIGHT 3 0",
                            "QUEUE_WEIGHT 3 1001",
                            "LINK_DOWN 1 2",
                            "LINK_DOWN 1 2 x",
                            "LINK_DOWN 1 2 2",
                            "HAS_WIN",
                            "HAS_WIN 1 1",
                            "MON_START 5\nMON_END 4"})
    {
        EXPECT_NE(ConfErrorOf(bad), "no error") << bad;
    }
    EXPECT_EQ(ConfErrorOf("RATE_AI 50"),
              "c:1: RATE_AI cannot be '50'; expected rate, a rate with its unit, such as 50Mb/s");
}

TEST(FabricConf, AMapWithTheWrongCountIsRefused)
{
    EXPECT_EQ(ConfErrorOf("KMAX_MAP 3 25000000000 400 50000000000 800"),
              "c:1: KMAX_MAP says 3 pairs and has 4 values; expected n, then 2 n values");
    EXPECT_THAT(ConfErrorOf("KMAX_MAP 1 25000000000"), HasSubstr("says 1 pairs and has 1 values"));
    EXPECT_THAT(ConfErrorOf("KMAX_MAP x 25000000000 1"), HasSubstr("says x pairs"));
    EXPECT_THAT(ConfErrorOf("PMAX_MAP 1 25000000000 1.2"), HasSubstr("cannot be '1.2'"));
    EXPECT_THAT(ConfErrorOf("KMIN_MAP 1 25Gbps 1\nKMAX_MAP 1 25Gbps 0"),
                HasSubstr("kmin up to kmax"));
}

TEST(FabricConf, AMapWinsOverTheFlatValueInWhateverOrder)
{
    for (const char* text :
         {"KMAX 5000\nKMAX_MAP 1 25Gbps 400", "KMAX_MAP 1 25Gbps 400\nKMAX 5000"})
    {
        const AppliedConf applied(text);
        EXPECT_EQ(AttributeDefault<RateMapValue>("ns3::SwitchMmu::EcnKmax").At(25'000'000'000),
                  400'000);
    }
    EXPECT_THAT(ConfErrorOf("KMIN 6000\nKMAX 5000"), HasSubstr("KMIN is larger than KMAX"));
}

TEST(FabricConf, TheLastOfTwoNamesOfOneKeyCounts)
{
    EXPECT_EQ(ValueOf("ENABLE_QCN", "ECN_ENABLED 0\nENABLE_QCN 1"), "1");
    EXPECT_EQ(ValueOf("ENABLE_QCN", "ENABLE_QCN 1\nECN_ENABLED 0"), "0");
}

TEST(FabricConf, CongestionControlIsANumberOrATypeId)
{
    EXPECT_EQ(ValueOf("CC_MODE", "CC_MODE 12"), "0") << "ASTRA-sim's name for none";
    const std::pair<const char*, const char*> numbers[] = {{"0", "ns3::RdmaNoCongestionControl"},
                                                           {"1", "ns3::RdmaDcqcn"},
                                                           {"3", "ns3::RdmaHpcc"},
                                                           {"7", "ns3::RdmaTimelyHpccArtifact"},
                                                           {"8", "ns3::RdmaDctcp"},
                                                           {"10", "ns3::RdmaHpccPint"}};
    for (const auto& [number, name] : numbers)
    {
        EXPECT_EQ(ValueOf("CC_MODE", "CC_MODE " + std::string(name)), number);
    }
    EXPECT_EQ(ValueOf("CC_MODE", "CC_MODE ns3::RdmaSwift"), "ns3::RdmaSwift");
    EXPECT_EQ(ValueOf("CC_MODE", "CC_MODE RdmaSwift"), "ns3::RdmaSwift");
    EXPECT_EQ(ValueOf("CC_MODE", "CC_MODE ns3::RdmaSwift\nCC_MODE 3"), "3");
    EXPECT_THAT(ConfErrorOf("CC_MODE ns3::SwitchNode"), HasSubstr("CC_MODE cannot be"));
}

TEST(FabricConf, WholeNumbersMayBeWrittenWithAPoint)
{
    // As HPCC's run.py writes them under Python 3: for every key whose default is a whole number.
    std::size_t keys = 0;
    for (const FabricConfKey& key : FabricConfKeys())
    {
        const std::string& value = key.defaultValue;
        if (!value.empty() && std::all_of(value.begin(), value.end(), isdigit))
        {
            ++keys;
            EXPECT_EQ(ConfErrorOf(key.name + " " + value + ".0"), "no error");
        }
    }
    EXPECT_GT(keys, 30U);
    for (const char* line : {"BUFFER_SIZE 32.0",
                             "INT_MULTI 4.0",
                             "CC_MODE 3.0",
                             "KMAX 1000.0",
                             "KMAX_MAP 1.0 100Gbps 1600.0",
                             "QUEUE_WEIGHT 3.0 4.0",
                             "PLANE DP 1.0",
                             "LINK_DOWN 1000.0 2.0 5.0",
                             "NODE_DOWN 1000.0 2.0",
                             "MI_THRESH 5.0"})
    {
        EXPECT_EQ(ConfErrorOf(line), "no error");
    }
    EXPECT_EQ(ValueOf("BUFFER_SIZE", "BUFFER_SIZE 32.0\n"), "32");
    EXPECT_EQ(ValueOf("CC_MODE", "CC_MODE 3.0\n"), "3");
    for (const char* line :
         {"BUFFER_SIZE 32.5", "BUFFER_SIZE .0", "MI_THRESH 1.0.0", "HAS_WIN 1.1"})
    {
        EXPECT_THAT(ConfErrorOf(line), HasSubstr("cannot be '"));
    }
}

TEST(FabricConf, KeysOfConweaveStandForOurs)
{
    EXPECT_EQ(ValueOf("ROUTING", "LB_MODE 6\n"), "flowlet");
    EXPECT_EQ(ValueOf("ROUTING", "ROUTING spray\nLB_MODE 0\n"), "ecmp") << "the last counts";
    EXPECT_EQ(ValueOf("LOSS_RECOVERY", "ENABLE_IRN 1\n"), "irn");
    EXPECT_EQ(ValueOf("SEED", "RANDOM_SEED 7\n"), "7");
    const FabricConf off = ParseConf("ENABLE_PFC 0\nQUEUE_WEIGHT 3 4\n");
    const auto mask = off.FindSetting("ns3::SwitchMmu::LosslessMask");
    ASSERT_TRUE(mask);
    EXPECT_EQ(dynamic_cast<const UintegerValue&>(*mask).Get(), 0U);
    // 1 says so as well, as it keeps PFC where TRANSPORT UEC takes it away.
    const FabricConf on = ParseConf("ENABLE_PFC 1\nTRANSPORT UEC\n");
    const auto kept = on.FindSetting("ns3::SwitchMmu::LosslessMask");
    ASSERT_TRUE(kept);
    EXPECT_NE(dynamic_cast<const UintegerValue&>(*kept).Get(), 0U);
    EXPECT_THAT(ConfErrorOf("LB_MODE 9\n"),
                HasSubstr("LB_MODE cannot be '9'; expected word, 0 (ECMP), 2 (DRILL) or 6"));
    EXPECT_THAT(ConfErrorOf("LB_MODE 9\n"), HasSubstr("9 (ConWeave) has no equal"));
    // Queues of switches are sampled while flows start.
    const FabricConf sampled = ParseConf("QLEN_MON_START 2.0\nSW_MONITORING_INTERVAL 10000\n"
                                         "FLOWGEN_START_TIME 2.0\nFLOWGEN_STOP_TIME 2.1\n");
    EXPECT_EQ(*sampled.qlenMonIntervalPs, 10'000'000);
    EXPECT_EQ(*sampled.qlenMonStartPs, 2'000'000'000'000);
    EXPECT_EQ(*sampled.qlenMonEndPs, 2'100'000'000'000);
    EXPECT_EQ(*ParseConf("CNP_OUTPUT_FILE mix/c.txt\n").cnpMonFile, "mix/c.txt");
}

/// All keys that the two simulators read (network-load-balance.cc of conweave-project/conweave-ns3,
/// the evaluations of inet-tub/ns3-datacenter), as their files write them.
TEST(FabricConf, EveryKeyOfConweaveAndNs3DatacenterIsRead)
{
    const std::string mapped =
        "TOPOLOGY_FILE t\nFLOW_FILE f\nCNP_OUTPUT_FILE c\nFCT_OUTPUT_FILE a\nPFC_OUTPUT_FILE p\n"
        "TRACE_FILE t\nTRACE_OUTPUT_FILE t\nQLEN_MON_FILE q\nQLEN_MON_START 2000000000\n"
        "QLEN_MON_END 2010000000\nSW_MONITORING_INTERVAL 10000\nFLOWGEN_START_TIME 2.0\n"
        "FLOWGEN_STOP_TIME 2.1\nSIMULATOR_STOP_TIME 4\nENABLE_TRACE 1\nBUFFER_SIZE 9\nCC_MODE 1\n"
        "LB_MODE 6\nENABLE_PFC 1\nENABLE_IRN 0\nALPHA_RESUME_INTERVAL 1\n"
        "RATE_DECREASE_INTERVAL 4\nCLAMP_TARGET_RATE 0\nRP_TIMER 300\nFAST_RECOVERY_TIMES 1\n"
        "EWMA_GAIN 0.00390625\nRATE_AI 40.0Mb/s\nRATE_HAI 100.0Mb/s\nMIN_RATE 100Mb/s\n"
        "DCTCP_RATE_AI 1000Mb/s\nERROR_RATE_PER_LINK 0.0000\nL2_CHUNK_SIZE 4000\n"
        "L2_ACK_INTERVAL 1\nL2_BACK_TO_ZERO 0\nRATE_BOUND 1\nHAS_WIN 0\nVAR_WIN 0\nFAST_REACT 0\n"
        "MI_THRESH 0\nGLOBAL_T 1\nU_TARGET 0.95\nMULTI_RATE 0\nSAMPLE_FEEDBACK 0\nENABLE_QCN 1\n"
        "USE_DYNAMIC_PFC_THRESHOLD 1\nPACKET_PAYLOAD_SIZE 1000\nPAUSE_TIME 5\nLINK_DOWN 0 0 0\n"
        "ACK_HIGH_PRIO 0\nPINT_LOG_BASE 1.05\nPINT_PROB 1.0\n"
        "KMAX_MAP 2 25000000000 400 100000000000 1600\nKMIN_MAP 2 25000000000 100 100000000000 "
        "400\n"
        "PMAX_MAP 2 25000000000 0.2 100000000000 0.2\nRANDOM_SEED 1\n";
    for (const std::string& line : ParseConf(mapped + "INT_MULTI 1\n").warnings)
    {
        EXPECT_THAT(line, testing::Not(HasSubstr("has no effect")));
    }
    for (const char* key : {"DATA_RATE 100Gbps",
                            "LINK_DELAY 1000ns",
                            "LOAD 50",
                            "CONWEAVE_TX_EXPIRY_TIME 300",
                            "CONWEAVE_REPLY_TIMEOUT_EXTRA 4",
                            "CONWEAVE_EXTRA_VOQ_FLUSH_TIME 16",
                            "CONWEAVE_PATH_PAUSE_TIME 16",
                            "CONWEAVE_DEFAULT_VOQ_WAITING_TIME 200",
                            "FLOW_INPUT_FILE in",
                            "VOQ_MON_FILE v",
                            "VOQ_MON_DETAIL_FILE v",
                            "UPLINK_MON_FILE u",
                            "CONN_MON_FILE c",
                            "EST_ERROR_MON_FILE e"})
    {
        const std::string name(key, std::string_view(key).find(' '));
        EXPECT_THAT(ParseConf(key).warnings,
                    testing::ElementsAre("c:1: " + name + " is accepted and has no effect"));
    }
}

TEST(FabricConf, OneLineNamesAllUnknownKeys)
{
    EXPECT_EQ(ConfErrorOf("CNQ_MON_FILE a\nCC_MODE 3\nXYZ 50\n"),
              "c:1: unknown key CNQ_MON_FILE and 1 more: XYZ (line 3); expected a known key; the "
              "nearest is CNP_MON_FILE");
    EXPECT_EQ(ConfErrorOf("XYZ 50\nCC_MODE 99\n"), "c:1: unknown key XYZ; expected a known key")
        << "the first mistake counts";
    EXPECT_THAT(ConfErrorOf("CC_MODE 99\nXYZ 50\n"),
                testing::StartsWith("c:1: CC_MODE cannot be '99'"));
    std::string noConf;
    for (int line = 0; line < 1000; ++line)
    {
        noConf += "x " + std::to_string(line) + "\n";
    }
    EXPECT_THAT(ConfErrorOf(noConf),
                testing::AllOf(HasSubstr("key x and 999 more: x (line 2), x (line 3), "),
                               HasSubstr(", x (line 21), ...; expected a known key")));
}

TEST(FabricConf, ARepeatedKeyIsTold)
{
    using testing::ElementsAre;
    const FabricConf conf = ParseConf("HAS_WIN 0\nSEED 3\nHAS_WIN 1\nSEED 3\n");
    EXPECT_THAT(
        conf.warnings,
        ElementsAre("c:3: HAS_WIN replaces that of line 1", "c:4: SEED replaces that of line 2"));
    FabricConf replaced = ParseConf("HAS_WIN 0\n");
    replaced.Set("HAS_WIN=1", "--set HAS_WIN=1");
    replaced.Set("HAS_WIN=0", "--set HAS_WIN=0");
    EXPECT_THAT(replaced.warnings, ElementsAre()) << "that is what --set is for";
    EXPECT_THAT(ParseConf("LINK_DOWN 1 2 3\nLINK_DOWN 2 2 3\nNODE_UP 1 2\nNODE_UP 2 2\n"
                          "QUEUE_WEIGHT 3 1\nQUEUE_WEIGHT 4 2\nROUTING_AT spray asw\n"
                          "ROUTING_AT spray psw\nPLANE TP 0\nPLANE DP 1\n")
                    .warnings,
                ElementsAre());
}

TEST(FabricConf, ACommandLineSetsAKeyOnce)
{
    const auto errorOf = [](const std::vector<std::string>& settings) -> std::string {
        FabricConf conf = ParseConf("HAS_WIN 0\n");
        try
        {
            conf.SetFromFlags(settings);
        }
        catch (const InputError& error)
        {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(errorOf({"HAS_WIN=1", "SEED=2"}), "") << "it wins over the file";
    EXPECT_EQ(errorOf({"SEED=1", "HAS_WIN=1", "SEED=1"}),
              "--set SEED=1: --set SEED=1 sets the same key; expected each key once");
    EXPECT_EQ(errorOf({"ECN_ENABLED=1", "ENABLE_QCN=0"}),
              "--set ENABLE_QCN=0: --set ECN_ENABLED=1 sets the same key; expected each key once");
    EXPECT_EQ(errorOf({"LINK_DOWN=1 2 3", "LINK_DOWN=2 2 3", "PLANE=TP 0", "PLANE=DP 1"}), "");
}

TEST(FabricConf, ChangesOfLinksCountFrom2sWhereAllFlowsStartThere)
{
    constexpr int64_t SECOND = 1'000'000'000'000;
    FabricConf conf = ParseConf("LINK_DOWN 1000 3 7\nLINK_UP 2000 3 7\nNODE_DOWN 0 5\n");
    conf.CountLinkEventsAsFlowsDo(2 * SECOND);
    EXPECT_EQ(conf.linkEvents[0].timePs, 2 * SECOND + 1'000'000'000);
    EXPECT_EQ(conf.linkEvents[1].timePs, 2 * SECOND + 2'000'000'000);
    EXPECT_EQ(conf.linkEvents[2].timePs, 0) << "missing from the start";
    EXPECT_THAT(conf.warnings, ElementsAre(HasSubstr("count from 2 s, as in the HPCC simulator")));
    // Flows that start at 0, as in SimAI, or a file that counts from the start.
    for (const auto& [text, firstStartPs] :
         {std::pair{"LINK_DOWN 1000 3 7\n", int64_t{0}},
          std::pair{"LINK_DOWN 1000 3 7\n", 2 * SECOND - 1},
          std::pair{"LINK_DOWN 1000 3 7\nLINK_DOWN 2000001 3 8\n", 2 * SECOND}})
    {
        FabricConf own = ParseConf(text);
        own.CountLinkEventsAsFlowsDo(firstStartPs);
        EXPECT_EQ(own.linkEvents[0].timePs, 1'000'000'000) << text << firstStartPs;
        EXPECT_TRUE(own.warnings.empty());
    }
}

TEST(FabricConf, LinkEventsRepeatAndZerosMeanNone)
{
    const FabricConf conf = ParseConf("LINK_DOWN 0 0 0\nLINK_DOWN 10.5 3 7\nLINK_UP 20 7 3\n");
    ASSERT_EQ(conf.linkEvents.size(), 2u);
    EXPECT_EQ(conf.linkEvents[0].timePs, 10'500'000);
    EXPECT_EQ(conf.linkEvents[0].a, 3u);
    EXPECT_FALSE(conf.linkEvents[0].up);
    EXPECT_EQ(conf.linkEvents[0].line, 2u);
    EXPECT_TRUE(conf.linkEvents[1].up);
}

TEST(FabricConf, ChangesOfLinksAreThoseOfALinkOrOfANode)
{
    // Two links join hosts 0 and 1 to the switch, two more the switch to itself's neighbour 3.
    const ClusterTopology topology = ReadTopology("4 2 4\n2 3\n0 2 100Gbps 1us 0\n"
                                                  "1 2 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"
                                                  "3 2 100Gbps 1us 0\n");
    const FabricConf conf = ParseConf("LINK_DOWN 1 3 2\nNODE_DOWN 2 1\nNODE_UP 3.5 2\n");
    const std::vector<LinkChange> changes = FindLinkChanges(conf, topology);
    ASSERT_EQ(changes.size(), 3U);
    EXPECT_THAT(changes[0].links, ElementsAre(2U, 3U)) << "parallel links fail together";
    EXPECT_THAT(changes[1].links, ElementsAre(1U));
    EXPECT_THAT(changes[2].links, ElementsAre(0U, 1U, 2U, 3U));
    EXPECT_TRUE(changes[2].up);
    EXPECT_THAT(DescribeIdleChanges(conf, 2'000'000),
                ElementsAre("NODE_UP of 2 at 3.5 us never fell due: the run ended at 2 us"));
    const FabricConf one = ParseConf("LINK_DOWN 1 3 2 2\nLINK_UP 2 2 3 2\n");
    EXPECT_THAT(FindLinkChanges(one, topology)[0].links, ElementsAre(3U)) << "in the file's order";
    EXPECT_THAT(FindLinkChanges(one, topology)[1].links, ElementsAre(3U)) << "from either end";
    EXPECT_THAT(DescribeIdleChanges(one, 1'500'000),
                ElementsAre("LINK_UP of 2 3 2 at 2 us never fell due: the run ended at 1.5 us"));
    for (const char* line : {"LINK_DOWN 1 0 1", "NODE_DOWN 1 9", "LINK_UP 1 0 9"})
    {
        EXPECT_THROW(FindLinkChanges(ParseConf(line), topology), InputError) << line;
    }
}

TEST(FabricConf, ALinkThatABundleDoesNotHaveIsRefusedWithItsSize)
{
    const ClusterTopology topology = ReadTopology("4 2 4\n2 3\n0 2 100Gbps 1us 0\n"
                                                  "1 2 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"
                                                  "3 2 100Gbps 1us 0\n");
    std::string error;
    try
    {
        FindLinkChanges(ParseConf("LINK_DOWN 1 3 2 3\n"), topology);
    }
    catch (const InputError& refused)
    {
        error = refused.what();
    }
    EXPECT_THAT(error,
                HasSubstr(":1: LINK_DOWN names link 3 of 3 and 2, which 2 join; expected 1 to 2, "
                          "or no number for all"));
    EXPECT_THAT(ConfErrorOf("LINK_DOWN 1 3\n"),
                HasSubstr("LINK_DOWN has 2 values; expected 3 to 4: microseconds"));
    EXPECT_THAT(ConfErrorOf("LINK_DOWN 1 3 2 0\n"), HasSubstr("LINK_DOWN cannot be '0'"));
    EXPECT_THAT(ConfErrorOf("LINK_DOWN 1 3 2 1 1\n"), HasSubstr("has 5 values"));
}

TEST(FabricConf, ALinkThatComesUpWithoutAFailureIsSaidToChangeNothing)
{
    const auto idle = [](const std::string& text) {
        return DescribeIdleChanges(ParseConf(text), 9'000'000);
    };
    EXPECT_THAT(idle("LINK_UP 4 3 2\n"),
                ElementsAre("LINK_UP of 3 2 at 4 us changed nothing, as nothing had failed there"));
    EXPECT_THAT(idle("LINK_DOWN 1 1 2\nLINK_UP 4 3 2\n"), testing::SizeIs(1)) << "another link";
    EXPECT_THAT(idle("LINK_DOWN 5 2 3\nLINK_UP 4 3 2\n"), testing::SizeIs(1)) << "later";
    EXPECT_THAT(idle("LINK_DOWN 3 2 3\nLINK_UP 4 3 2\n"), testing::IsEmpty());
    EXPECT_THAT(idle("NODE_DOWN 3 2\nLINK_UP 4 3 2\n"), testing::IsEmpty());
    EXPECT_THAT(idle("LINK_DOWN 3 2 3\nNODE_UP 4 2\n"), testing::IsEmpty());
    EXPECT_THAT(idle("LINK_DOWN 3 2 3 1\nLINK_UP 4 2 3\n"), testing::IsEmpty());
    EXPECT_THAT(idle("LINK_DOWN 3 2 3\nLINK_UP 4 2 3 2\n"), testing::IsEmpty());
    EXPECT_THAT(idle("LINK_DOWN 3 2 3 1\nLINK_UP 4 2 3 2\n"), testing::SizeIs(1));
}

TEST(FabricConf, OutagesLastFromAFailureUntilTheSameLinksComeBack)
{
    // Host 0 has two links to the network, host 1 has one.
    const ClusterTopology topology = ReadTopology("4 2 4\n2 3\n0 2 100Gbps 1us 0\n"
                                                  "0 3 100Gbps 1us 0\n1 2 100Gbps 1us 0\n"
                                                  "2 3 100Gbps 1us 0\n");
    const auto find = [&](const char* text) { return FindOutages(ParseConf(text), topology); };
    constexpr int64_t US = 1'000'000;

    const auto flap = find("LINK_UP 5 2 0\nLINK_DOWN 2 0 2\nLINK_DOWN 3 0 2\n");
    ASSERT_EQ(flap.size(), 1U) << "what is down does not fail again";
    EXPECT_EQ(flap[0].fromPs, 2 * US);
    EXPECT_EQ(flap[0].toPs, 5 * US);
    EXPECT_THAT(flap[0].cutOff, testing::IsEmpty());
    EXPECT_EQ(flap[0].PathBackPs(0, 1, US), 3 * US) << "by the other link";

    const auto both = find("LINK_DOWN 1 0 2\nLINK_DOWN 2 0 3\nLINK_UP 9 0 3\n");
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].toPs, LinkOutage::FOR_GOOD);
    EXPECT_THAT(both[1].cutOff, ElementsAre(0U));
    EXPECT_EQ(both[1].PathBackPs(1, 0, US), 10 * US) << "when routes lead there again";
    EXPECT_EQ(both[1].PathBackPs(1, 1, US), 3 * US) << "others have lost nothing";

    const auto node = find("NODE_DOWN 1 2\nLINK_UP 4 2 3\nNODE_UP 6 2\n");
    ASSERT_EQ(node.size(), 2U);
    EXPECT_THAT(node[0].links, ElementsAre(0U, 2U));
    EXPECT_TRUE(node[0].isOfNode);
    EXPECT_THAT(node[0].cutOff, ElementsAre(1U));
    EXPECT_EQ(node[0].toPs, 6 * US);
    EXPECT_THAT(node[1].links, ElementsAre(3U));
    EXPECT_EQ(node[1].ends, "2 3");
    EXPECT_EQ(node[1].toPs, 4 * US);
    EXPECT_EQ(DescribeOutage(node[0], false).substr(0, 41),
              "node 2 (2 links) was down from 1 to 6 us;");
}

TEST(FabricConf, MarkingMayBeAStepAndNoMore)
{
    for (const char* step :
         {"KMIN 100000\nKMAX 100000\n", "KMIN_MAP 1 25000000000 100\nKMAX_MAP 1 25000000000 100\n"})
    {
        EXPECT_EQ(ConfErrorOf(step), "no error") << step;
    }
    EXPECT_THAT(ConfErrorOf("KMIN 100001\nKMAX 100000\n"), HasSubstr("KMIN is larger than KMAX"));
    EXPECT_THAT(ConfErrorOf("KMIN_MAP 1 25000000000 101\nKMAX_MAP 1 25000000000 100\n"),
                HasSubstr("KMIN_MAP says 101 KB and KMAX_MAP says 100 KB"));
}

TEST(FabricConf, RoutingIsChosenForAllAndForSomeSwitches)
{
    const std::pair<const char*, const char*> words[] = {
        {"ecmp", "ns3::EcmpRouting"},
        {"flowlet", "ns3::FlowletRouting"},
        {"adaptive-flowlet", "ns3::AdaptiveFlowletRouting"},
        {"adaptive", "ns3::AdaptiveRouting"},
        {"spray", "ns3::SprayRouting"},
        {"random-spray", "ns3::RandomSprayRouting"},
        {"ns3::SprayRouting", "ns3::SprayRouting"}};
    for (const auto& [word, name] : words)
    {
        const AppliedConf applied(std::string("ROUTING ") + word);
        EXPECT_EQ(AttributeDefault<TypeIdValue>("ns3::SwitchNode::RoutingPolicyType").GetName(),
                  name);
    }
    const FabricConf conf = ParseConf("ROUTING_AT spray psw 40-47 9\nROUTING_AT ecmp core\n");
    ASSERT_EQ(conf.routingAt->size(), 2u);
    EXPECT_EQ((*conf.routingAt)[0].policy, "ns3::SprayRouting");
    ASSERT_EQ((*conf.routingAt)[0].places.size(), 3u);
    EXPECT_EQ((*conf.routingAt)[0].places[0].layer, 2u);
    EXPECT_EQ((*conf.routingAt)[0].places[1].first, 40u);
    EXPECT_EQ((*conf.routingAt)[0].places[1].last, 47u);
    EXPECT_EQ((*conf.routingAt)[0].places[2].last, 9u);
    EXPECT_EQ((*conf.routingAt)[1].line, 2u);
    EXPECT_THAT(ConfErrorOf("ROUTING_AT spray tor"), HasSubstr("asw, psw, core, node ids"));
}

TEST(FabricConf, LinksAreNamedByClassOrByTheirEnds)
{
    using Class = FabricConf::LinkPlace::Class;
    const FabricConf conf =
        ParseConf("LINK_CREDITS_AT 300000 switches 3-40\nLINK_CREDITS_AT 0 40-3\n"
                  "LINK_RETRY_AT 1 hosts\n");
    ASSERT_EQ(conf.linkCreditsAt->size(), 2u);
    const auto& [bytes, places, line] = (*conf.linkCreditsAt)[0];
    EXPECT_EQ(bytes, 300'000u);
    ASSERT_EQ(places.size(), 2u);
    EXPECT_EQ(places[0].of, Class::Switches);
    EXPECT_EQ(places[1].of, Class::Between);
    EXPECT_EQ(places[1].a, 3u);
    EXPECT_EQ(places[1].b, 40u);
    EXPECT_EQ((*conf.linkCreditsAt)[1].line, 2u);
    EXPECT_EQ((*conf.linkRetryAt)[0].places[0].of, Class::Hosts);
    EXPECT_EQ(ValueOf("LINK_RETRY_AT", "LINK_RETRY_AT 1 hosts 3-4\nLINK_RETRY_AT 0 3-4\n"),
              "1 hosts 3-4; 0 3-4");
    for (const char* wrong : {"LINK_RETRY_AT 2 hosts",
                              "LINK_RETRY_AT 1 tor",
                              "LINK_RETRY_AT 1 3",
                              "LINK_CREDITS_AT -1 hosts",
                              "LINK_CREDITS_AT 9 3-"})
    {
        EXPECT_THAT(ConfErrorOf(wrong), HasSubstr("pairs of node ids such as 3-40")) << wrong;
    }
    EXPECT_THAT(ConfErrorOf("LINK_CREDITS_AT 90000"), HasSubstr("names no links"));
}

TEST(FabricConf, AFlagWinsOverTheFile)
{
    FabricConf conf = ParseConf("CC_MODE 1\n");
    conf.Set("CC_MODE=3", "command line");
    conf.Set("SEED 7", "command line");
    conf.Check();
    const auto replaced = conf.Apply();
    EXPECT_EQ(AttributeDefault<TypeIdValue>("ns3::RdmaHw::CongestionControl"),
              RdmaHpcc::GetTypeId());
    EXPECT_EQ(AttributeDefault<UintegerValue>("RngSeed"), 7u);
    std::for_each(replaced.rbegin(), replaced.rend(), SetDefault);
    EXPECT_EQ(AttributeDefault<UintegerValue>("RngSeed"), 1u);
    EXPECT_TRUE(conf.IsGiven("SEED"));
    EXPECT_FALSE(conf.IsGiven("RTO"));
    EXPECT_THROW(conf.Set("SEDE=7", "command line"), InputError);
    EXPECT_THROW(conf.Set("", "command line"), InputError);
}

TEST(FabricConf, AKeyWithoutEffectWarns)
{
    EXPECT_THAT(ParseConf("L2_WAIT_FOR_ACK 0").warnings,
                ElementsAre("c:1: L2_WAIT_FOR_ACK is accepted and has no effect"));
}

TEST(FabricConf, HelpAndDocumentationDescribeEveryKeyOnce)
{
    std::vector<std::string> names;
    for (const FabricConfKey& key : FabricConfKeys())
    {
        names.push_back(key.name);
        EXPECT_FALSE(key.description.empty()) << key.name;
        EXPECT_THAT(FabricConfHelp(), HasSubstr("  " + key.name + " "));
        if (!key.defaultValue.empty() && key.name != "SIMULATOR_STOP_TIME")
        {
            EXPECT_EQ(ConfErrorOf(key.name + " " + key.defaultValue), "no error") << key.name;
        }
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(FabricConf, ValuesInForceReadBackToThemselves)
{
    UsePicoseconds();
    std::string text;
    std::vector<std::pair<std::string, std::string>> values;
    {
        const AppliedConf applied(
            "CC_MODE 1\nRP_TIMER 300.5\nEWMA_GAIN 0.00390625\n"
            "KMAX_MAP 2 25Gbps 400 100Gbps 1600.5\nPMAX_MAP 1 25Gbps 0.2\n"
            "BUFFER_SIZE 32\nRATE_AI 12.5MB/s\nROUTING adaptive-flowlet\nKMIN 5000\n"
            "ROUTING_AT spray asw 40-47\n"
            "SIMULATOR_STOP_TIME 4.5\nLINK_DOWN 10.5 3 7\nFLOW_FILE a b.txt\n"
            "NODE_DOWN 7.25 12\nNODE_UP 9 12\nQUEUE_WEIGHT 4 3\nRTO 200\n");
        values = FabricConfValues(applied.conf);
        for (const auto& [key, value] : values)
        {
            text += key + " " + value + "\n";
        }
    }
    EXPECT_THAT(text, HasSubstr("KMAX_MAP 2 25000000000 400 100000000000 1600.5\n"));
    EXPECT_THAT(text, HasSubstr("RP_TIMER 300.5\n"));
    EXPECT_THAT(text, HasSubstr("BUFFER_SIZE 32\n"));
    EXPECT_THAT(text, HasSubstr("SEED 1\n")) << "defaults too";
    EXPECT_THAT(text, testing::Not(HasSubstr("LINK_UP"))) << "what has no value is left out";
    EXPECT_THAT(text, testing::Not(HasSubstr("U_TARGET"))) << "and what DCQCN does not have";
    EXPECT_EQ(FabricConfValues(AppliedConf(text).conf), values);
}

TEST(FabricConf, FilesOfTheOtherSimulatorsAreReadUnchanged)
{
    NEEDS_OTHERS_FILES();
    const FabricConf simai = FabricConf::Read(OthersFile("simai/SimAI.conf"));
    EXPECT_EQ(SettingOf(simai, "ns3::RdmaHw::Mtu"), "9000");
    EXPECT_THAT(SettingOf(simai, "ns3::SwitchMmu::EcnKmax"), HasSubstr("1600Gbps=2400000"));
    EXPECT_EQ(simai.bwMonIntervalPs, 10'000'000'000);
    EXPECT_TRUE(simai.warnings.empty());
    const FabricConf astra = FabricConf::Read(OthersFile("astra-sim/network/config.txt"));
    EXPECT_EQ(SettingOf(astra, "ns3::RdmaHw::CongestionControl"), "ns3::RdmaNoCongestionControl");
    EXPECT_EQ(SettingOf(astra, "ns3::RdmaDriver::HasWindow"), "true");
    EXPECT_EQ(*astra.qlenMonEndPs, 20'000'000'000);
    const FabricConf hpcc = FabricConf::Read(OthersFile("hpcc/config.txt"));
    EXPECT_EQ(SettingOf(hpcc, "ns3::RdmaHw::CongestionControl"), "ns3::RdmaHpcc");
    EXPECT_EQ(SettingOf(hpcc, "ns3::RdmaFabric::GlobalBaseRtt"), "true");
    EXPECT_EQ(*hpcc.qlenMonStartPs, 2'000'000'000'000) << "that file counts in nanoseconds";
    EXPECT_THAT(hpcc.warnings, ElementsAre(HasSubstr("taken as nanoseconds")));
}

TEST(NearestName, CountsLettersToChange)
{
    EXPECT_EQ(EditDistance("RP_TIMR", "RP_TIMER"), 1u);
    EXPECT_EQ(EditDistance("", "abc"), 3u);
    EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
    EXPECT_EQ(EditDistance("abc", "ABC"), 0u);
    EXPECT_EQ(EditDistance("netwrok", "network"), 1u);
    EXPECT_EQ(EditDistance("Mut", "Mtu"), 1u);
    EXPECT_EQ(NearestName("rign", std::vector<std::string>{"tree", "ring", "direct"}), "ring");
}

TEST(NearestHint, NamesWhatIsNearOnly)
{
    const std::vector<std::string> names{"RTO", "tp", "network"};
    EXPECT_EQ(NearestHint("netwrk", names, "--"), "; the nearest is --network");
    EXPECT_EQ(NearestHint("neetwokr", names), "; the nearest is network");
    EXPECT_EQ(NearestHint("FOO", names), "");
    EXPECT_EQ(NearestHint("v", names), "");
    EXPECT_EQ(NearestHint("v", std::vector<std::string>{}), "");
}
