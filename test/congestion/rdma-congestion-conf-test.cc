/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/applied-conf.h"
#include "../../contrib/rdma-qbb/test/text-fabric.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/input-error.h"
#include "ns3/nstime.h"
#include "ns3/pint-encoder.h"
#include "ns3/rdma-hw.h"
#include "ns3/uinteger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace ns3
{
namespace
{

using testing::HasSubstr;

/// @return the congestion control of a host that is made with that configuration
Ptr<RdmaCongestionOps>
Make(const std::string& text)
{
    UsePicoseconds();
    const AppliedConf applied(text, "net.conf");
    return CreateObject<RdmaHw>()->GetCongestionOps();
}

template <typename Value>
auto
Get(const Ptr<RdmaCongestionOps>& ops, const char* name)
{
    Value value;
    ops->GetAttribute(name, value);
    return value.Get();
}

TEST(RdmaCongestionConf, KeysSetDcqcn)
{
    auto ops = Make("CC_MODE 1\nALPHA_RESUME_INTERVAL 2\nRATE_DECREASE_INTERVAL 8\nRP_TIMER 900\n"
                    "CLAMP_TARGET_RATE 1\nEWMA_GAIN 0.00390625\nFAST_RECOVERY_TIMES 3\n"
                    "RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nMIN_RATE 200Mb/s\n");
    EXPECT_EQ(ops->GetName(), "DCQCN");
    EXPECT_EQ(Get<TimeValue>(ops, "AlphaResumeInterval"), MicroSeconds(2));
    EXPECT_EQ(Get<TimeValue>(ops, "RateDecreaseInterval"), MicroSeconds(8));
    EXPECT_EQ(Get<TimeValue>(ops, "RpTimer"), MicroSeconds(900));
    EXPECT_TRUE(Get<BooleanValue>(ops, "ClampTargetRate"));
    EXPECT_EQ(Get<DoubleValue>(ops, "EwmaGain"), 1.0 / 256);
    EXPECT_EQ(Get<UintegerValue>(ops, "FastRecoveryTimes"), 3u);
    EXPECT_EQ(Get<DataRateValue>(ops, "RateAi").GetBitRate(), 50000000u);
    EXPECT_EQ(Get<DataRateValue>(ops, "RateHai").GetBitRate(), 100000000u);
    EXPECT_EQ(Get<DataRateValue>(ops, "MinRate").GetBitRate(), 200000000u);
    EXPECT_FALSE(Get<BooleanValue>(ops, "ScaleIncrease")) << "the file's rates are for its links";
}

TEST(RdmaCongestionConf, KeysThatAreNotGivenLeaveTheAlgorithmsDefaults)
{
    auto ops = Make("CC_MODE ns3::RdmaDcqcnPaper\n");
    EXPECT_EQ(ops->GetName(), "DCQCN-paper");
    EXPECT_EQ(Get<TimeValue>(ops, "RpTimer"), MicroSeconds(55));
    EXPECT_EQ(Get<UintegerValue>(ops, "FastRecoveryTimes"), 5u);
}

TEST(RdmaCongestionConf, KeysSetHpccAndPint)
{
    for (const std::string mode : {"3", "10"})
    {
        const std::string text = "CC_MODE " + mode +
                                 "\nU_TARGET 0.9\nMI_THRESH 0\nFAST_REACT 0\nMULTI_RATE 1\n"
                                 "SAMPLE_FEEDBACK 1\nPINT_LOG_BASE 1.01\nPINT_PROB 0.5\n";
        auto ops = Make(text);
        EXPECT_EQ(Get<DoubleValue>(ops, "TargetUtilization"), 0.9);
        EXPECT_EQ(Get<UintegerValue>(ops, "MaxStage"), 0u);
        EXPECT_FALSE(Get<BooleanValue>(ops, "FastReact"));
        EXPECT_FALSE(Get<BooleanValue>(ops, "RateBased")) << "unless the file gives RATE_AI";
        if (mode == "3")
        {
            EXPECT_TRUE(Get<BooleanValue>(ops, "MultiRate"));
            EXPECT_TRUE(Get<BooleanValue>(ops, "SampleFeedback"));
        }
        else
        {
            EXPECT_EQ(Get<DoubleValue>(ops, "LogBase"), 1.01);
            EXPECT_EQ(Get<DoubleValue>(ops, "FeedbackProbability"), 0.5);
        }
        EXPECT_TRUE(Get<BooleanValue>(Make(text + "RATE_AI 50Mb/s\n"), "RateBased"));
    }
}

TEST(RdmaCongestionConf, GainOfDctcpWinsOverTheGainOfBoth)
{
    EXPECT_EQ(Get<DoubleValue>(Make("CC_MODE 8\nEWMA_GAIN 0.25\n"), "EwmaGain"), 0.25);
    EXPECT_EQ(Get<DoubleValue>(Make("CC_MODE 8\nDCTCP_GAIN 0.5\nEWMA_GAIN 0.25\n"), "EwmaGain"),
              0.5);
    EXPECT_EQ(Get<DoubleValue>(Make("CC_MODE 1\nDCTCP_GAIN 0.5\nEWMA_GAIN 0.25\n"), "EwmaGain"),
              0.25);
}

TEST(RdmaCongestionConf, KeysOfOtherAlgorithmsChangeNothing)
{
    auto dctcp = Make("CC_MODE 8\nRATE_AI 50Mb/s\n");
    EXPECT_EQ(Get<DataRateValue>(dctcp, "RateAi").GetBitRate(), 1000000000u);
    EXPECT_FALSE(Get<BooleanValue>(dctcp, "RateBased"));
    EXPECT_TRUE(Get<BooleanValue>(Make("CC_MODE 8\nDCTCP_RATE_AI 615Mb/s\n"), "RateBased"));
}

TEST(RdmaCongestionConf, IllegalValuesNameTheirKey)
{
    const char* illegal[] = {"EWMA_GAIN 1.5",
                             "U_TARGET 0.001",
                             "U_TARGET 95",
                             "PINT_LOG_BASE 1",
                             "PINT_LOG_BASE 3",
                             "PINT_PROB 0",
                             "RP_TIMER -1",
                             "RATE_AI fast"};
    for (const std::string line : illegal)
    {
        const std::string key = line.substr(0, line.find(' '));
        const std::string mode = key.starts_with("PINT") ? "10" : key == "U_TARGET" ? "3" : "1";
        try
        {
            Make("CC_MODE " + mode + "\n" + line + "\n");
            FAIL() << line;
        }
        catch (const InputError& error)
        {
            EXPECT_THAT(error.what(), HasSubstr("net.conf:"));
            EXPECT_THAT(error.what(), HasSubstr(key));
            EXPECT_THAT(error.what(), HasSubstr("; expected "));
        }
    }
}

TEST(RdmaCongestionConf, PintEncoderHasTheSendersLogBase)
{
    const AppliedConf applied("CC_MODE 10\nPINT_LOG_BASE 1.01\n");
    DoubleValue logBase;
    CreateObject<PintEncoder>()->GetAttribute("LogBase", logBase);
    EXPECT_EQ(logBase.Get(), 1.01);
}

TEST(RdmaCongestionConf, UnknownModeNamesTheFile)
{
    EXPECT_THROW(Make("CC_MODE ns3::RdmaCubic\n"), InputError);
}

} // namespace
} // namespace ns3
