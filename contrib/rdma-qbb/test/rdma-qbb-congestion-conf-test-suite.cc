/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Effects of a configuration's keys for windows and rates on a whole fabric.

#include "text-fabric.h"

#include "ns3/cluster-topology.h"
#include "ns3/nstime.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

using namespace ns3;

namespace
{

/// Two hosts, one switch, 100 Gb/s, 1 us per link.
class PairOfHosts
{
  public:
    explicit PairOfHosts(const std::string& keys)
        : m_built("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n", keys),
          m_qp(m_built.fabric->GetDriver(0)->Connect(1, {}))
    {
    }

    RdmaQueuePair& Qp()
    {
        return *m_qp;
    }

    /// @return microseconds until a message has arrived
    double Deliver(uint64_t bytes)
    {
        const Time start = Simulator::Now();
        Time end;
        m_built.fabric->GetHw(0).PostMessage(*m_qp, bytes, {}, [&end] { end = Simulator::Now(); });
        Simulator::Run();
        return (end - start).GetSeconds() * 1e6;
    }

  private:
    BuiltFabric m_built;
    RdmaQueuePair* m_qp;
};

class RateBoundSpacesFrames : public TestCase
{
  public:
    RateBoundSpacesFrames()
        : TestCase("RATE_BOUND 1 spaces frames by the rate, RATE_BOUND 0 does not")
    {
    }

  private:
    void DoRun() override
    {
        const std::string common = "PACKET_PAYLOAD_SIZE 1000\nCC_MODE 0\nHAS_WIN 0\n";
        // 100 frames of 1082 bytes at a tenth of the line rate: 99 gaps of 865.6 ns, and the last
        // frame's way of two links.
        const double oneWayUs = 2 * (1 + 0.08656);
        for (const bool bound : {true, false})
        {
            PairOfHosts pair(common + "RATE_BOUND " + (bound ? "1" : "0") + "\n");
            pair.Qp().SetRate(10'000'000'000);
            const double gapUs = bound ? 0.8656 : 0.08656;
            NS_TEST_EXPECT_MSG_EQ_TOL(pair.Deliver(100000), 99 * gapUs + oneWayUs, 1e-6, "time");
        }
    }
};

class WindowKeys : public TestCase
{
  public:
    WindowKeys()
        : TestCase("HAS_WIN and VAR_WIN bound what is in flight by the path and by the rate")
    {
    }

  private:
    void DoRun() override
    {
        const std::string common = "PACKET_PAYLOAD_SIZE 1000\nCC_MODE 0\n";
        {
            PairOfHosts pair(common + "HAS_WIN 0\nVAR_WIN 1\n");
            NS_TEST_EXPECT_MSG_EQ(pair.Qp().GetEffectiveWindow(), UINT64_MAX, "no window");
        }
        for (const bool variable : {true, false})
        {
            const std::string keys = common + "VAR_WIN " + (variable ? "1\n" : "0\n");
            PairOfHosts pair(keys + "HAS_WIN 1\n");
            const auto window = static_cast<double>(pair.Qp().GetWindow());
            // Four links of 1 us, a frame of 1082 bytes twice and an ACK of 84 bytes twice.
            const double bdp = 100e9 / 8 * (4e-6 + 2 * (1082 + 84) * 8 / 100e9);
            NS_TEST_EXPECT_MSG_EQ_TOL(window,
                                      bdp + 2 * 1082,
                                      1.0,
                                      "the ACK may wait for a frame on each link");
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(pair.Qp().baseRttPs) / 1e12,
                                      bdp * 8 / 100e9,
                                      1e-11,
                                      "T is that of the idle path");
            PairOfHosts global(keys + "GLOBAL_T 1\n");
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(global.Qp().GetWindow()),
                                      bdp,
                                      1.0,
                                      "the HPCC simulator's window");
            pair.Qp().SetRate(25'000'000'000);
            const double expected = variable ? window / 4 : window;
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(pair.Qp().GetEffectiveWindow()),
                                      expected,
                                      1.0,
                                      "in force at a quarter of the line rate");
        }
    }
};

class AlgorithmWindows : public TestCase
{
  public:
    AlgorithmWindows()
        : TestCase("Windows that HPCC, DCTCP and Swift set are not scaled by VAR_WIN")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* mode : {"3", "8", "ns3::RdmaSwift"})
        {
            PairOfHosts pair(
                std::string("PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 1\nVAR_WIN 1\nCC_MODE ") + mode +
                "\n");
            pair.Qp().SetRate(25'000'000'000);
            NS_TEST_EXPECT_MSG_EQ(pair.Qp().GetEffectiveWindow(), pair.Qp().GetWindow(), mode);
        }
    }
};

class CongestionConfTestSuite : public TestSuite
{
  public:
    CongestionConfTestSuite()
        : TestSuite("rdma-qbb-congestion-conf")
    {
        UsePicoseconds();
        AddTestCase(new RateBoundSpacesFrames);
        AddTestCase(new WindowKeys);
        AddTestCase(new AlgorithmWindows);
    }
};

CongestionConfTestSuite g_congestionConfTestSuite;

} // namespace
