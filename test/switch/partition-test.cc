/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A node owns its state: nodes share nothing but wires, so each may be a partition of its own, and
 * results stay the same. `nightly.sh races` looks for state that threads share.
 */
#include "../support/eventful-runs.h"
#include "../support/partitioned-simulator.h"
#include "../support/plain-fabric.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{

namespace
{

// Two servers of two GPUs, NVSwitches 4 and 5, switches 6 and 7. No two links are alike, so that no
// two events that touch each other fall on the same picosecond.
constexpr const char* SERVERS = "8 2 2 2 9 A100\n4 5 6 7\n"
                                "0 4 2400Gbps 0.000025ms 0\n1 4 2399Gbps 0.000025011ms 0\n"
                                "2 5 2398Gbps 0.000025023ms 0\n3 5 2397Gbps 0.000025037ms 0\n"
                                "0 6 100Gbps 0.0005ms 0\n1 6 99.9Gbps 0.000500013ms 0\n"
                                "2 7 99.8Gbps 0.000500029ms 0\n3 7 99.7Gbps 0.000500041ms 0\n"
                                "6 7 150Gbps 0.000500059ms 0\n";

/// Results of a run.
struct Outcome
{
    std::vector<int64_t> timesPs; ///< of deliveries and completions
    FabricTotals totals;
};

Outcome
RunWith(const std::string& keys, bool partitions)
{
    std::optional<PartitionedSimulator> simulator;
    if (partitions)
    {
        simulator.emplace(true);
    }
    PlainFabric run(SERVERS, keys);
    run.Send(0, 2, 60);
    run.Send(1, 2, 40);
    run.Send(3, 2, 20);
    run.Send(3, 0, 50);
    run.Send(0, 1, 80);
    InNetworkSpec spec;
    EXPECT_TRUE(run.fabric->PlanInNetwork({2, 3}, 0, spec));
    spec.bytes = 24'680;
    InNetworkEngine& engine = run.fabric->GetInNetworkEngine();
    const uint32_t operation = engine.Open(spec);
    for (uint32_t member = 0; member < 2; ++member)
    {
        engine.Join(operation, member, [&run] {
            run.timesPs.push_back(Simulator::Now().GetTimeStep());
        });
    }
    // A connection that is made, and ends, while others are at work.
    Simulator::ScheduleWithContext(1, MicroSeconds(5), [&run] {
        RdmaConnectionOptions options;
        options.closeWhenDone = true;
        run.Send(1, 3, 5, options);
    });
    Simulator::Run();
    Outcome outcome{run.timesPs, run.fabric->GetTotals()};
    std::ranges::sort(outcome.timesPs);
    return outcome;
}

class NodesShareNothingButWires : public testing::TestWithParam<const char*>
{
};

} // namespace

TEST_P(NodesShareNothingButWires, SoResultsAreTheSameWithEachNodeInAPartitionOfItsOwn)
{
    const Outcome together = RunWith(GetParam(), false);
    const Outcome apart = RunWith(GetParam(), true);
    EXPECT_EQ(together.timesPs.size(), 2U * 6 + 2);
    EXPECT_EQ(apart.timesPs, together.timesPs);
    EXPECT_EQ(apart.totals.packetHops, together.totals.packetHops);
    EXPECT_EQ(apart.totals.drops, together.totals.drops);
    EXPECT_EQ(apart.totals.pauses, together.totals.pauses);
    EXPECT_EQ(apart.totals.retransmittedBytes, together.totals.retransmittedBytes);
    EXPECT_EQ(apart.totals.framesInUse, 0U) << "every frame went back to the pool it came from";
    ExpectWhatKeysAskFor(GetParam(), apart.totals);
}

INSTANTIATE_TEST_SUITE_P(Configurations,
                         NodesShareNothingButWires,
                         testing::Values("",
                                         "CC_MODE 1\nKMIN_MAP 1 100000000000 5\nKMAX_MAP 1 "
                                         "100000000000 20\nPMAX_MAP 1 100000000000 0.5\n",
                                         "CC_MODE 3\n",
                                         "CC_MODE 7\n",
                                         "BUFFER_SIZE 200000\n",
                                         "ERROR_RATE_PER_LINK 0.01\n",
                                         "ERROR_RATE_PER_LINK 0.01\nLOSS_RECOVERY irn\n",
                                         "LINK_DOWN 3 6 7\nLINK_UP 40 6 7\n",
                                         "LINK_RATE 3 6 7 1Gbps\nLINK_RATE 40 6 7 9Gbps\n"));

} // namespace ns3
