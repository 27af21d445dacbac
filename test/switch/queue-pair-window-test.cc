/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-fabric.h"

#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"

#include <gtest/gtest.h>

namespace ns3
{

TEST(RdmaQueuePairWindow, OfZeroLetsNothingGoUntilThePairIsWoken)
{
    BuiltFabric text(TextFabric::Star(2, "100Gbps", "1us"),
                     "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n");
    RdmaHw& sender = text.fabric->GetHw(0);
    RdmaQueuePair& qp = *sender.Connect({.peer = &text.fabric->GetHw(1), .baseRttPs = 4'200'000});
    EXPECT_EQ(qp.GetWindow(), RdmaQueuePair::NO_WINDOW);
    bool done = false;
    qp.SetWindow(0);
    sender.PostMessage(qp, 100'000, [&done] { done = true; }, {});
    Simulator::Schedule(MicroSeconds(50), [&qp] {
        EXPECT_EQ(qp.GetSndNxt(), 0U);
        qp.SetWindow(5000);
        qp.Wake();
    });
    // Five frames of 86.56 ns each; then the window closes, and their acknowledgements open
    // nothing.
    Simulator::Schedule(NanoSeconds(50'600), [&qp] {
        EXPECT_EQ(qp.GetSndNxt(), 5000U);
        qp.SetWindow(0);
        qp.Wake();
    });
    Simulator::Schedule(MicroSeconds(100), [&qp] {
        EXPECT_EQ(qp.GetSndNxt(), 5000U);
        EXPECT_EQ(qp.sndUna, 5000U);
        qp.SetWindow(RdmaQueuePair::NO_WINDOW);
        qp.Wake();
    });
    // A pair that is ready, behind the frame that its port sends, loses its turn.
    Simulator::Schedule(NanoSeconds(101'000), [&qp] {
        qp.SetWindow(0);
        qp.Wake();
        const uint64_t sent = qp.GetSndNxt();
        Simulator::Schedule(MicroSeconds(20), [&qp, sent] {
            EXPECT_EQ(qp.GetSndNxt(), sent);
            qp.SetWindow(RdmaQueuePair::NO_WINDOW);
            qp.Wake();
        });
    });
    Simulator::Run();
    EXPECT_TRUE(done);
}

} // namespace ns3
