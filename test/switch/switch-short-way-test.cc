/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A frame that finds its egress idle passes a switch by a short way. A port whose queues are
 * watched uses the long one: outcomes must be the same.
 */
#include "../../contrib/rdma-qbb/test/text-fabric.h"

#include "ns3/callback.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ns3
{

namespace
{

/// Hosts 0..5 at two leaves (6, 7) with one spine (8), slower than the hosts together.
constexpr const char* TOPOLOGY = "9 3 8\n6 7 8\n"
                                 "0 6 100Gbps 1us 0\n1 6 100Gbps 1us 0\n2 6 100Gbps 1us 0\n"
                                 "3 7 100Gbps 1us 0\n4 7 100Gbps 1us 0\n5 7 100Gbps 1us 0\n"
                                 "6 8 200Gbps 1us 0\n7 8 200Gbps 1us 0\n";
constexpr uint32_t FIRST_SWITCH = 6;
constexpr uint32_t NODES = 9;

/// Everything of a run that the way through switches could change.
struct ShortWayOutcome
{
    std::vector<int64_t> timesPs; ///< of completions, in order
    std::vector<uint64_t> ports;  ///< counters of all switch ports
    std::vector<uint64_t> peaks;  ///< of all buffers
    uint64_t events;
    uint64_t pauses{0}; ///< PFC frames sent by switches

    bool operator==(const ShortWayOutcome&) const = default;
};

void
CountEnqueue(uint64_t* count, Ptr<const QbbNetDevice>, const QbbFrame&)
{
    ++*count;
}

/// Run @p bytes from every host to host 0 and back. @param enqueued if set, counts watched frames
ShortWayOutcome
RunFlows(const std::string& confText, uint64_t bytes, uint64_t* enqueued)
{
    const BuiltFabric text(TOPOLOGY, confText);
    const Ptr<RdmaFabric> fabric = text.fabric;
    fabric->AssignStreams(1);
    if (enqueued)
    {
        for (uint32_t node = FIRST_SWITCH; node < NODES; ++node)
        {
            for (uint16_t port = 0; port < fabric->GetSwitch(node)->GetPortCount(); ++port)
            {
                fabric->GetDevice(node, port)
                    .TraceConnectWithoutContext("FrameEnqueue",
                                                MakeBoundCallback(&CountEnqueue, enqueued));
            }
        }
    }
    ShortWayOutcome outcome;
    const auto note = [&outcome] { outcome.timesPs.push_back(Simulator::Now().GetTimeStep()); };
    for (uint32_t host = 1; host < FIRST_SWITCH; ++host)
    {
        for (const auto& [from, to] : {std::pair{host, 0U}, std::pair{0U, host}})
        {
            RdmaQueuePair* qp = fabric->GetDriver(from)->Connect(to, {});
            fabric->GetHw(from).PostMessage(*qp, bytes, note, note);
        }
    }
    Simulator::Run();
    outcome.events = Simulator::GetEventCount();
    for (uint32_t node = FIRST_SWITCH; node < NODES; ++node)
    {
        const SwitchNode& hub = *fabric->GetSwitch(node);
        outcome.peaks.push_back(hub.GetMmu()->GetCounts().GetPeakBytes());
        for (uint16_t port = 0; port < hub.GetPortCount(); ++port)
        {
            const QbbPortCounters counters =
                hub.GetPort(port).GetCounters(Simulator::Now().GetTimeStep());
            outcome.pauses += counters.pfcSent;
            outcome.ports.insert(outcome.ports.end(),
                                 {counters.txFrames,
                                  counters.txBytes,
                                  counters.rxFrames,
                                  counters.pfcSent,
                                  static_cast<uint64_t>(counters.pausedPs),
                                  static_cast<uint64_t>(counters.busyPs)});
        }
    }
    return outcome;
}

} // namespace

TEST(SwitchShortWay, HasTheOutcomeOfTheLongWay)
{
    // DCQCN, HPCC with its telemetry, HPCC-PINT with its random rounding, TIMELY with ACKs that
    // ignore pauses, none with pauses.
    for (const std::string extra : {"CC_MODE 1\nBUFFER_SIZE 32\n",
                                    "CC_MODE 3\nBUFFER_SIZE 32\n",
                                    "CC_MODE 10\nBUFFER_SIZE 32\n",
                                    "CC_MODE 7\nBUFFER_SIZE 32\nACK_HIGH_PRIO 1\n",
                                    "CC_MODE 0\nHAS_WIN 0\nBUFFER_SIZE 1\n"})
    {
        const std::string conf = "PACKET_PAYLOAD_SIZE 1000\n" + extra;
        uint64_t enqueued = 0;
        const ShortWayOutcome longWay = RunFlows(conf, 300'000, &enqueued);
        EXPECT_GT(enqueued, 10'000U) << "watched frames go through queues";
        EXPECT_EQ(longWay.timesPs.size(), 20U);
        EXPECT_EQ(longWay.pauses > 0, extra.starts_with("CC_MODE 0")) << longWay.pauses;
        ShortWayOutcome shortWay = RunFlows(conf, 300'000, nullptr);
        EXPECT_LT(shortWay.events, longWay.events) << "ends of transmissions need none";
        shortWay.events = longWay.events;
        EXPECT_TRUE(shortWay == longWay) << extra;
    }
}

} // namespace ns3
