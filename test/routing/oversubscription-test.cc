/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-qbb/model/paths/oversubscription.h"

#include "ns3/cluster-topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// @return the ratio of a topology of so many hosts, then switches; each link is "a b rate"
double
RatioOf(uint32_t hosts, uint32_t switches, const std::vector<std::string>& links)
{
    std::string text = fmt::format("{} {} {}\n", hosts + switches, switches, links.size());
    for (uint32_t id = hosts; id < hosts + switches; ++id)
    {
        text += fmt::format("{} ", id);
    }
    for (const std::string& link : links)
    {
        text += "\n" + link + "Gbps 1us 0";
    }
    std::istringstream file(text + "\n");
    return FindOversubscription(ClusterTopology::Read(file, "text"));
}

} // namespace

TEST(Oversubscription, IsOfHostsToUplinks)
{
    // Four hosts and one uplink of the same rate at each of two leaves.
    std::vector<std::string> links{"8 10 100", "9 10 100"};
    for (uint32_t host = 0; host < 8; ++host)
    {
        links.push_back(fmt::format("{} {} 100", host, host < 4 ? 8 : 9));
    }
    EXPECT_DOUBLE_EQ(RatioOf(8, 3, links), 4);
    links[0] = "8 10 400";
    links[1] = "9 10 400";
    EXPECT_DOUBLE_EQ(RatioOf(8, 3, links), 1);
    links[0] = "8 10 800"; // more than hosts can use
    EXPECT_DOUBLE_EQ(RatioOf(8, 3, links), 1);
}

TEST(Oversubscription, IsOfTheNarrowestTier)
{
    // Two hosts at each of four leaves, two leaves at each aggregation switch, one core: 800 to 100
    // Gb/s.
    EXPECT_DOUBLE_EQ(RatioOf(8,
                             7,
                             {"0 8 100",
                              "1 8 100",
                              "2 9 100",
                              "3 9 100",
                              "4 10 100",
                              "5 10 100",
                              "6 11 100",
                              "7 11 100",
                              "8 12 100",
                              "9 12 100",
                              "10 13 100",
                              "11 13 100",
                              "12 14 50",
                              "13 14 50"}),
                     8);
}

TEST(Oversubscription, OfOneSwitchIsNone)
{
    EXPECT_DOUBLE_EQ(RatioOf(2, 1, {"0 2 100", "1 2 25"}), 1);
}
