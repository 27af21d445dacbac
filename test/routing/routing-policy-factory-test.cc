/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/applied-conf.h"
#include "example-topologies.h"
#include "rdma-qbb/model/routing/routing-policy-factory.h"

#include "ns3/input-error.h"
#include "ns3/simulator.h"
#include "ns3/switch-node.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

using namespace ns3;
using testing::HasSubstr;

namespace
{

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
        const AppliedConf applied(text, "c");
        RoutingBySwitch(SmallCluster(), applied.conf);
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
    const AppliedConf applied(
        "ROUTING adaptive\nROUTING_AT spray psw\nROUTING_AT flowlet 16 9-10\n");
    const auto types = RoutingBySwitch(SmallCluster(), applied.conf);
    std::vector<std::string> routing;
    std::transform(types.begin(), types.end(), std::back_inserter(routing), [](TypeId each) {
        return each.GetName();
    });
    EXPECT_EQ(routing[0], "ns3::EcmpRouting") << "a host";
    EXPECT_EQ(routing[8], "ns3::EcmpRouting") << "an NVSwitch";
    EXPECT_EQ(routing[9], "ns3::EcmpRouting") << "an NVSwitch within a range";
    EXPECT_EQ(routing[10], "ns3::FlowletRouting");
    EXPECT_EQ(routing[11], "ns3::AdaptiveRouting");
    EXPECT_EQ(routing[14], "ns3::SprayRouting");
    EXPECT_EQ(routing[16], "ns3::FlowletRouting") << "the last line that names it counts";
}

TEST(RoutingPolicyFactory, PlacesThatTheTopologyLacksAreNamedWithTheirLine)
{
    EXPECT_THAT(ErrorOf("ROUTING spray\nROUTING_AT ecmp core\n"),
                HasSubstr("c:2: ROUTING_AT names core, which no network switch of small is"));
    EXPECT_THAT(ErrorOf("ROUTING_AT spray 9\n"), HasSubstr("names 9"));
    EXPECT_THAT(ErrorOf("ROUTING_AT spray 17-40\n"), HasSubstr("names 17-40"));
    EXPECT_EQ(ErrorOf("ROUTING_AT spray 16-40\n"), "no error");
}

TEST(RoutingPolicyFactory, ASwitchMakesThePolicyThatItsAttributeNames)
{
    const auto policyOf = [](const char* name) {
        Ptr<SwitchNode> node = CreateObject<SwitchNode>();
        node->SetRoutingPolicyType(TypeId::LookupByName(name));
        return node->GetRoutingPolicy();
    };
    EXPECT_EQ(policyOf("ns3::EcmpRouting"), nullptr) << "built in";
    EXPECT_FALSE(policyOf("ns3::FlowletRouting")->Reorders());
    EXPECT_FALSE(policyOf("ns3::AdaptiveFlowletRouting")->Reorders());
    EXPECT_TRUE(policyOf("ns3::AdaptiveRouting")->Reorders());
    EXPECT_TRUE(policyOf("ns3::SprayRouting")->Reorders());
    EXPECT_TRUE(policyOf("ns3::RandomSprayRouting")->Reorders());
    Simulator::Destroy();
}
