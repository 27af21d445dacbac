/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Messages that are sent with their times from a FastForward, and the same on the network itself.
 */
#ifndef FORWARDED_MESSAGES_H
#define FORWARDED_MESSAGES_H

#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "astra-frontend/model/fastforward/fast-forward.h"
#include "astra-frontend/model/fastforward/forwarded-network.h"
#include "astra-frontend/model/fastforward/fresh-simulation.h"
#include "astra-frontend/model/flow/flow-level-network.h"
#include "astra-frontend/model/network/machine-of-topology.h"
#include "collectives/model/group/mock-nccl-group.h"

#include "ns3/event-loop.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fastforward
{

using AstraSim::EventLoop;
using AstraSim::FastForward;
using AstraSim::FastForwardConfig;
using AstraSim::FastForwardReport;
using AstraSim::FlowLevelConfig;
using AstraSim::FlowLevelFabric;
using AstraSim::ForwardedNetwork;
using AstraSim::FreshSimulation;
using AstraSim::MessageInfo;
using AstraSim::MockNcclGroup;
using AstraSim::RankNetwork;
using AstraSim::ShapeFinder;
using AstraSim::TimePs;
using ns3::ClusterTopology;

/// Eight hosts on a switch, the last two of them by slower links.
inline const std::string STAR = "9 1 0 1 8 A100\n8\n"
                                "0 8 100Gbps 1us 0\n1 8 100Gbps 1us 0\n2 8 100Gbps 1us 0\n"
                                "3 8 100Gbps 1us 0\n4 8 100Gbps 1us 0\n5 8 100Gbps 1us 0\n"
                                "6 8 50Gbps 1us 0\n7 8 50Gbps 1us 0\n";

/// A message to be sent at a time, and when it arrived.
struct Message
{
    TimePs at;
    int src;
    int dst;
    uint64_t bytes;
    TimePs arrived{-1};
    TimePs acknowledged{-1};
    EventLoop* loop{nullptr};
    RankNetwork* from{nullptr};
    RankNetwork* to{nullptr};

    /// Have it sent at its time.
    void Schedule(EventLoop& clock, RankNetwork& source, RankNetwork& destination)
    {
        loop = &clock;
        from = &source;
        to = &destination;
        loop->Schedule(
            at,
            [](void* arg) { static_cast<Message*>(arg)->Send(); },
            this);
    }

    void Send()
    {
        const auto sent = [](void* arg) {
            auto* message = static_cast<Message*>(arg);
            message->acknowledged = message->loop->Now();
        };
        const auto received = [](void* arg) {
            auto* message = static_cast<Message*>(arg);
            message->arrived = message->loop->Now();
        };
        MessageInfo request;
        from->Send({dst, 0, bytes, &request, sent, this});
        to->Receive({src, 0, bytes, &request, received, this});
    }
};

/// @return messages of 16 KiB to 1 MiB between hosts of STAR, within 4 ms
inline std::vector<Message>
RandomMessages(uint32_t seed, int count)
{
    std::mt19937 random(seed);
    std::vector<Message> messages;
    for (int i = 0; i < count; ++i)
    {
        const int src = static_cast<int>(random() % 8);
        const int dst = (src + 1 + static_cast<int>(random() % 7)) % 8;
        const auto at = static_cast<TimePs>(random() % 4000) * 1'000'000;
        messages.push_back({at, src, dst, uint64_t{1 + random() % 64} << 14});
    }
    return messages;
}

/// Send @p messages on the flow-level network itself.
inline void
SendPlainly(const ClusterTopology& topology, std::vector<Message>& messages)
{
    EventLoop loop;
    FlowLevelFabric fabric(loop, topology, FlowLevelConfig{});
    for (Message& message : messages)
    {
        message.Schedule(loop, fabric.GetNetwork(message.src), fabric.GetNetwork(message.dst));
    }
    loop.Run();
}

/// Whether parts may go on on the network itself.
enum class MayGoLive
{
    No,
    Yes
};

/// A flow-level network whose patterns are simulated once.
struct ForwardedFlows
{
    /// @param likeness outlives the object
    ForwardedFlows(const ClusterTopology& likeness, FastForwardConfig config, MayGoLive mayGoLive)
        : topology(likeness),
          forward(config, fabric.GetNetwork(0), shapes, fresh)
    {
        forward.SetGiveUpHandler([this] { loop.Stop(); });
        if (mayGoLive == MayGoLive::Yes)
        {
            forward.SetLive(live);
        }
    }

    RankNetwork& NetworkOf(int rank)
    {
        return fabric.GetNetwork(rank);
    }

    const ClusterTopology& topology;
    EventLoop loop;
    FlowLevelFabric fabric{loop, topology, FlowLevelConfig{}};
    ShapeFinder shapes{topology, 0, true};
    MockNcclGroup nccl{AstraSim::MachineOfTopology(topology), {}};
    AstraSim::OperationNumbers numbers;
    FreshSimulation fresh{[this] { return fabric.MakeUnused(EventLoop::NO_LIMIT); }, nccl, numbers};
    AstraSim::LiveSimulation live{
        {[this](int rank) -> RankNetwork& { return NetworkOf(rank); },
         nccl,
         numbers,
         [this](TimePs from, const std::function<void()>& begin) { fabric.CatchUp(from, begin); },
         [this](int src, int dst) { fabric.ForgetConnections(src, dst); }}};
    FastForward forward;
    ForwardedNetwork network{topology.hostCount,
                             [this](int rank) -> RankNetwork& { return NetworkOf(rank); },
                             forward,
                             shapes};
};

/// Send @p messages with their times from patterns of the flow-level network, until reuse gives up.
inline FastForwardReport
SendForwarded(const ClusterTopology& topology,
              std::vector<Message>& messages,
              FastForwardConfig config = {.tail = 0, .tolerance = 0},
              MayGoLive mayGoLive = MayGoLive::No)
{
    ForwardedFlows flows(topology, config, mayGoLive);
    for (Message& message : messages)
    {
        message.Schedule(flows.loop,
                         flows.network.GetNetwork(message.src),
                         flows.network.GetNetwork(message.dst));
    }
    flows.loop.Run();
    EXPECT_EQ(flows.forward.HasGivenUp(), std::ranges::any_of(messages, [](const Message& message) {
                  return message.arrived < 0;
              }));
    FastForwardReport report = flows.forward.GetReport();
    report.carried.flows += flows.fabric.GetDelivered();
    report.simulatedWork += flows.fabric.GetDelivered();
    return report;
}

inline void
ExpectTheSame(const std::vector<Message>& forwarded, const std::vector<Message>& plain)
{
    for (std::size_t i = 0; i < plain.size(); ++i)
    {
        EXPECT_EQ(forwarded[i].arrived, plain[i].arrived) << "message " << i;
        EXPECT_EQ(forwarded[i].acknowledged, plain[i].acknowledged) << "message " << i;
    }
}

} // namespace fastforward

#endif /* FORWARDED_MESSAGES_H */
