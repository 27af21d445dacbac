/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-qbb/model/input/rdma-congestion-factory.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ns3
{
namespace
{

using testing::HasSubstr;

TEST(RdmaCongestionFactory, EachModeNumberMakesItsAlgorithm)
{
    const std::pair<const char*, const char*> expected[] = {{"0", "none"},
                                                            {"1", "DCQCN"},
                                                            {"3", "HPCC"},
                                                            {"7", "TIMELY-hpcc-artifact"},
                                                            {"8", "DCTCP"},
                                                            {"10", "HPCC-PINT"},
                                                            {"12", "none"}};
    for (const auto& [mode, name] : expected)
    {
        EXPECT_EQ(CreateCongestionOps(mode)->GetName(), name);
    }
}

TEST(RdmaCongestionFactory, EachTypeNameMakesItsAlgorithm)
{
    EXPECT_EQ(CreateCongestionOps("ns3::RdmaSwift")->GetName(), "Swift");
    EXPECT_EQ(CreateCongestionOps("RdmaDcqcnPaper")->GetName(), "DCQCN-paper");
    EXPECT_EQ(CreateCongestionOps("RdmaTimely")->GetName(), "TIMELY");
    for (const CongestionMode& mode : GetCongestionModes())
    {
        const std::string name{mode.typeName};
        EXPECT_EQ(CreateCongestionOps(name)->GetInstanceTypeId().GetName(), name);
    }
}

TEST(RdmaCongestionFactory, UnknownModeNamesOriginAndChoices)
{
    for (const char* mode : {"2", "1.5", "-1", "RdmaCubic", "ns3::Node", "ns3::RdmaHpccBase", ""})
    {
        try
        {
            CreateCongestionOps(mode, "net.conf: CC_MODE");
            FAIL() << mode;
        }
        catch (const InputError& error)
        {
            EXPECT_THAT(error.what(),
                        HasSubstr("net.conf: CC_MODE: \"" + std::string{mode} + "\""));
            EXPECT_THAT(error.what(), HasSubstr("10=RdmaHpccPint"));
            EXPECT_THAT(error.what(), HasSubstr("RdmaSwift"));
        }
    }
}

} // namespace
} // namespace ns3
