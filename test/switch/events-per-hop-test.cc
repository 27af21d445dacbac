/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ends of transmissions cost no event. These tests count the events that are left, and see that
 * nobody notices a difference and that everybody who looks sees the present state. Hosts are in
 * late-work-test.cc.
 */
#include "../support/plain-fabric.h"

#include <gtest/gtest.h>
#include <vector>

namespace ns3
{

namespace
{

using Fabric = PlainFabric;
constexpr uint64_t PAYLOAD = PlainFabric::PAYLOAD;

/// Two GPUs at an NVSwitch.
constexpr const char* SERVER = "3 2 1 0 2 A100\n2\n0 2 2400Gbps 25ns 0\n1 2 2400Gbps 25ns 0\n";
constexpr int64_t NVLINK_DELAY_PS = 25'000;
constexpr int64_t NVLINK_FRAME_PS = 1000 * 8 * 1000 / 2400; // rounded up below

/// Hosts 0 to 2 at a switch.
constexpr const char* STAR = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n";
constexpr int64_t DELAY_PS = 1'000'000;
constexpr uint64_t WIRE_BYTES = 1082;
constexpr int64_t FRAME_PS = 1082 * 80;

/// @return events of a run of a message of so many frames between the GPUs
uint64_t
EventsOfServer(uint64_t frames, bool watched, std::vector<int64_t>* times = nullptr)
{
    Fabric server(SERVER);
    if (watched)
    {
        server.Watch(1, 0);
    }
    server.Send(0, 1, frames);
    Simulator::Run();
    EXPECT_EQ(server.seenPs.size(), watched ? frames + 1 : 0) << "the frames, and one answer";
    EXPECT_EQ(server.fabric->GetTotals().framesInUse, 0U);
    if (times)
    {
        *times = server.timesPs;
        times->insert(times->end(), server.seenPs.begin(), server.seenPs.end());
    }
    return Simulator::GetEventCount();
}

/// @return events of a run in which hosts 0 and 1 send so many frames each to host 2
uint64_t
EventsOfStar(uint64_t frames, bool watched, std::vector<int64_t>* times)
{
    Fabric star(STAR);
    if (watched)
    {
        star.Watch(3, 2);
    }
    star.Send(0, 2, frames);
    star.Send(1, 2, frames);
    Simulator::Run();
    *times = star.timesPs;
    return Simulator::GetEventCount();
}

} // namespace

TEST(EventsPerHop, AFrameOnNvlinkCostsItsTwoArrivals)
{
    std::vector<int64_t> unwatched;
    std::vector<int64_t> watched;
    EXPECT_EQ(EventsOfServer(60, false, &unwatched) - EventsOfServer(20, false), 40U * 2);
    EXPECT_EQ(EventsOfServer(60, true, &watched) - EventsOfServer(20, true), 40U * 2);
    ASSERT_EQ(unwatched.size(), 2U);
    EXPECT_EQ(std::vector(watched.begin(), watched.begin() + 2), unwatched)
        << "who watches changes nothing";
    // A watched frame is seen when it arrives: one after the other, stored once at the switch.
    const int64_t frame = NVLINK_FRAME_PS + 1;
    for (std::size_t k = 0; k < 60; ++k)
    {
        EXPECT_EQ(watched[2 + k], static_cast<int64_t>(k + 2) * frame + 2 * NVLINK_DELAY_PS) << k;
    }
}

TEST(EventsPerHop, CountersAreUpToDateForWhoAsksAmidArrivals)
{
    Fabric server(SERVER);
    server.Send(0, 1, 60);
    const int64_t frame = NVLINK_FRAME_PS + 1;
    for (const int64_t arrived : {1, 7, 30, 59})
    {
        Simulator::Schedule(
            TimeStep((arrived + 1) * frame + frame / 2 + 2 * NVLINK_DELAY_PS),
            [&server, arrived] {
                const auto frames = static_cast<uint64_t>(arrived);
                EXPECT_EQ(server.fabric->GetHw(1).GetCounters().receivedPayload, frames * PAYLOAD);
                const int64_t nowPs = Simulator::Now().GetTimeStep();
                EXPECT_EQ(server.fabric->GetDevice(1, 0).GetCounters(nowPs).rxFrames, frames);
                EXPECT_EQ(server.fabric->GetTotals().dataPayloadReceived, frames * PAYLOAD);
            });
    }
    Simulator::Run();
    EXPECT_EQ(server.timesPs.size(), 2U);
}

TEST(EventsPerHop, AFrameThatWaitsAtASwitchCostsNoMoreThanOthers)
{
    // It arrives at the switch and at the host, its answer at the switch and at the sender.
    std::vector<int64_t> few;
    std::vector<int64_t> unwatched;
    std::vector<int64_t> watched;
    EXPECT_EQ(EventsOfStar(90, false, &unwatched) - EventsOfStar(50, false, &few), 2U * 40 * 4);
    EXPECT_EQ(EventsOfStar(90, true, &watched) - EventsOfStar(50, true, &few), 2U * 40 * 5);
    EXPECT_EQ(watched, unwatched);
}

TEST(EventsPerHop, QueuesAreUpToDateForWhoAsks)
{
    constexpr int64_t FRAMES = 50;
    Fabric star(STAR);
    star.Send(0, 2, FRAMES);
    star.Send(1, 2, FRAMES);
    // The first frame arrives at FRAME_PS + DELAY_PS; from then on the port to host 2 is busy.
    for (const int64_t ended : {0, 3, 55, 80, 98})
    {
        Simulator::Schedule(
            TimeStep(FRAME_PS + DELAY_PS + ended * FRAME_PS + FRAME_PS / 2),
            [&star, ended] {
                const auto begun = static_cast<uint64_t>(ended + 1);
                const auto arrived = static_cast<uint64_t>(std::min(2 * (ended + 1), 2 * FRAMES));
                const QbbNetDevice& port = star.fabric->GetDevice(3, 2);
                EXPECT_EQ(port.GetTxBytes(), begun * WIRE_BYTES);
                EXPECT_EQ(port.GetQueueBytes(3), (arrived - begun) * WIRE_BYTES);
                EXPECT_EQ(port.GetBusyUntilPs(), Simulator::Now().GetTimeStep() + FRAME_PS / 2);
                EXPECT_EQ(star.fabric->GetSwitch(3)->GetMmu()->GetCounts().GetTotalBytes(),
                          (arrived - begun) * WIRE_BYTES);
                uint64_t queued = 0;
                port.ForEachQueued(3, [&queued](const QbbFrame&) { ++queued; });
                EXPECT_EQ(queued, arrived - begun);
            });
    }
    Simulator::Run();
    EXPECT_EQ(star.timesPs.size(), 4U);
}

TEST(EventsPerHop, ACutLosesWhatHasNotArrivedAndNothingElse)
{
    // Frames arrive until the receiver's link is cut; the rest is sent again afterwards.
    Fabric server(SERVER, "RTO 50\n");
    server.Send(0, 1, 200);
    const int64_t frame = NVLINK_FRAME_PS + 1;
    constexpr int64_t ARRIVED = 70;
    Simulator::Schedule(TimeStep((ARRIVED + 1) * frame + frame / 2 + 2 * NVLINK_DELAY_PS),
                        [&server] {
                            server.fabric->SetLinkUp(1, false);
                            EXPECT_EQ(server.fabric->GetHw(1).GetCounters().receivedPayload,
                                      static_cast<uint64_t>(ARRIVED) * PAYLOAD);
                        });
    Simulator::Schedule(MicroSeconds(5),
                        &RdmaFabric::SetLinkUp,
                        PeekPointer(server.fabric),
                        1,
                        true);
    Simulator::Run();
    EXPECT_EQ(server.timesPs.size(), 2U) << "the message is whole in the end";
    const FabricTotals totals = server.fabric->GetTotals();
    EXPECT_EQ(totals.dataPayloadSent, totals.dataPayloadReceived + totals.payloadLost);
    EXPECT_EQ(server.fabric->GetHw(1).GetCounters().deliveredBytes, 200 * PAYLOAD);
    EXPECT_EQ(totals.framesInUse, 0U);
}

} // namespace ns3
