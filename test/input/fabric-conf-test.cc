/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/fabric-conf.h"
#include "ns3/input-error.h"
#include "ns3/nearest-name.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace ns3;
using testing::ElementsAre;
using testing::HasSubstr;

namespace
{

FabricConf
Parse(const std::string& text)
{
    std::istringstream stream(text);
    return FabricConf::Read(stream, "c");
}

std::string
ErrorOf(const std::string& text)
{
    try
    {
        Parse(text);
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "no error";
}

std::string
SharedFile(const std::string& name)
{
    return std::string(SHARED_DATA_DIR) + "/" + name;
}

} // namespace

TEST(FabricConf, AnEmptyFileGivesTheDocumentedDefaults)
{
    const FabricConf conf = Parse("# nothing\n\n");
    EXPECT_EQ(conf.payloadBytes, 1000u);
    EXPECT_EQ(conf.ccMode, 1u);
    EXPECT_EQ(conf.alphaResumeIntervalPs, 1'000'000);
    EXPECT_EQ(conf.rateDecreaseIntervalPs, 4'000'000);
    EXPECT_EQ(conf.rpTimerPs, 900'000'000);
    EXPECT_DOUBLE_EQ(conf.ewmaGain, 1.0 / 256);
    EXPECT_EQ(conf.dctcpRateAiBps, 1'000'000'000u);
    EXPECT_EQ(conf.monEndPs, 20'000'000'000);
    EXPECT_EQ(conf.stopTimePs, TIME_PS_MAX);
    EXPECT_TRUE(conf.warnings.empty());
}

TEST(FabricConf, ValuesBecomeBytesBitsPerSecondAndPicoseconds)
{
    const FabricConf conf = Parse("PACKET_PAYLOAD_SIZE 9000 # jumbo\n"
                                  "RP_TIMER 300.5\n"
                                  "RATE_AI 12.5MB/s\n"
                                  "BUFFER_SIZE 32\n"
                                  "SIMULATOR_STOP_TIME 4.00\n"
                                  "KMAX_MAP 2 25000000000 400 100Gbps 1600\n"
                                  "PMAX_MAP 1 25000000000 0.2\n"
                                  "FCT_OUTPUT_FILE my results/fct.txt\n"
                                  "ROUTING flowlet\n"
                                  "LOSS_RECOVERY irn\n"
                                  "QP_MODE persistent\n");
    EXPECT_EQ(conf.payloadBytes, 9000u);
    EXPECT_EQ(conf.rpTimerPs, 300'500'000);
    EXPECT_EQ(conf.rateAiBps, 100'000'000u);
    EXPECT_EQ(conf.bufferBytes, 32u * 1024 * 1024);
    EXPECT_EQ(conf.stopTimePs, 4'000'000'000'000);
    EXPECT_EQ(conf.kmaxBytes.at(25'000'000'000), 400'000u);
    EXPECT_EQ(conf.kmaxBytes.at(100'000'000'000), 1'600'000u);
    EXPECT_EQ(conf.fctOutputFile, "my results/fct.txt");
    EXPECT_EQ(conf.routing, FabricConf::Routing::Flowlet);
    EXPECT_EQ(conf.lossRecovery, FabricConf::LossRecovery::Irn);
    EXPECT_EQ(conf.qpMode, FabricConf::QpMode::Persistent);
    EXPECT_EQ(Parse("BUFFER_SIZE 1024").bufferBytes, 1024u);
    EXPECT_EQ(Parse("SIMULATOR_STOP_TIME 40000000000000.00").stopTimePs, TIME_PS_MAX);
}

TEST(FabricConf, AnUnknownKeyIsNamedWithItsLineAndTheNearestKnownKey)
{
    EXPECT_EQ(ErrorOf("CC_MODE 1\nRP_TIMR 900\n"),
              "c:2: unknown key RP_TIMR; expected a known key; the nearest is RP_TIMER");
    EXPECT_THAT(ErrorOf("cc_mode 1\n"), HasSubstr("the nearest is CC_MODE"));
}

TEST(FabricConf, AValueOutOfRangeIsNamedWithTheLegalRange)
{
    EXPECT_EQ(ErrorOf("EWMA_GAIN 1.5"),
              "c:1: EWMA_GAIN cannot be '1.5'; expected number, above 0 to 1");
    EXPECT_EQ(ErrorOf("HAS_WIN yes"), "c:1: HAS_WIN cannot be 'yes'; expected flag, 0 or 1");
    for (const char* bad : {"CC_MODE 2",
                            "CC_MODE -1",
                            "PACKET_PAYLOAD_SIZE 0",
                            "RATE_AI 50",
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
                            "REORDER_FRAMES 1",
                            "REORDER_FRAMES 65536",
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
        const bool legal = std::string(bad) == "RATE_AI 50";
        EXPECT_EQ(ErrorOf(bad) == "no error", legal) << bad;
    }
}

TEST(FabricConf, AMapWithTheWrongCountIsRefused)
{
    EXPECT_EQ(ErrorOf("KMAX_MAP 3 25000000000 400 50000000000 800"),
              "c:1: KMAX_MAP says 3 pairs and has 4 values; expected n, then 2 n values");
    EXPECT_THAT(ErrorOf("KMAX_MAP 1 25000000000"), HasSubstr("says 1 pairs and has 1 values"));
    EXPECT_THAT(ErrorOf("KMAX_MAP x 25000000000 1"), HasSubstr("says x pairs"));
    EXPECT_THAT(ErrorOf("PMAX_MAP 1 25000000000 1.2"), HasSubstr("cannot be '1.2'"));
    EXPECT_THAT(ErrorOf("KMIN_MAP 1 25Gbps 1\nKMAX_MAP 1 25Gbps 0"), HasSubstr("kmin up to kmax"));
}

TEST(FabricConf, ARateThatTheMapsDoNotListTakesTheNearestAndWarnsOnce)
{
    FabricConf conf = Parse("KMAX_MAP 2 25Gbps 400 100Gbps 1600\n"
                            "KMIN_MAP 2 25Gbps 100 100Gbps 400\n"
                            "PMAX_MAP 2 25Gbps 0.1 100Gbps 0.2\n");
    EXPECT_EQ(conf.EcnFor(100'000'000'000).kmaxBytes, 1'600'000u);
    EXPECT_TRUE(conf.warnings.empty());
    EXPECT_EQ(conf.EcnFor(40'000'000'000).kmaxBytes, 400'000u);
    EXPECT_EQ(conf.EcnFor(40'000'000'000).kminBytes, 100'000u);
    EXPECT_DOUBLE_EQ(conf.EcnFor(40'000'000'000).pmax, 0.1);
    EXPECT_THAT(conf.warnings, ElementsAre(HasSubstr("40Gbps; the nearest listed rate")));
    EXPECT_EQ(conf.EcnFor(2'400'000'000'000).kmaxBytes, 1'600'000u);
    EXPECT_EQ(conf.EcnFor(1'000'000'000).kmaxBytes, 400'000u);
    EXPECT_EQ(conf.warnings.size(), 3u);
}

TEST(FabricConf, WithoutMapsThresholdsGrowWithTheRateUnlessFlat)
{
    FabricConf conf = Parse("");
    EXPECT_EQ(conf.EcnFor(100'000'000'000).kminBytes, 400'000u);
    EXPECT_EQ(conf.EcnFor(100'000'000'000).kmaxBytes, 1'600'000u);
    FabricConf flat = Parse("KMIN 5000\nKMAX 200000\nPMAX 0.01\n");
    EXPECT_EQ(flat.EcnFor(40'000'000'000).kminBytes, 5000u);
    EXPECT_EQ(flat.EcnFor(40'000'000'000).kmaxBytes, 200'000u);
    EXPECT_DOUBLE_EQ(flat.EcnFor(40'000'000'000).pmax, 0.01);
    EXPECT_TRUE(flat.warnings.empty());
}

TEST(FabricConf, CongestionControlIsANumberOrATypeId)
{
    EXPECT_EQ(Parse("CC_MODE 12").ccMode, 0u) << "ASTRA-sim's name for none";
    EXPECT_EQ(Parse("CC_MODE 10").ccMode, 10u);
    EXPECT_EQ(Parse("CC_MODE ns3::RdmaSwift").ccTypeId, "ns3::RdmaSwift");
    EXPECT_EQ(Parse("CC_MODE ns3::RdmaSwift\nCC_MODE 3").ccTypeId, "");
}

TEST(FabricConf, LinkEventsRepeatAndZerosMeanNone)
{
    const FabricConf conf = Parse("LINK_DOWN 0 0 0\nLINK_DOWN 10.5 3 7\nLINK_UP 20 7 3\n");
    ASSERT_EQ(conf.linkEvents.size(), 2u);
    EXPECT_EQ(conf.linkEvents[0].timePs, 10'500'000);
    EXPECT_EQ(conf.linkEvents[0].a, 3u);
    EXPECT_FALSE(conf.linkEvents[0].up);
    EXPECT_EQ(conf.linkEvents[0].line, 2u);
    EXPECT_TRUE(conf.linkEvents[1].up);
}

TEST(FabricConf, RoutingIsChosenForAllAndForSomeSwitches)
{
    using Routing = FabricConf::Routing;
    const std::pair<const char*, Routing> words[] = {{"ecmp", Routing::Ecmp},
                                                     {"flowlet", Routing::Flowlet},
                                                     {"adaptive-flowlet", Routing::AdaptiveFlowlet},
                                                     {"adaptive", Routing::Adaptive},
                                                     {"spray", Routing::Spray},
                                                     {"random-spray", Routing::RandomSpray}};
    for (const auto& [word, routing] : words)
    {
        EXPECT_EQ(Parse(std::string("ROUTING ") + word).routing, routing);
    }
    const FabricConf conf = Parse("ROUTING_AT spray psw 40-47 9\nROUTING_AT ecmp core\n");
    ASSERT_EQ(conf.routingAt.size(), 2u);
    EXPECT_EQ(conf.routingAt[0].routing, Routing::Spray);
    ASSERT_EQ(conf.routingAt[0].places.size(), 3u);
    EXPECT_EQ(conf.routingAt[0].places[0].layer, 2u);
    EXPECT_EQ(conf.routingAt[0].places[1].first, 40u);
    EXPECT_EQ(conf.routingAt[0].places[1].last, 47u);
    EXPECT_EQ(conf.routingAt[0].places[2].last, 9u);
    EXPECT_EQ(conf.routingAt[1].line, 2u);
    EXPECT_THAT(ErrorOf("ROUTING_AT spray tor"), HasSubstr("asw, psw, core, node ids"));
}

TEST(FabricConf, AFlagWinsOverTheFile)
{
    FabricConf conf = Parse("CC_MODE 1\n");
    conf.Set("CC_MODE=3", "command line");
    conf.Set("SEED 7", "command line");
    conf.Check();
    EXPECT_EQ(conf.ccMode, 3u);
    EXPECT_EQ(conf.seed, 7u);
    EXPECT_TRUE(conf.IsGiven("SEED"));
    EXPECT_FALSE(conf.IsGiven("RTO"));
    EXPECT_THROW(conf.Set("SEDE=7", "command line"), InputError);
    EXPECT_THROW(conf.Set("", "command line"), InputError);
}

TEST(FabricConf, AKeyWithoutEffectWarns)
{
    EXPECT_THAT(Parse("L2_WAIT_FOR_ACK 0").warnings,
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
        EXPECT_THAT(FabricConfMarkdown(), HasSubstr("| `" + key.name + "` |"));
        if (!key.defaultValue.empty() && key.name != "SIMULATOR_STOP_TIME")
        {
            EXPECT_EQ(ErrorOf(key.name + " " + key.defaultValue), "no error") << key.name;
        }
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(FabricConf, ValuesInForceReadBackToThemselves)
{
    FabricConf conf =
        Parse("CC_MODE ns3::RdmaSwift\nRP_TIMER 300.5\nEWMA_GAIN 0.00390625\n"
              "KMAX_MAP 2 25Gbps 400 100Gbps 1600.5\nPMAX_MAP 1 25Gbps 0.2\n"
              "BUFFER_SIZE 32\nRATE_AI 12.5MB/s\nROUTING adaptive-flowlet\nKMIN 5000\n"
              "ROUTING_AT spray asw 40-47\n"
              "SIMULATOR_STOP_TIME 4.5\nLINK_DOWN 10.5 3 7\nFLOW_FILE a b.txt\n"
              "NODE_DOWN 7.25 12\nNODE_UP 9 12\nQUEUE_WEIGHT 4 3\n");
    const auto values = FabricConfValues(conf);
    std::string text;
    for (const auto& [key, value] : values)
    {
        text += key + " " + value + "\n";
    }
    EXPECT_THAT(text, HasSubstr("KMAX_MAP 2 25000000000 400 100000000000 1600.5\n"));
    EXPECT_THAT(text, HasSubstr("RP_TIMER 300.5\n"));
    EXPECT_THAT(text, HasSubstr("BUFFER_SIZE 32\n"));
    EXPECT_THAT(text, HasSubstr("SEED 1\n")) << "defaults too";
    EXPECT_THAT(text, testing::Not(HasSubstr("LINK_UP"))) << "what has no value is left out";
    EXPECT_EQ(FabricConfValues(Parse(text)), values);
}

TEST(FabricConf, FilesOfTheOtherSimulatorsAreReadUnchanged)
{
    if (!std::filesystem::exists(SHARED_DATA_DIR))
    {
        GTEST_SKIP() << "no shared data";
    }
    const FabricConf simai = FabricConf::Read(SharedFile("simai/SimAI.conf"));
    EXPECT_EQ(simai.payloadBytes, 9000u);
    EXPECT_EQ(simai.kmaxBytes.at(1'600'000'000'000), 2'400'000u);
    EXPECT_EQ(simai.bwMonIntervalPs, 10'000'000'000);
    EXPECT_TRUE(simai.warnings.empty());
    const FabricConf astra = FabricConf::Read(SharedFile("astra-sim/network/config.txt"));
    EXPECT_EQ(astra.ccMode, 0u);
    EXPECT_TRUE(astra.hasWindow);
    EXPECT_EQ(astra.qlenMonEndPs, 20'000'000'000);
    const FabricConf hpcc = FabricConf::Read(SharedFile("hpcc/config.txt"));
    EXPECT_EQ(hpcc.ccMode, 3u);
    EXPECT_TRUE(hpcc.globalT);
    EXPECT_EQ(hpcc.qlenMonStartPs, 2'000'000'000'000) << "that file counts in nanoseconds";
    EXPECT_THAT(hpcc.warnings, ElementsAre(HasSubstr("taken as nanoseconds")));
}

TEST(NearestName, CountsLettersToChange)
{
    EXPECT_EQ(EditDistance("RP_TIMR", "RP_TIMER"), 1u);
    EXPECT_EQ(EditDistance("", "abc"), 3u);
    EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
    EXPECT_EQ(EditDistance("abc", "ABC"), 0u);
    EXPECT_EQ(NearestName("rign", std::vector<std::string>{"tree", "ring", "direct"}), "ring");
}
