/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Messages that begin while others of their pattern are under way.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "astra-frontend/model/fastforward/side-simulation.h"
#include "astra-frontend/model/flow/flow-level-network.h"

#include "ns3/event-loop.h"

#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <vector>

using AstraSim::EventLoop;
using AstraSim::FlowLevelConfig;
using AstraSim::FlowLevelFabric;
using AstraSim::PartOperation;
using AstraSim::PartOutcome;
using AstraSim::PartPattern;
using AstraSim::RankNetwork;
using AstraSim::SideSimulation;
using AstraSim::TimePs;
using ns3::CarriedTraffic;

namespace
{

/// Simulations of messages between four hosts on a switch, and how often one began from the first
/// start of its pattern.
class FourHosts
{
  public:
    FourHosts()
        : m_begun(static_cast<int*>(::mmap(nullptr,
                                           2 * sizeof(int),
                                           PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS,
                                           -1,
                                           0)))
    {
        m_side.Start();
    }

    ~FourHosts()
    {
        ::munmap(m_begun, 2 * sizeof(int));
    }

    FourHosts(const FourHosts&) = delete;
    FourHosts& operator=(const FourHosts&) = delete;

    PartOutcome Simulate(const PartPattern& pattern)
    {
        return m_side.Simulate(pattern);
    }

    int CountFromTheFirst() const
    {
        return m_begun[0];
    }

    /// @return how many copies of the process have been told that nobody looks at the network
    int CountUnwatched() const
    {
        return m_begun[1];
    }

  private:
    int* m_begun; ///< both counts, shared with the copies
    EventLoop m_loop;
    ns3::ClusterTopology m_topology{
        ns3::ReadTopology("5 1 0 1 4 A100\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n"
                          "2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n")};
    FlowLevelFabric m_fabric{m_loop, m_topology, FlowLevelConfig{}};
    SideSimulation m_side{{[this](int rank) -> RankNetwork& { return m_fabric.GetNetwork(rank); },
                           nullptr,
                           [this] {
                               ++*m_begun;
                               m_loop.Run();
                           },
                           [this] { return CarriedTraffic{.flows = m_fabric.GetDelivered()}; },
                           [](int) { return 0U; },
                           true,
                           [this] { ++m_begun[1]; }}};
};

PartOperation
MessageOf(int src, int dst)
{
    PartOperation message;
    message.isMessage = true;
    message.group.ranks = {src, dst};
    message.request.bytes = 1 << 20;
    return message;
}

} // namespace

TEST(SideSimulation, GoesOnWhereMoreBegins)
{
    // Messages to one host of random others begin within the 84 us that each takes alone.
    std::mt19937 random(5);
    for (int round = 0; round < 10; ++round)
    {
        FourHosts stepwise;
        std::vector<PartOperation> messages;
        std::vector<TimePs> starts;
        for (int i = 0; i < 8; ++i)
        {
            messages.push_back(MessageOf(1 + static_cast<int>(random() % 3), 0));
            const auto gap = static_cast<TimePs>(1 + random() % 50'000'000);
            starts.push_back(starts.empty() ? 0 : starts.back() + gap);
        }
        PartPattern pattern;
        for (std::size_t i = 0; i < messages.size(); ++i)
        {
            pattern.push_back({&messages[i], {starts[i], starts[i]}});
            const PartOutcome outcome = stepwise.Simulate(pattern);
            EXPECT_EQ(outcome.ends, FourHosts().Simulate(pattern).ends);
            EXPECT_EQ(outcome.traffic.flows, i + 1);
        }
        EXPECT_EQ(stepwise.CountFromTheFirst(), 1);
    }
}

// That takes memory of the copy's own.
TEST(SideSimulation, OneCopyIsToldThatNobodyLooksAndOnlyWhenItIsNeeded)
{
    const PartOperation message = MessageOf(0, 1);
    FourHosts hosts;
    EXPECT_EQ(hosts.CountUnwatched(), 0);
    for (TimePs start = 0; start < 3; ++start)
    {
        hosts.Simulate({{&message, {0, start}}});
        EXPECT_EQ(hosts.CountUnwatched(), 1);
    }
}

TEST(SideSimulation, GoesOnWithTheOtherRankOfAMessage)
{
    const PartOperation message = MessageOf(0, 1);
    FourHosts hosts;
    const PartOutcome sent = hosts.Simulate({{&message, {0, AstraSim::NO_TIME}}});
    EXPECT_EQ(sent.ends.front()[1], AstraSim::NO_TIME);
    const TimePs late = 500'000'000;
    EXPECT_EQ(hosts.Simulate({{&message, {0, late}}}).ends.front()[1], late);
    EXPECT_EQ(hosts.CountFromTheFirst(), 1);
}

TEST(SideSimulation, BeginsAnewWhereThePastIsAnother)
{
    constexpr TimePs US = 1'000'000;
    const PartOperation first = MessageOf(1, 0);
    const PartOperation second = MessageOf(2, 0);
    const PartOperation third = MessageOf(3, 0);
    FourHosts hosts;
    hosts.Simulate({{&first, {0, 0}}, {&second, {20 * US, 20 * US}}});
    EXPECT_EQ(hosts.CountFromTheFirst(), 1);
    // Not after the last start that the copy has simulated; then at another time.
    hosts.Simulate({{&first, {0, 0}}, {&second, {20 * US, 20 * US}}, {&third, {20 * US, 20 * US}}});
    EXPECT_EQ(hosts.CountFromTheFirst(), 2);
    hosts.Simulate({{&first, {0, 0}}, {&second, {19 * US, 19 * US}}, {&third, {30 * US, 30 * US}}});
    EXPECT_EQ(hosts.CountFromTheFirst(), 3);
    // The same once more; then of other hosts.
    hosts.Simulate({{&first, {0, 0}}, {&second, {20 * US, 20 * US}}});
    EXPECT_EQ(hosts.CountFromTheFirst(), 4);
    hosts.Simulate({{&third, {0, 0}}, {&second, {20 * US, 20 * US}}, {&first, {30 * US, 30 * US}}});
    EXPECT_EQ(hosts.CountFromTheFirst(), 5);
}

TEST(SideSimulation, OnlySomeCopiesWait)
{
    constexpr TimePs US = 1'000'000;
    const PartOperation first = MessageOf(1, 0);
    const PartOperation second = MessageOf(2, 0);
    FourHosts hosts;
    for (TimePs i = 1; i <= 40; ++i)
    {
        hosts.Simulate({{&first, {0, i}}});
    }
    const auto goOn = [&](TimePs which) {
        hosts.Simulate({{&first, {0, which}}, {&second, {20 * US, 20 * US}}});
        return hosts.CountFromTheFirst();
    };
    EXPECT_EQ(goOn(40), 40);
    EXPECT_EQ(goOn(1), 41) << "forgotten";
}
