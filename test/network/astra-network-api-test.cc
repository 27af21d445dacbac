/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ASTRA-sim's network API on the networks of this project: code in its spelling, with closed forms.
 */
#include "../support/loopback-network.h"
#include "astra-frontend/model/flow/flow-level-network.h"

#include "ns3/astra-network-api.h"
#include "ns3/event-loop.h"

#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <vector>

namespace AstraSim
{
namespace
{

/// A rank of an all-gather around a ring, as a system layer written for ASTRA-sim has it.
class RingRank
{
  public:
    RingRank(AstraNetworkAPI& network, uint64_t bytes)
        : m_network(network),
          m_bytes(bytes)
    {
    }

    void Start()
    {
        m_network.sim_schedule({US, 3}, &RingRank::NextStep, this);
    }

    double GetEndNs() const
    {
        return m_endNs;
    }

  private:
    static void NextStep(void* arg)
    {
        auto& self = *static_cast<RingRank*>(arg);
        const int ranks = self.m_network.sim_comm_get_size();
        if (self.m_step == ranks - 1)
        {
            self.m_endNs = self.m_network.sim_get_time().time_val;
            self.m_network.sim_notify_finished();
            return;
        }
        const int rank = self.m_network.sim_comm_get_rank();
        sim_request request;
        request.reqCount = self.m_bytes;
        const int tag = self.m_step++;
        const int next = (rank + 1) % ranks;
        const int previous = (rank + ranks - 1) % ranks;
        self.m_network
            .sim_send(nullptr, self.m_bytes, UINT8, next, tag, &request, nullptr, nullptr);
        self.m_network
            .sim_recv(nullptr, self.m_bytes, UINT8, previous, tag, &request, &NextStep, arg);
    }

    AstraNetworkAPI& m_network;
    uint64_t m_bytes;
    int m_step{0};
    double m_endNs{0};
};

TEST(AstraNetworkApi, ARingWrittenForAstraSimTakesItsSteps)
{
    constexpr int RANKS = 5;
    LoopbackNetwork loopback(RANKS, 1'000'000, 50e9); // 1 us, 50 GB/s
    std::vector<std::unique_ptr<ASTRASimNetwork>> networks;
    std::deque<RingRank> ranks;
    for (int rank = 0; rank < RANKS; ++rank)
    {
        networks.push_back(std::make_unique<ASTRASimNetwork>(loopback.At(rank)));
        ranks.emplace_back(*networks.back(), 100'000);
        ranks.back().Start();
    }
    loopback.Run();
    // It begins after 3 us; each of 4 steps takes 1 us and 100,000 bytes / 50 GB/s = 2 us.
    for (const RingRank& rank : ranks)
    {
        EXPECT_DOUBLE_EQ(rank.GetEndNs(), 3'000 + 4 * 3'000);
    }
    EXPECT_EQ(loopback.Finished(), 5U);
}

TEST(AstraNetworkApi, EveryUnitOfTimeIsUnderstood)
{
    LoopbackNetwork loopback(1, 0, 0);
    ASTRASimNetwork network(loopback.At(0), AstraNetworkAPI::BackendType::Analytical);
    EXPECT_EQ(network.get_backend_type(), AstraNetworkAPI::BackendType::Analytical);
    const std::pair<timespec_t, TimePs> delays[] = {{{FS, 500'000}, 500},
                                                    {{NS, 0.25}, 250},
                                                    {{US, 7}, 7'000'000},
                                                    {{MS, 2}, 2'000'000'000},
                                                    {{SE, 1}, 1'000'000'000'000}};
    for (const auto& [delay, ps] : delays)
    {
        const TimePs before = loopback.Now();
        network.sim_schedule(
            delay,
            [](void*) {},
            nullptr);
        EXPECT_EQ(loopback.Run() - before, ps);
    }
    EXPECT_EQ(network.sim_get_time().time_res, NS);
    EXPECT_DOUBLE_EQ(network.sim_get_time().time_val, 1'002'007'000.75);
}

TEST(AstraNetworkApi, AMessageOnASimulatedNetworkTakesItsTime)
{
    std::istringstream text("4 1 0 1 3 H100\n3\n0 3 100Gbps 0.001ms 0\n1 3 100Gbps 0.001ms 0\n"
                            "2 3 100Gbps 0.001ms 0\n");
    const auto topology = ns3::ClusterTopology::Read(text, "star");
    EventLoop loop;
    FlowLevelFabric fabric(loop, topology, FlowLevelConfig{});
    ASTRASimNetwork sender(fabric.GetNetwork(0));
    ASTRASimNetwork receiver(fabric.GetNetwork(1));
    sim_request request;
    TimePs at = -1;
    std::pair<EventLoop*, TimePs*> mark{&loop, &at};
    const auto received = [](void* arg) {
        auto& [clock, time] = *static_cast<std::pair<EventLoop*, TimePs*>*>(arg);
        *time = clock->Now();
    };
    receiver.sim_recv(nullptr, 1000, UINT8, 0, 1, &request, received, &mark);
    sender.sim_send(nullptr, 1000, UINT8, 1, 1, &request, nullptr, nullptr);
    loop.Run();
    // A frame of 1,000 + 82 bytes at 100 Gb/s, stored once, over two links of 1 us.
    EXPECT_EQ(at, 2 * (1082 * 80 + 1'000'000));
}

} // namespace
} // namespace AstraSim
