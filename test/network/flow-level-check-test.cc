/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FlowLevelCheck: what links have carried against the messages that were sent over them.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "simulator/back-ends/flow-level-check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

using namespace AstraSim;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace
{

/// Three hosts on a switch (node 3), checked.
class CheckedFabric : public testing::Test
{
  protected:
    explicit CheckedFabric(const char* topology =
                               "4 1 0 1 3 H100\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n"
                               "2 3 100Gbps 1us 0\n")
        : m_topology(ns3::ReadTopology(topology, "test")),
          m_use(std::make_unique<ns3::LinkUse>(m_topology))
    {
        FlowLevelConfig config;
        config.nvlinkFrames = {4096, 0, 84, 0};
        m_fabric = std::make_unique<FlowLevelFabric>(m_loop, m_topology, config);
        m_fabric->CountIn(*m_use);
        const FlowLevelCheck::Overhead overhead{config.networkFrames,
                                                config.nvlinkFrames,
                                                1,
                                                false};
        m_check = std::make_unique<FlowLevelCheck>(
            m_loop,
            *m_fabric,
            *m_use,
            overhead,
            [this](const std::string& what) { m_said.push_back(what); });
    }

    void Send(uint32_t src, uint32_t dst, uint64_t bytes)
    {
        m_fabric->StartBackground({src, dst, bytes, 3, 100, nullptr, nullptr});
    }

    EventLoop m_loop;
    ns3::ClusterTopology m_topology;
    std::unique_ptr<ns3::LinkUse> m_use;
    std::unique_ptr<FlowLevelFabric> m_fabric;
    std::vector<std::string> m_said;
    std::unique_ptr<FlowLevelCheck> m_check;
};

/// Three GPUs of a server on an NVSwitch (node 3), checked.
class CheckedServer : public CheckedFabric
{
  protected:
    CheckedServer()
        : CheckedFabric("4 3 1 0 3 H100\n3\n0 3 2880Gbps 25ns 0\n1 3 2880Gbps 25ns 0\n"
                        "2 3 2880Gbps 25ns 0\n")
    {
    }

    void Reduce(uint64_t bytes, double inflation)
    {
        const int members[] = {0, 1, 2};
        MessageInfo info;
        info.wireInflation = inflation;
        for (const int rank : members)
        {
            ASSERT_TRUE(m_fabric->GetNetwork(rank).Join(
                {InNetworkOp::ReduceMulticast, members, 0, 7, bytes, &info, [](void*) {}}));
        }
    }
};

} // namespace

TEST_F(CheckedServer, HoldsWhereAProtocolAddsBytesToAReductionInASwitch)
{
    for (uint64_t bytes = 1; bytes < 1'000'000; bytes = 3 * bytes + 1)
    {
        Reduce(bytes, 1);
        Reduce(bytes, 1.0896);
    }
    m_loop.Run();
    m_check->Finish(true);
    EXPECT_THAT(m_said, IsEmpty());
}

TEST_F(CheckedFabric, HoldsForAnyMessages)
{
    for (uint64_t bytes = 1; bytes < 1'000'000; bytes = 3 * bytes + 1)
    {
        Send(0, 1, bytes);
        Send(2, 1, bytes);
        Send(1, 2, bytes);
    }
    m_loop.Run();
    m_check->Finish(true);
    EXPECT_THAT(m_said, IsEmpty());
}

TEST_F(CheckedFabric, NamesTheLinkThatLacksBytesOfItsMessages)
{
    Send(0, 1, 10'000);
    m_loop.Run();
    m_use->Add(3, 1, 0, 1, 5'000, 0); // counted and not sent
    m_check->Finish(true);
    // Ten frames of 1000 bytes with 82 of headers each.
    EXPECT_THAT(m_said,
                ElementsAre(HasSubstr("node 3 port 2 has carried 10820 bytes; its messages have "
                                      "15000")));
}

TEST_F(CheckedFabric, NamesTheLinkThatCarriesWhatNobodySent)
{
    Send(0, 1, 10'000);
    const MaxMinSolver::Use stray[] = {{4, 1}}; // from host 2
    FluidTransfers::Request request;
    request.uses = stray;
    request.bytes = 50'000;
    request.onReached = [](void*) {};
    request.onDrained = [](void*) {};
    m_fabric->GetTransfers().Start(request);
    m_loop.Run();
    m_check->Finish(true);
    EXPECT_THAT(
        m_said,
        ElementsAre(HasSubstr("node 2 port 1 has carried 50000 bytes; its messages have 0")));
}
