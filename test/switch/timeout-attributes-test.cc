/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Retransmission timers that run out: how long the next one takes, and which of them count. The
 * switch's link to the receiver loses everything.
 */
#include "../support/plain-fabric.h"

#include "ns3/nstime.h"
#include "ns3/uinteger.h"

#include <gtest/gtest.h>
#include <optional>

namespace ns3
{

namespace
{

constexpr const char* TO_NOWHERE = "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 1\n";

/// A frame that gets lost, with a timeout of 100 us.
class LostFrame : public PlainFabric
{
  public:
    /// @param value of an attribute of the sender's RdmaHw, or none: the default
    LostFrame(const char* attribute, std::optional<uint64_t> value)
        : PlainFabric(TO_NOWHERE, "RTO 100\n")
    {
        if (value)
        {
            fabric->GetHw(0).SetAttribute(attribute, UintegerValue(*value));
        }
        Send(0, 1, 1);
    }

    uint64_t CountTimeouts(Time until)
    {
        Simulator::Stop(until);
        Simulator::Run();
        return fabric->GetHw(0).GetCounters().timeouts;
    }
};

/// @return timeouts of a sender that is paused while its frame is under way
uint64_t
TimeoutsOfPaused(std::optional<uint64_t> mostPaused, Time until)
{
    LostFrame lost("MaxPausedTimeouts", mostPaused);
    lost.fabric->GetDevice(2, 0).SendPfc(3, true, 0);
    return lost.CountTimeouts(until);
}

} // namespace

TEST(TimeoutAttributes, MaxBackoffSaysHowOftenTheTimeoutDoubles)
{
    // It runs out at 100, 300, 700 and 1500 us.
    EXPECT_EQ(LostFrame("MaxBackoff", std::nullopt).CountTimeouts(MicroSeconds(1450)), 3U);
    EXPECT_EQ(LostFrame("MaxBackoff", std::nullopt).CountTimeouts(MicroSeconds(1550)), 4U);
    // At 100, 300, 500, ... us.
    EXPECT_EQ(LostFrame("MaxBackoff", 1).CountTimeouts(MicroSeconds(1450)), 7U);
    EXPECT_EQ(LostFrame("MaxBackoff", 0).CountTimeouts(MicroSeconds(950)), 9U);
}

TEST(TimeoutAttributes, MaxPausedTimeoutsSaysHowManyOfAPausedPortDoNotCount)
{
    EXPECT_EQ(TimeoutsOfPaused(std::nullopt, MicroSeconds(25'050)), 0U);
    EXPECT_EQ(TimeoutsOfPaused(std::nullopt, MicroSeconds(25'150)), 1U) << "the 251st";
    EXPECT_EQ(TimeoutsOfPaused(2, MicroSeconds(250)), 0U);
    EXPECT_EQ(TimeoutsOfPaused(2, MicroSeconds(350)), 1U);
    EXPECT_EQ(TimeoutsOfPaused(0, MicroSeconds(150)), 1U);
}

} // namespace ns3
