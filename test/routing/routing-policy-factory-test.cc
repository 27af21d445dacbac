/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "example-topologies.h"

#include "ns3/adaptive-routing.h"
#include "ns3/flowlet-routing.h"
#include "ns3/input-error.h"
#include "ns3/routing-policy-factory.h"
#include "ns3/spray-routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace ns3;
using testing::HasSubstr;
using Routing = FabricConf::Routing;

namespace
{

FabricConf
Parse(const std::string& text)
{
    std::istringstream stream(text);
    return FabricConf::Read(stream, "c");
}

/// Two servers of four GPUs: hosts 0..7, NVSwitches 8 and 9, access switches 10..13, spines 14..16.
ClusterTopology
SmallCluster()
{
    ClusterTopology topology = RailCluster(2, 4, 1, 3);
    topology.source = "small";
    return topology;
}

std::string
ErrorOf(const std::string& text)
{
    try
    {
        RoutingBySwitch(SmallCluster(), Parse(text));
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST(RoutingPolicyFactory, LayersCountFromTheHosts)
{
    const std::vector<uint32_t> expected{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2};
    EXPECT_EQ(SwitchLayers(SmallCluster()), expected);
}

TEST(RoutingPolicyFactory, RoutingIsForNetworkSwitchesAndRoutingAtForSome)
{
    const auto routing = RoutingBySwitch(
        SmallCluster(),
        Parse("ROUTING adaptive\nROUTING_AT spray psw\nROUTING_AT flowlet 16 9-10\n"));
    EXPECT_EQ(routing[0], Routing::Ecmp) << "a host";
    EXPECT_EQ(routing[8], Routing::Ecmp) << "an NVSwitch";
    EXPECT_EQ(routing[9], Routing::Ecmp) << "an NVSwitch within a range";
    EXPECT_EQ(routing[10], Routing::Flowlet);
    EXPECT_EQ(routing[11], Routing::Adaptive);
    EXPECT_EQ(routing[14], Routing::Spray);
    EXPECT_EQ(routing[16], Routing::Flowlet) << "the last line that names it counts";
}

TEST(RoutingPolicyFactory, PlacesThatTheTopologyLacksAreNamedWithTheirLine)
{
    EXPECT_THAT(ErrorOf("ROUTING spray\nROUTING_AT ecmp core\n"),
                HasSubstr("c:2: ROUTING_AT names core, which no network switch of small is"));
    EXPECT_THAT(ErrorOf("ROUTING_AT spray 9\n"), HasSubstr("names 9"));
    EXPECT_THAT(ErrorOf("ROUTING_AT spray 17-40\n"), HasSubstr("names 17-40"));
    EXPECT_EQ(ErrorOf("ROUTING_AT spray 16-40\n"), "no error");
}

TEST(RoutingPolicyFactory, MakesThePolicyOfEachWord)
{
    EXPECT_EQ(CreateRoutingPolicy(Routing::Ecmp), nullptr);
    EXPECT_TRUE(DynamicCast<FlowletRouting>(CreateRoutingPolicy(Routing::Flowlet)));
    EXPECT_FALSE(CreateRoutingPolicy(Routing::AdaptiveFlowlet)->Reorders());
    EXPECT_TRUE(DynamicCast<AdaptiveRouting>(CreateRoutingPolicy(Routing::Adaptive))->Reorders());
    EXPECT_TRUE(DynamicCast<SprayRouting>(CreateRoutingPolicy(Routing::Spray))->Reorders());
    EXPECT_TRUE(DynamicCast<SprayRouting>(CreateRoutingPolicy(Routing::RandomSpray))->Reorders());
}
