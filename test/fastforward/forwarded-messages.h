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
#include <gtest/gtest.h>
#include <memory>
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

/// Send @p messages with their times from patterns of the flow-level network, until reuse gives up.
inline FastForwardReport
SendForwarded(const ClusterTopology& topology,
              std::vector<Message>& messages,
              FastForwardConfig config = {.tail = 0, .tolerance = 0})
{
    EventLoop loop;
    FlowLevelFabric fabric(loop, topology, FlowLevelConfig{});
    const auto network = [&fabric](int rank) -> RankNetwork& { return fabric.GetNetwork(rank); };
    ShapeFinder shapes(topology, 0, true);
    MockNcclGroup nccl(AstraSim::MachineOfTopology(topology), {});
    FreshSimulation fresh([&fabric] { return fabric.MakeUnused(EventLoop::NO_LIMIT); }, nccl);
    FastForward forward(config, fabric.GetNetwork(0), shapes, fresh);
    forward.SetGiveUpHandler([&loop] { loop.Stop(); });
    ForwardedNetwork forwarded(topology.hostCount, network, forward, shapes);
    for (Message& message : messages)
    {
        message.Schedule(loop,
                         forwarded.GetNetwork(message.src),
                         forwarded.GetNetwork(message.dst));
    }
    loop.Run();
    EXPECT_EQ(forward.HasGivenUp(), std::ranges::any_of(messages, [](const Message& message) {
                  return message.arrived < 0;
              }));
    return forward.GetReport();
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
