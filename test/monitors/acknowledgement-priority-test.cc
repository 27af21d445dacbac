/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-run.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/simulator.h"

#include <gtest/gtest.h>
#include <string>

/**
 * @file
 * ACK_HIGH_PRIO does what it does in the HPCC simulator: it spares acknowledgements the pauses of
 * their NIC, and no queue of a switch.
 */
namespace ns3
{
namespace
{

constexpr int64_t FULL_FRAME_PS = 1082 * 80; // at 100 Gb/s
constexpr int64_t ANSWER_PS = 84 * 80;
constexpr int64_t LINK_PS = 1'000'000;

/// @return the completion time of the first flow, rounded to nanoseconds
int64_t
FirstFctNs(FlowRun& run)
{
    run.Run();
    for (const std::string& line : run.Lines("fct.txt"))
    {
        if (line.starts_with("0b000001 0b000101"))
        {
            return std::stoll(line.substr(line.rfind(' ', line.rfind(' ') - 1)));
        }
    }
    return -1;
}

/// Host 0 sends a frame to host 1, whose NIC is paused until 500 us.
int64_t
FctBehindAPause(const std::string& conf)
{
    FlowRun run(Star(2), LINE_RATE + conf, "1\n0 1 3 100 1000 0\n");
    QbbNetDevice& toHost1 = run.Fabric().GetDevice(2, 1);
    toHost1.SendPfc(3, true, 0);
    Simulator::Schedule(MicroSeconds(500),
                        [&toHost1] { toHost1.SendPfc(3, false, Simulator::Now().GetTimeStep()); });
    return FirstFctNs(run);
}

/// Host 0 sends a frame to host 1, while host 2 has sent 100 frames to host 0 at twice the rate of
/// its link with host 3: the acknowledgement finds 50 of them, and more, in the switch.
int64_t
FctBehindAQueue(const std::string& conf)
{
    FlowRun run(Star(4),
                LINE_RATE + conf,
                "3\n2 0 3 100 100000 0\n3 0 3 100 100000 0\n0 1 3 100 1000 4e-6\n");
    return FirstFctNs(run);
}

constexpr int64_t UNDISTURBED_NS = (2 * FULL_FRAME_PS + 2 * ANSWER_PS + 4 * LINK_PS + 500) / 1000;

TEST(AcknowledgementPriority, AcknowledgementsLeaveInSpiteOfAPauseOnRequest)
{
    EXPECT_GT(FctBehindAPause("ACK_HIGH_PRIO 0\n"), 500'000);
    EXPECT_EQ(FctBehindAPause("ACK_HIGH_PRIO 1\n"), UNDISTURBED_NS);
}

TEST(AcknowledgementPriority, AcknowledgementsWaitWithTheDataInSwitches)
{
    const int64_t waitsNs = FctBehindAQueue("ACK_HIGH_PRIO 0\n");
    EXPECT_GT(waitsNs, UNDISTURBED_NS + 30 * FULL_FRAME_PS / 1000);
    EXPECT_EQ(FctBehindAQueue("ACK_HIGH_PRIO 1\n"), waitsNs) << "as in the HPCC simulator";
}

TEST(AcknowledgementPriority, AnAttributeLetsThemGoFirstEverywhere)
{
    Config::SetDefault("ns3::RdmaHw::AckHighPriority", BooleanValue(true));
    const int64_t fctNs = FctBehindAQueue("");
    Config::SetDefault("ns3::RdmaHw::AckHighPriority", BooleanValue(false));
    EXPECT_LE(fctNs, UNDISTURBED_NS + FULL_FRAME_PS / 1000)
        << "behind the frame that is being sent";
}

} // namespace
} // namespace ns3
