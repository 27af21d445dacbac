/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FIFOs that are full, and the sizes from which a tree is faster than a star.
 */
#include "accl-star.h"

#include "ns3/test.h"

using namespace ns3;

namespace
{

/// A receive of so many elements by rendezvous, called by a kernel.
void
CallReceive(AcclStar& star, uint32_t rank, uint32_t peer, uint32_t tag)
{
    CcloDriver& driver = *star.drivers[rank];
    const auto buffer = driver.Allocate(1000, CcloDataType::Float32);
    driver.GetEngine()->Call(driver.MakeCall({.operation = CcloOperation::Recv,
                                              .count = 1000,
                                              .peer = peer,
                                              .tag = tag,
                                              .result = buffer}),
                             {});
}

} // namespace

/// The processor waits for room that only it could make.
class RetryFifoTestCase : public TestCase
{
  public:
    RetryFifoTestCase()
        : TestCase("With more calls put off than RetryFifoDepth, the engine is stuck and says so")
    {
    }

  private:
    /// @return what rank 0 waits for with two receives that nobody sends to
    static std::string WaitsWith(uint32_t depth)
    {
        Config::SetDefault("ns3::CcloFirmware::RetryFifoDepth", UintegerValue(depth));
        AcclStar star(3);
        Config::SetDefault("ns3::CcloFirmware::RetryFifoDepth", UintegerValue(4));
        CallReceive(star, 0, 1, 7);
        CallReceive(star, 0, 2, 7);
        Simulator::Run();
        return star.Waits();
    }

    void DoRun() override
    {
        const std::string stuck = "rank 0: Recv of 1000 elements waits for ever for room in the "
                                  "retry queue, which holds 1 calls";
        NS_TEST_EXPECT_MSG_NE(WaitsWith(1).find(stuck), std::string::npos, "one has room");
        NS_TEST_EXPECT_MSG_EQ(WaitsWith(2).find(stuck), std::string::npos, "both have");
    }
};

/// Back-pressure of what peers say.
class NotificationFifoTestCase : public TestCase
{
  public:
    NotificationFifoTestCase()
        : TestCase("Addresses beyond NotificationFifoDepth wait in front, and come in their turn")
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::CcloFirmware::NotificationFifoDepth", UintegerValue(2));
        AcclStar star(2);
        Config::SetDefault("ns3::CcloFirmware::NotificationFifoDepth", UintegerValue(512));
        for (uint32_t tag = 0; tag < 4; ++tag)
        {
            CallReceive(star, 0, 1, tag);
        }
        Simulator::Run();
        const std::string waits = star.Waits();
        const std::string part = "rank 1: 2 messages wait in front of the firmware, which has 2 "
                                 "notifications that no call has used; the first is of rank 0";
        NS_TEST_EXPECT_MSG_NE(waits.find(part), std::string::npos, waits);
        for (uint32_t tag = 0; tag < 4; ++tag)
        {
            star.CallSend(1, 0, tag, 1000);
        }
        const bool ended = star.Run();
        NS_TEST_EXPECT_MSG_EQ(ended, true, "all are sent");
        NS_TEST_EXPECT_MSG_EQ(star.Waits(), "", "and received");
    }
};

/// Where a binomial tree overtakes a root that writes to each.
class CrossoverTestCase : public TestCase
{
  public:
    CrossoverTestCase()
        : TestCase("Flat and binomial broadcasts cross where their closed forms do")
    {
    }

  private:
    static constexpr uint32_t FRAME = 4096;

    /// @return picoseconds of a broadcast of so many full frames
    static double BroadcastPs(uint32_t ranks, bool flat, uint32_t frames)
    {
        AcclStar star(ranks, [&](CcloHelper& helper) {
            helper.SetDriverAttribute("BcastFlatMaxRanks", UintegerValue(flat ? ranks : 1));
        });
        star.Run();
        const Time start = Simulator::Now();
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            const uint32_t count = frames * FRAME / 4;
            star.Call(rank,
                      {.operation = CcloOperation::Bcast,
                       .count = count,
                       .op0 = star.drivers[rank]->Allocate(count, CcloDataType::Float32)});
        }
        star.Run();
        return static_cast<double>((star.lastEnd - start).GetPicoSeconds());
    }

    void DoRun() override
    {
        for (const auto& [ranks, rounds] : {std::pair{4U, 2U}, std::pair{8U, 3U}})
        {
            // A frame more costs its time on a wire for each copy that leaves after the other.
            const double framePs = (FRAME + 82) * 80;
            const double flatSlope = (ranks - 1) * framePs;
            const double treeSlope = rounds * framePs;
            // Large enough that the wire, not the firmware, is what a write waits for; small enough
            // for the protocol engine's send buffer.
            const uint32_t first = 4;
            const uint32_t last = 6;
            const double flat = BroadcastPs(ranks, true, first);
            const double tree = BroadcastPs(ranks, false, first);
            NS_TEST_EXPECT_MSG_EQ_TOL(BroadcastPs(ranks, true, last) - flat,
                                      (last - first) * flatSlope,
                                      1,
                                      "the root's link carries every copy");
            NS_TEST_EXPECT_MSG_EQ_TOL(BroadcastPs(ranks, false, last) - tree,
                                      (last - first) * treeSlope,
                                      1,
                                      "each round carries one");
            const double crossing = first + (tree - flat) / (flatSlope - treeSlope);
            const auto below = static_cast<uint32_t>(crossing);
            NS_TEST_EXPECT_MSG_LT(BroadcastPs(ranks, true, below),
                                  BroadcastPs(ranks, false, below),
                                  "flat is faster up to " << crossing << " frames");
            NS_TEST_EXPECT_MSG_GT(BroadcastPs(ranks, true, below + 1),
                                  BroadcastPs(ranks, false, below + 1),
                                  "and the tree beyond");
        }
    }
};

/// Tests of limits.
class AcclCcloLimitsTestSuite : public TestSuite
{
  public:
    AcclCcloLimitsTestSuite()
        : TestSuite("accl-cclo-limits", Type::UNIT)
    {
        AddTestCase(new RetryFifoTestCase);
        AddTestCase(new NotificationFifoTestCase);
        AddTestCase(new CrossoverTestCase);
    }
};

static AcclCcloLimitsTestSuite g_acclCcloLimitsTestSuite; //!< registers the suite
