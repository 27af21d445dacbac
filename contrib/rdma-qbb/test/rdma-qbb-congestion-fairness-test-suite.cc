/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Long flows with different limits, against the max-min fair allocation.

#include "fabric-test-support.h"

#include "ns3/test.h"

#include <array>

using namespace ns3;

namespace
{

/// An algorithm, and what it makes of a bottleneck.
struct FairnessCase
{
    const char* name;
    const char* conf;
    double utilization;    ///< part of the bottleneck that it aims at
    double telemetryBytes; ///< that it adds to a frame
    double slowShare;      ///< least part of its max-min share that the slow flow must get
    int64_t settleMs;
};

/**
 * Three senders and a receiver around a switch; one sender has a link of 10 Gb/s, all else has 100.
 * Max-min fair: the slow sender's flow fills its link, the others halve what is left of the
 * receiver's.
 */
class MaxMinShares : public TestCase
{
  public:
    explicit MaxMinShares(const FairnessCase& which)
        : TestCase(std::string(which.name) +
                   ": a slow sender keeps its rate, the others share the rest"),
          m_case(which)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test("5 1 4\n4\n0 4 10Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n"
                             "3 4 100Gbps 1us 0\n",
                             std::string("PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\n") + m_case.conf);
        test.Build();
        std::array<RdmaQueuePair*, 3> pairs;
        for (uint32_t sender = 0; sender < pairs.size(); ++sender)
        {
            pairs[sender] = test.fabric->GetDriver(sender)->Connect(3, {});
            test.fabric->GetHw(sender).PostMessage(*pairs[sender], uint64_t{1} << 45, {}, {});
        }
        const Time settle = MilliSeconds(m_case.settleMs);
        Simulator::Stop(settle);
        Simulator::Run();
        std::array<double, 3> gbps;
        for (std::size_t i = 0; i < pairs.size(); ++i)
        {
            gbps[i] = -static_cast<double>(pairs[i]->sndUna);
        }
        Simulator::Stop(settle);
        Simulator::Run();
        for (std::size_t i = 0; i < pairs.size(); ++i)
        {
            gbps[i] =
                (gbps[i] + static_cast<double>(pairs[i]->sndUna)) * 8e-9 / settle.GetSeconds();
        }
        const double payloadPart = 1000 / (1082 + m_case.telemetryBytes);
        const double slow = 10 * payloadPart;
        NS_TEST_EXPECT_MSG_GT(gbps[0], m_case.slowShare * slow, "the slow sender's flow");
        const double half = (100 * m_case.utilization * payloadPart - gbps[0]) / 2;
        NS_TEST_EXPECT_MSG_EQ_TOL(gbps[1], half, 0.08 * half, "half of the rest");
        NS_TEST_EXPECT_MSG_EQ_TOL(gbps[2], half, 0.08 * half, "the other half");
        NS_TEST_EXPECT_MSG_EQ(test.fabric->GetTotals().retransmittedBytes, 0u, "nothing is lost");
    }

    FairnessCase m_case;
};

class FairnessTestSuite : public TestSuite
{
  public:
    FairnessTestSuite()
        : TestSuite("rdma-qbb-congestion-fairness")
    {
        // RED marks frames of every flow: DCQCN holds the slow one below its link's rate.
        AddTestCase(new MaxMinShares({"DCQCN", "CC_MODE 1\n", 1, 0, 0.6, 15}));
        AddTestCase(new MaxMinShares({"HPCC", "CC_MODE 3\n", 0.95, 42, 0.98, 6}));
        AddTestCase(new MaxMinShares({"HPCC-PINT", "CC_MODE 10\n", 0.93, 1, 0.98, 6}));
        AddTestCase(new MaxMinShares(
            {"DCTCP", "CC_MODE 8\nKMIN 100000\nKMAX 100000\nPMAX 1\n", 1, 0, 0.98, 6}));
        AddTestCase(new MaxMinShares({"Swift", "CC_MODE ns3::RdmaSwift\n", 1, 0, 0.98, 6}));
    }
};

FairnessTestSuite g_fairnessTestSuite;

} // namespace
