/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-fabric.h"

#include "ns3/nstime.h"
#include "ns3/rdma-deadline-timer.h"
#include "ns3/simulator.h"

#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

int64_t
NowPs()
{
    return Simulator::Now().GetPicoSeconds();
}

} // namespace

TEST(DeadlineTimer, ExpiresAtTheLastDeadlineAfterItHasBeenMoved)
{
    UsePicoseconds();
    std::vector<int64_t> expiries;
    RdmaDeadlineTimer place;
    EXPECT_FALSE(place.IsMade());
    {
        RdmaDeadlineTimer timer([&expiries] { expiries.push_back(NowPs()); });
        timer.SetDeadline(1000);
        timer.SetDeadline(3000);
        place = std::move(timer);
        EXPECT_FALSE(timer.IsMade());
    }
    EXPECT_TRUE(place.IsMade());
    EXPECT_EQ(place.GetDeadline(), 3000);
    Simulator::Schedule(PicoSeconds(2000), [&place] { place.SetDeadline(2500); });
    Simulator::Run();
    EXPECT_EQ(expiries, std::vector<int64_t>{2500});
    EXPECT_FALSE(place.IsRunning());
    Simulator::Destroy();
}

TEST(DeadlineTimer, KeepsItsEventWhereItIsMadeAnew)
{
    UsePicoseconds();
    std::vector<int64_t> expiries;
    RdmaDeadlineTimer timer([&expiries] { expiries.push_back(NowPs()); });
    timer.SetDeadline(1000); // its event stays in the list
    timer.Stop();
    {
        const RdmaDeadlineTimer::Kept kept(timer);
        timer = RdmaDeadlineTimer();
        EXPECT_FALSE(timer.IsMade());
    }
    EXPECT_TRUE(timer.IsMade());
    EXPECT_FALSE(timer.IsRunning());
    timer.SetDeadline(3000);
    Simulator::Run();
    EXPECT_EQ(expiries, std::vector<int64_t>{3000});
    Simulator::Destroy();
}

TEST(DeadlineTimer, DoesNothingWhenItEndedBeforeItsDeadline)
{
    int expiries = 0;
    std::optional<RdmaDeadlineTimer> timer(std::in_place, [&expiries] { ++expiries; });
    timer->SetDeadline(NowPs() + 1000);
    timer.reset();
    Simulator::Run();
    EXPECT_EQ(expiries, 0);
    Simulator::Destroy();
}

} // namespace ns3
