/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-run.h"

#include "ns3/fabric-check.h"

#include <gmock/gmock.h>

using namespace ns3;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

namespace
{

/// Three hosts send 300 kB each to a fourth, the third a while later.
constexpr const char* INCAST =
    "4\n0 3 3 100 300000 0\n1 3 3 100 300000 0\n3 0 3 100 7777 0.000002\n2 3 3 100 300000 "
    "0.00001\n";

/// Runs flows under a check. @return what does not hold
std::vector<std::string>
FailuresOf(const std::string& conf, const std::function<void(RdmaFabric&)>& meddle = {})
{
    FlowRun run(Star(4), conf, INCAST);
    std::vector<std::string> failures;
    FabricCheck check(run.Fabric(),
                      [&failures](const std::string& what) { failures.push_back(what); });
    if (meddle)
    {
        Simulator::Schedule(MicroSeconds(15), [&] { meddle(run.Fabric()); });
    }
    run.Run(meddle ? 2'000'000'000 : 0); // a pause that is repeated never ends by itself
    check.Finish(true);
    return failures;
}

} // namespace

TEST(FabricCheck, EveryCongestionControlAndRecoveryHoldsWhatIsChecked)
{
    for (const char* conf : {"CC_MODE 0\nHAS_WIN 0\n",
                             "CC_MODE 0\nHAS_WIN 0\nBUFFER_SIZE 400000\n",
                             "CC_MODE 1\nHAS_WIN 0\nBUFFER_SIZE 400000\nKMIN 5000\nKMAX 20000\n",
                             "CC_MODE 1\nHAS_WIN 1\nVAR_WIN 1\n",
                             "CC_MODE 3\nHAS_WIN 1\nVAR_WIN 1\n",
                             "CC_MODE 7\n",
                             "CC_MODE 8\nHAS_WIN 1\nKMIN 5000\nKMAX 20000\n",
                             "CC_MODE 10\n",
                             "CC_MODE 1\nERROR_RATE_PER_LINK 0.01\nRTO 100\n",
                             "CC_MODE 1\nERROR_RATE_PER_LINK 0.01\nLOSS_RECOVERY irn\n",
                             "CC_MODE 1\nLINK_DOWN 5 0 4\nLINK_UP 30 0 4\nRTO 100\n"})
    {
        EXPECT_THAT(FailuresOf(conf), IsEmpty()) << conf;
    }
}

TEST(FabricCheck, AFrameDroppedForWantOfRoomInALosslessClassIsNamed)
{
    // Pauses that are ignored come to nothing, and the headroom overflows.
    const auto failures =
        FailuresOf("CC_MODE 0\nHAS_WIN 0\nBUFFER_SIZE 400000\nRTO 1000\n", [](RdmaFabric& fabric) {
            for (uint32_t host = 0; host < 3; ++host)
            {
                fabric.GetDevice(host, 0).SetPauseIgnored(3, true, Simulator::Now().GetTimeStep());
            }
        });
    EXPECT_THAT(failures,
                Contains(HasSubstr("switch 4 has no room for a data frame of priority 3, which is "
                                   "lossless")));
}

TEST(FabricCheck, BytesThatABufferCountsAndDoesNotHaveAreNamed)
{
    const auto failures = FailuresOf("CC_MODE 0\n", [](RdmaFabric& fabric) {
        ASSERT_TRUE(fabric.GetSwitch(4)->GetMmu()->Admit(0, 1, 3, 1000));
    });
    EXPECT_THAT(
        failures,
        Contains(HasSubstr("switch 4 has 0 bytes of priority 3 for port 2, and counts 1000")));
    EXPECT_THAT(failures, Contains(HasSubstr("counts 1000 by ingress and 1000 in all")));
}

TEST(FabricCheck, APauseWithoutAnEndIsNamed)
{
    // Nothing waits for it: acknowledgements leave host 1 in spite of it.
    const auto failures = FailuresOf("CC_MODE 0\nACK_HIGH_PRIO 1\n", [](RdmaFabric& fabric) {
        fabric.GetDevice(1, 0).SendPfc(3, true, Simulator::Now().GetTimeStep());
    });
    EXPECT_THAT(failures, Contains(HasSubstr("port 2 of node 4 stays paused, priorities 0x8")));
}

TEST(FabricCheck, ARateThatIsNotKeptIsNamed)
{
    // The books have the rate of the frame before: half of it now asks for a longer gap.
    FlowRun run(Star(2), "CC_MODE 0\nHAS_WIN 0\n", "1\n0 1 3 100 100000 0\n");
    std::vector<std::string> failures;
    FabricCheck check(run.Fabric(),
                      [&failures](const std::string& what) { failures.push_back(what); });
    Simulator::Schedule(NanoSeconds(3000), [&] {
        auto* pair = const_cast<RdmaQueuePair*>(run.Fabric().GetHw(0).GetSender().GetOpen().at(0));
        pair->lineRateBps /= 4; // behind the back of SetRate(), which would make the gap
        pair->SetRate(pair->lineRateBps);
        pair->SetPaced(false);
        Simulator::Schedule(NanoSeconds(200), [pair] { pair->SetPaced(true); });
    });
    run.Run();
    check.Finish(true);
    EXPECT_THAT(failures, Contains(HasSubstr("queue pair 0->1")));
}
