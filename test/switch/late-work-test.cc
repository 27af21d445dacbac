/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Late work of a host's port, with its own time: it sends the next frame when one ends, or when a
 * queue pair's gap is over. All times follow from rates, sizes and delays.
 */
#include "../support/plain-fabric.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/pointer.h"

#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace ns3
{

namespace
{

// Hosts 0 to 2 at switch 3, by links so short that a paced sender's is idle between two frames.
constexpr const char* LATE_STAR =
    "4 1 3\n3\n0 3 100Gbps 25ns 0\n1 3 100Gbps 25ns 0\n2 3 100Gbps 25ns 0\n";
constexpr int64_t LATE_DELAY_PS = 25'000;
constexpr int64_t PS_PER_BYTE = 80;
constexpr uint64_t OVERHEAD = 82;
constexpr uint64_t LATE_WIRE_BYTES = PlainFabric::PAYLOAD + OVERHEAD;
constexpr int64_t LATE_FRAME_PS = LATE_WIRE_BYTES * PS_PER_BYTE;
constexpr int64_t ANSWER_PS = 84 * PS_PER_BYTE;

constexpr uint64_t TENTH = 10'000'000'000;
constexpr int64_t GAP_PS =
    10 * LATE_FRAME_PS; ///< between the begins of frames at a tenth of the rate

RdmaConnectionOptions
Paced(uint64_t rateBps)
{
    RdmaConnectionOptions options;
    options.rateCapBps = rateBps;
    return options;
}

/// @return when a frame that host 0 begins to send is at a host beyond the idle switch
int64_t
ArrivalOf(int64_t begunPs, int64_t framePs)
{
    return begunPs + 2 * (framePs + LATE_DELAY_PS);
}

/// @return events of a run in which host 0 sends so many frames at a tenth of the rate
uint64_t
EventsOfPaced(uint64_t frames, bool watched, std::vector<int64_t>& timesPs)
{
    PlainFabric star(LATE_STAR);
    if (watched)
    {
        star.Watch(0, 0);
    }
    star.Send(0, 2, frames, Paced(TENTH));
    Simulator::Run();
    timesPs = star.timesPs;
    if (watched)
    {
        // Frames are seen when they begin; their answers when they are back.
        EXPECT_EQ(star.seenPs.size(), 2 * frames);
        for (std::size_t k = 0; k < frames; ++k)
        {
            EXPECT_EQ(star.seenPs[2 * k], static_cast<int64_t>(k) * GAP_PS) << k;
        }
    }
    return Simulator::GetEventCount();
}

/// @return when a message of two frames is delivered whose rate is doubled between them
int64_t
DeliveredWhenFaster(int64_t timePs)
{
    PlainFabric star(LATE_STAR);
    RdmaQueuePair* qp = star.fabric->GetDriver(0)->Connect(2, Paced(2 * TENTH));
    qp->SetRate(TENTH);
    star.Post(*qp, 2 * PlainFabric::PAYLOAD);
    Simulator::Schedule(TimeStep(timePs), [qp] { qp->SetRate(2 * TENTH); });
    Simulator::Run();
    return star.timesPs.at(0);
}

/**
 * Two queue pairs of host 0 wait for their gaps to end, the link being idle: a first one with a
 * full frame that is to go at GAP_PS, and another with a small frame that is to go before that one
 * would end. Then something happens by which the first one does not go.
 * @param prevent what happens, to the fabric and the first queue pair
 * @param priority the other one's
 */
void
ExpectSmallFrameInTime(const std::function<void(PlainFabric&, RdmaQueuePair&)>& prevent,
                       uint8_t priority = 3)
{
    constexpr uint64_t SMALL = 10;
    constexpr int64_t SMALL_PS = (SMALL + OVERHEAD) * PS_PER_BYTE;
    constexpr uint64_t OTHER_RATE = 10'820'000'000; // a frame takes 800 ns
    constexpr int64_t OTHER_GAP_PS = 800'000;
    PlainFabric star(LATE_STAR);
    RdmaQueuePair* first = star.fabric->GetDriver(0)->Connect(1, Paced(TENTH));
    star.fabric->GetHw(0).PostMessage(*first, 2 * PlainFabric::PAYLOAD, nullptr, nullptr);
    RdmaConnectionOptions options = Paced(OTHER_RATE);
    options.priority = priority;
    RdmaQueuePair* other = star.Send(0, 2, 1, options);
    star.Post(*other, SMALL);
    Simulator::Schedule(NanoSeconds(700), [&] { prevent(star, *first); });
    constexpr int64_t BEGUN_PS = LATE_FRAME_PS + OTHER_GAP_PS;
    static_assert(GAP_PS < BEGUN_PS && BEGUN_PS + SMALL_PS < GAP_PS + LATE_FRAME_PS);
    const int64_t deliveredPs = ArrivalOf(BEGUN_PS, SMALL_PS);
    Simulator::Schedule(TimeStep(deliveredPs + 1), [&star] {
        EXPECT_EQ(star.timesPs.size(), 3U) << "it is there by then, and not only says so later";
    });
    Simulator::Stop(MicroSeconds(3));
    Simulator::Run();
    ASSERT_EQ(star.timesPs.size(), 4U);
    EXPECT_EQ(star.timesPs[2], deliveredPs);
    EXPECT_EQ(star.timesPs[3], ArrivalOf(deliveredPs, ANSWER_PS));
}

/// Observations of everything at many times that have nothing to do with frames.
struct Seen
{
    std::vector<uint64_t> answers;
    std::vector<int64_t> timesPs;
    uint64_t events{0};

    bool operator==(const Seen& other) const
    {
        return answers == other.answers && timesPs == other.timesPs;
    }
};

/**
 * Two senders, one of them paced, meet at the switch's port to host 2.
 * @param sendEvents LinkEngine's attribute
 * @param asks whether somebody asks
 */
Seen
Look(bool sendEvents, bool asks)
{
    Config::SetDefault("ns3::LinkEngine::SendEvents", BooleanValue(sendEvents));
    Seen seen;
    {
        PlainFabric star(LATE_STAR);
        RdmaFabric& fabric = *star.fabric;
        const std::vector<const RdmaQueuePair*> pairs{star.Send(0, 2, 200, Paced(4 * TENTH)),
                                                      star.Send(0, 1, 50),
                                                      star.Send(1, 2, 150, Paced(8 * TENTH))};
        PointerValue mmuValue;
        fabric.GetSwitch(3)->GetAttribute("Mmu", mmuValue);
        const Ptr<SwitchMmu> mmu = mmuValue.Get<SwitchMmu>();
        const auto look = [&] {
            // Before anybody else asks the switch.
            seen.answers.push_back(mmu->GetCounts().GetTotalBytes());
            const int64_t nowPs = Simulator::Now().GetTimeStep();
            for (const RdmaQueuePair* qp : pairs)
            {
                for (const uint64_t value :
                     {qp->GetSndNxt(), qp->GetHighestSent(), qp->GetInFlight(), qp->sndUna})
                {
                    seen.answers.push_back(value);
                }
            }
            for (uint16_t port = 0; port < 3; ++port)
            {
                const QbbNetDevice& device = fabric.GetDevice(3, port);
                seen.answers.push_back(device.GetQueueBytes());
                seen.answers.push_back(device.GetCounters(nowPs).rxFrames);
                seen.answers.push_back(static_cast<uint64_t>(device.GetBusyUntilPs()));
                seen.answers.push_back(fabric.GetDevice(port, 0).GetTxBytes());
                seen.answers.push_back(fabric.GetHw(port).GetCounters().sentPayload);
                seen.answers.push_back(fabric.GetHw(port).GetCounters().receivedPayload);
            }
            for (const uint64_t value : {mmu->GetCounts().GetSharedUsed(),
                                         mmu->GetCounts().GetPeakBytes(),
                                         mmu->GetCounts().GetIngressBytes(0, 3),
                                         mmu->GetCounts().GetHeadroomBytes(0, 3),
                                         mmu->GetCounts().GetEgressBytes(2, 3),
                                         mmu->GetThreshold(0, 3)})
            {
                seen.answers.push_back(value);
            }
        };
        for (int64_t timePs = 1'234'567; asks && timePs < 60'000'000; timePs += 91'357)
        {
            Simulator::Schedule(TimeStep(timePs), look);
        }
        Simulator::Run();
        seen.timesPs = star.timesPs;
        seen.events = Simulator::GetEventCount();
    }
    Config::SetDefault("ns3::LinkEngine::SendEvents", BooleanValue(false));
    return seen;
}

} // namespace

TEST(LateWork, WhoAsksAtAnyTimeSeesWhatHeWouldSeeIfEverythingWereAnEvent)
{
    const Seen late = Look(false, true);
    const Seen exact = Look(true, true);
    EXPECT_GT(late.answers.size(), 10'000U);
    EXPECT_TRUE(late == exact);
    EXPECT_LT(late.events, exact.events);
    EXPECT_EQ(late.timesPs, Look(false, false).timesPs) << "asking changes nothing";
}

TEST(LateWork, AFrameOfAPacedQueuePairCostsItsArrivals)
{
    std::vector<int64_t> unwatched;
    std::vector<int64_t> watched;
    std::vector<int64_t> few;
    // It arrives at the switch and at the host, its answer at the switch and at the sender.
    EXPECT_EQ(EventsOfPaced(60, false, unwatched) - EventsOfPaced(20, false, few), 40U * 4);
    EventsOfPaced(60, true, watched);
    EXPECT_EQ(watched, unwatched) << "who watches changes nothing";
    const int64_t deliveredPs = ArrivalOf(59 * GAP_PS, LATE_FRAME_PS);
    EXPECT_EQ(unwatched, (std::vector{deliveredPs, ArrivalOf(deliveredPs, ANSWER_PS)}));
}

TEST(LateWork, WhoAsksBetweenTwoFramesSeesWhatHasBeenSent)
{
    PlainFabric star(LATE_STAR);
    const RdmaQueuePair* qp = star.Send(0, 2, 60, Paced(TENTH));
    for (const int64_t frames : {1, 7, 30, 59})
    {
        Simulator::Schedule(TimeStep(frames * GAP_PS - 1), [&star, qp, frames] {
            const auto sent = static_cast<uint64_t>(frames);
            EXPECT_EQ(star.fabric->GetDevice(0, 0).GetTxBytes(), sent * LATE_WIRE_BYTES);
            EXPECT_EQ(star.fabric->GetHw(0).GetCounters().sentPayload, sent * PlainFabric::PAYLOAD);
            EXPECT_EQ(qp->GetSndNxt(), sent * PlainFabric::PAYLOAD);
        });
    }
    Simulator::Run();
    EXPECT_EQ(star.timesPs.size(), 2U);
}

TEST(LateWork, WhoKeepsABufferSeesEachOfItsQueuesAsItIs)
{
    // Two hosts at full speed: the queue of their port grows by a frame per frame's time.
    PlainFabric star(LATE_STAR);
    PointerValue value;
    star.fabric->GetSwitch(3)->GetAttribute("Mmu", value);
    const Ptr<SwitchMmu> mmu = value.Get<SwitchMmu>();
    star.Send(0, 2, 40);
    star.Send(1, 2, 40);
    constexpr int64_t FIRST_PS = LATE_FRAME_PS + LATE_DELAY_PS; // the first two are at the switch
    for (const int64_t frames : {3, 9, 20})
    {
        const auto ask = [mmu, bytes = static_cast<uint64_t>(frames) * LATE_WIRE_BYTES] {
            EXPECT_EQ(mmu->GetCounts().GetEgressBytes(2, 3), bytes);
            EXPECT_EQ(mmu->GetCounts().GetTotalBytes(), bytes);
            EXPECT_EQ(mmu->GetCounts().GetIngressBytes(0, 3) +
                          mmu->GetCounts().GetIngressBytes(1, 3),
                      bytes);
        };
        Simulator::Schedule(TimeStep(FIRST_PS + (frames - 1) * LATE_FRAME_PS + 1), ask);
    }
    // From the last arrivals on, it shrinks as steadily.
    for (const int64_t left : {30, 10, 1})
    {
        const int64_t timePs = FIRST_PS + (80 - left) * LATE_FRAME_PS - 1;
        Simulator::Schedule(TimeStep(timePs), [mmu, left] {
            EXPECT_EQ(mmu->GetCounts().GetEgressBytes(2, 3),
                      static_cast<uint64_t>(left) * LATE_WIRE_BYTES);
        });
    }
    Simulator::Run();
}

TEST(LateWork, CountersAreThoseOfWhenOneAsked)
{
    PlainFabric star(LATE_STAR);
    const auto& early = star.fabric->GetHw(0).GetCounters();
    star.Send(0, 2, 60, Paced(TENTH));
    Simulator::Schedule(TimeStep(7 * GAP_PS - 1), [&star, &early] {
        EXPECT_EQ(early.sentPayload, 0U);
        EXPECT_EQ(star.fabric->GetHw(0).GetCounters().sentPayload, 7 * PlainFabric::PAYLOAD);
    });
    Simulator::Run();
}

TEST(LateWork, AHigherRateBringsTheNextFrameForward)
{
    EXPECT_EQ(DeliveredWhenFaster(300'000), ArrivalOf(GAP_PS / 2, LATE_FRAME_PS));
}

TEST(LateWork, AGapThatIsOverAtAHigherRateEndsAtOnce)
{
    EXPECT_EQ(DeliveredWhenFaster(700'000), ArrivalOf(700'000, LATE_FRAME_PS));
}

TEST(LateWork, AMessageOfAnotherQueuePairDoesNotWaitForTheGap)
{
    PlainFabric star(LATE_STAR);
    star.Send(0, 1, 2, Paced(TENTH));
    Simulator::Schedule(NanoSeconds(400), [&star] { star.Send(0, 2, 1); });
    Simulator::Run();
    ASSERT_EQ(star.timesPs.size(), 4U);
    EXPECT_EQ(star.timesPs[0], ArrivalOf(400'000, LATE_FRAME_PS));
    EXPECT_EQ(star.timesPs[2], ArrivalOf(GAP_PS, LATE_FRAME_PS));
}

TEST(LateWork, GapsThatEndTogetherAreServedInTheOrderInWhichTheyBegan)
{
    // The second pair begins a frame later, and its gap is shorter by as much.
    constexpr uint64_t SMALL = 10;
    PlainFabric star(LATE_STAR);
    RdmaHw& hw = star.fabric->GetHw(0);
    RdmaQueuePair* first = star.fabric->GetDriver(0)->Connect(1, Paced(TENTH));
    hw.PostMessage(*first, 2 * PlainFabric::PAYLOAD, nullptr, nullptr);
    RdmaQueuePair* second = star.fabric->GetDriver(0)->Connect(2, Paced(100'000'000'000 / 9));
    hw.PostMessage(*second, PlainFabric::PAYLOAD, nullptr, nullptr);
    star.Post(*second, SMALL);
    Simulator::Run();
    ASSERT_EQ(star.timesPs.size(), 2U);
    EXPECT_EQ(star.timesPs[0], ArrivalOf(GAP_PS + LATE_FRAME_PS, (SMALL + OVERHEAD) * PS_PER_BYTE));
}

TEST(LateWork, ASmallFrameIsInTimeWhenAFullOneBeforeItIsDelayed)
{
    ExpectSmallFrameInTime([](PlainFabric&, RdmaQueuePair& qp) { qp.SetRate(TENTH / 10); });
}

TEST(LateWork, ASmallFrameIsInTimeWhenAFullOneBeforeItIsForgotten)
{
    ExpectSmallFrameInTime([](PlainFabric&, RdmaQueuePair& qp) { qp.hw->Close(qp); });
}

TEST(LateWork, ASmallFrameIsInTimeWhenAFullOneBeforeItIsPaused)
{
    const auto pause = [](PlainFabric& star, RdmaQueuePair&) {
        star.fabric->GetDevice(3, 0).SendPfc(3, true, Simulator::Now().GetTimeStep());
    };
    ExpectSmallFrameInTime(pause, 4);
}

TEST(LateWork, AGapGoesOnWhileTheLinkIsDown)
{
    // The second frame's time comes while the link is down, the third one's when it is up again.
    PlainFabric star(LATE_STAR, "RTO 1000\n");
    star.Send(0, 2, 3, Paced(TENTH));
    Simulator::Schedule(NanoSeconds(500),
                        &RdmaFabric::SetLinkUp,
                        PeekPointer(star.fabric),
                        0,
                        false);
    constexpr int64_t UP_PS = 1'000'000;
    Simulator::Schedule(TimeStep(UP_PS), &RdmaFabric::SetLinkUp, PeekPointer(star.fabric), 0, true);
    Simulator::Run();
    static_assert(GAP_PS < UP_PS && UP_PS < 2 * GAP_PS);
    ASSERT_EQ(star.timesPs.size(), 2U);
    EXPECT_EQ(star.timesPs[0], ArrivalOf(UP_PS + GAP_PS, LATE_FRAME_PS));
    EXPECT_EQ(star.fabric->GetTotals().framesInUse, 0U);
}

TEST(LateWork, WhoBeginsToLookSeesTheNextFrameAtItsTime)
{
    PlainFabric star(LATE_STAR);
    star.Send(0, 2, 3, Paced(TENTH));
    Simulator::Schedule(NanoSeconds(500), [&star] { star.Watch(0, 0); });
    Simulator::Run();
    ASSERT_EQ(star.seenPs.size(), 4U) << "two frames and two answers";
    EXPECT_EQ(star.seenPs[0], GAP_PS);
    EXPECT_EQ(star.seenPs[2], 2 * GAP_PS);
}

} // namespace ns3
