/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Where each congestion control settles on one shared link, against its theory.

#include "rdma-qbb/model/congestion/rdma-swift.h"
#include "star-fabric.h"
#include "text-fabric.h"

#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/test.h"

#include <algorithm>
#include <cmath>

using namespace ns3;

namespace
{

constexpr uint64_t FOREVER = uint64_t{1} << 45;

/// Flows that never end, one per sender, and how they share.
class SharedLink
{
  public:
    explicit SharedLink(const StarFabricConfig& config)
        : m_senders(config.senders),
          m_fabric(config)
    {
        for (uint32_t sender = 0; sender < config.senders; ++sender)
        {
            m_pairs.push_back(&m_fabric.Send(sender, FOREVER));
        }
    }

    /// Let it settle, then measure.
    void Measure(Time settle, Time measure)
    {
        StarFabric::Run(settle);
        std::vector<uint64_t> before;
        for (const RdmaQueuePair* qp : m_pairs)
        {
            before.push_back(qp->sndUna);
        }
        m_fabric.StartSampling();
        StarFabric::Run(measure);
        double sum = 0;
        double least = 1e300;
        double most = 0;
        for (std::size_t i = 0; i < m_pairs.size(); ++i)
        {
            const double bytes = static_cast<double>(m_pairs[i]->sndUna - before[i]);
            sum += bytes;
            least = std::min(least, bytes);
            most = std::max(most, bytes);
        }
        const double share = sum / m_senders;
        m_unfairness = std::max(most / share - 1, 1 - least / share);
    }

    /// @return largest relative distance of a flow's throughput from the equal share
    double GetUnfairness() const
    {
        return m_unfairness;
    }

    StarFabric& Fabric()
    {
        return m_fabric;
    }

    uint64_t GetMaxQueue() const
    {
        return *std::max_element(m_fabric.GetSamples().begin(), m_fabric.GetSamples().end());
    }

    uint64_t GetMinQueue() const
    {
        return *std::min_element(m_fabric.GetSamples().begin(), m_fabric.GetSamples().end());
    }

    const RdmaQueuePair& Pair(std::size_t sender) const
    {
        return *m_pairs[sender];
    }

  private:
    uint32_t m_senders;
    StarFabric m_fabric;
    std::vector<RdmaQueuePair*> m_pairs;
    double m_unfairness{1};
};

/// HPCC: where each round is multiplicative, W = W / (U/eta) + W_AI and N W = U B T give
/// U = eta + N W_AI / (B T), without a queue; rounds below eta are additive and pull U down to eta.
class HpccSettles : public TestCase
{
  public:
    explicit HpccSettles(uint32_t senders)
        : TestCase("HPCC: " + std::to_string(senders) +
                   " flows use a little over eta of the link with near-zero queue"),
          m_senders(senders)
    {
    }

  private:
    void DoRun() override
    {
        SharedLink link({.senders = m_senders, .congestion = "ns3::RdmaHpcc"});
        link.Measure(MilliSeconds(4), MilliSeconds(10));
        const double bdpBytes = 100e9 * static_cast<double>(link.Fabric().GetBaseRttPs()) / 8e12;
        NS_TEST_EXPECT_MSG_GT(link.Fabric().GetUtilization(), 0.945, "utilisation from eta");
        NS_TEST_EXPECT_MSG_LT(link.Fabric().GetUtilization(),
                              0.955 + m_senders * 80 / bdpBytes,
                              "utilisation to the multiplicative fixed point");
        NS_TEST_EXPECT_MSG_LT(link.Fabric().GetMeanQueue(),
                              2.0 * link.Fabric().GetFrameBytes(),
                              "mean queue");
        NS_TEST_EXPECT_MSG_LT(link.GetUnfairness(), 0.05, "equal shares");
    }

    uint32_t m_senders;
};

/// HPCC-PINT steers to the same point with a digest of 5% resolution.
class PintSettles : public TestCase
{
  public:
    PintSettles()
        : TestCase("HPCC-PINT: two flows use eta of the link to within the digest's resolution")
    {
    }

  private:
    void DoRun() override
    {
        SharedLink link({.senders = 2, .congestion = "ns3::RdmaHpccPint"});
        link.Measure(MilliSeconds(2), MilliSeconds(20));
        NS_TEST_EXPECT_MSG_EQ_TOL(link.Fabric().GetUtilization(), 0.95, 0.05 * 0.95, "utilisation");
        NS_TEST_EXPECT_MSG_LT(link.Fabric().GetMeanQueue(),
                              2.0 * link.Fabric().GetFrameBytes(),
                              "mean queue");
        NS_TEST_EXPECT_MSG_LT(link.GetUnfairness(), 0.05, "equal shares");
    }
};

/// DCTCP (paper, section 3.3): the queue's greatest value is K + N frames, its sawtooth at most
/// sqrt(2 N (C RTT + K)) / 2 frames high (synchronised flows; others less).
class DctcpSettles : public TestCase
{
  public:
    explicit DctcpSettles(uint32_t senders)
        : TestCase("DCTCP: " + std::to_string(senders) +
                   " flows make the paper's sawtooth above K"),
          m_senders(senders)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t K_BYTES = 100000;
        SharedLink link({.senders = m_senders,
                         .congestion = "ns3::RdmaDctcp",
                         .ecn = {.kminBytes = K_BYTES, .kmaxBytes = K_BYTES, .pmax = 1}});
        link.Measure(MilliSeconds(5), MilliSeconds(20));
        const double frame = link.Fabric().GetFrameBytes();
        const double pipe =
            100e9 * static_cast<double>(link.Fabric().GetBaseRttPs()) / 8e12 / frame;
        const double amplitude = std::sqrt(2 * m_senders * (pipe + K_BYTES / frame)) / 2;
        const double most = static_cast<double>(link.GetMaxQueue());
        const double least = static_cast<double>(link.GetMinQueue());
        NS_TEST_EXPECT_MSG_GT(most, K_BYTES - frame, "the queue reaches K");
        NS_TEST_EXPECT_MSG_LT(most, K_BYTES + (m_senders + 2) * frame, "at most K + N");
        NS_TEST_EXPECT_MSG_LT(most - least, 1.25 * amplitude * frame, "sawtooth, synchronised");
        NS_TEST_EXPECT_MSG_GT(most - least, 0.4 * amplitude * frame, "sawtooth, not synchronised");
        NS_TEST_EXPECT_MSG_GT(link.Fabric().GetUtilization(), 0.995, "never empty");
        const double tolerance = m_senders > 2 ? 0.12 : 0.05;
        NS_TEST_EXPECT_MSG_LT(link.GetUnfairness(), tolerance, "equal shares");
    }

    uint32_t m_senders;
};

/// TIMELY: rates rise below TLow, and the first gradient above it cuts them.
class TimelySettles : public TestCase
{
  public:
    TimelySettles()
        : TestCase("TIMELY: round trips stay in a band above TLow and far below THigh")
    {
    }

  private:
    void DoRun() override
    {
        SharedLink link({.senders = 2, .rateBps = 10'000'000'000, .congestion = "ns3::RdmaTimely"});
        link.Measure(MilliSeconds(140), MilliSeconds(40));
        const double baseUs = static_cast<double>(link.Fabric().GetBaseRttPs()) * 1e-6;
        const double mostUs = baseUs + static_cast<double>(link.GetMaxQueue()) * 8 / 10e9 * 1e6;
        NS_TEST_EXPECT_MSG_GT(mostUs, 50, "round trips reach TLow");
        NS_TEST_EXPECT_MSG_LT(mostUs, 100, "and stay far below THigh, 500 us");
        NS_TEST_EXPECT_MSG_GT(link.Fabric().GetUtilization(), 0.9, "utilisation");
    }
};

/// The incast of the TIMELY paper (SIGCOMM 2015, table 1): 19.4 of 20 Gb/s, with round trips of 61
/// us on average and 116 at the 99th percentile (quoted from memory, as the paper could not be
/// had). There a segment of 64 KB leaves in one burst and waits for itself, here frame by frame:
/// the throughput is the same, round trips are shorter.
class TimelyIncast : public TestCase
{
  public:
    TimelyIncast()
        : TestCase("TIMELY: an incast has the paper's throughput, and round trips no longer")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double BPS = 20e9;
        SharedLink link({.senders = 40,
                         .rateBps = static_cast<uint64_t>(BPS),
                         .delay = NanoSeconds(4500),
                         .congestion = "ns3::RdmaTimely"});
        link.Measure(MilliSeconds(400), MilliSeconds(200));
        const double baseUs = static_cast<double>(link.Fabric().GetBaseRttPs()) * 1e-6;
        NS_TEST_EXPECT_MSG_EQ_TOL(baseUs,
                                  19,
                                  1,
                                  "as with the paper's FAST, whose queues are empty");
        const auto roundTripUs = [&](double bytes) { return baseUs + bytes * 8 / BPS * 1e6; };
        auto samples = link.Fabric().GetSamples();
        const auto p99 = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * 99 / 100);
        std::nth_element(samples.begin(), p99, samples.end());
        NS_TEST_EXPECT_MSG_EQ_TOL(link.Fabric().GetUtilization(), 19.4 / 20, 0.01, "throughput");
        NS_TEST_EXPECT_MSG_LT(roundTripUs(link.Fabric().GetMeanQueue()), 61, "average");
        NS_TEST_EXPECT_MSG_GT(roundTripUs(static_cast<double>(*p99)), 50, "beyond TLow");
        NS_TEST_EXPECT_MSG_LT(roundTripUs(static_cast<double>(*p99)), 116, "99th percentile");
    }
};

/// Swift: the queue's delay is what the target allows, at every window from many frames to below
/// one.
class SwiftSettles : public TestCase
{
  public:
    explicit SwiftSettles(uint32_t senders)
        : TestCase("Swift: " + std::to_string(senders) +
                   " flows keep the queueing delay at the target"),
          m_senders(senders)
    {
    }

  private:
    /// Queueing delay q = QueueTarget + scaling(w), where N w frames fill the round trip T + q.
    double SolveQueueUs(double baseUs, double frameUs) const
    {
        const auto excess = [&](double queueUs) {
            const double window = (baseUs + queueUs) / (m_senders * frameUs);
            const double scaling = 20 * (1 / std::sqrt(window) - 0.1) / (1 / std::sqrt(0.1) - 0.1);
            return queueUs - 5 - std::clamp(scaling, 0.0, 20.0);
        };
        double low = 0;
        double high = 100;
        for (int i = 0; i < 60; ++i)
        {
            const double middle = (low + high) / 2;
            (excess(middle) < 0 ? low : high) = middle;
        }
        return low;
    }

    void DoRun() override
    {
        SharedLink link({.senders = m_senders, .congestion = "ns3::RdmaSwift"});
        link.Measure(MilliSeconds(5), MilliSeconds(5));
        const double frameUs = link.Fabric().GetFrameBytes() * 8 / 100e9 * 1e6;
        const double baseUs = static_cast<double>(link.Fabric().GetBaseRttPs()) * 1e-6;
        const double queueUs = link.Fabric().GetMeanQueue() * 8 / 100e9 * 1e6;
        const double expectedUs = SolveQueueUs(baseUs, frameUs);
        NS_TEST_EXPECT_MSG_EQ_TOL(queueUs, expectedUs, 0.15 * expectedUs, "queueing delay");
        NS_TEST_EXPECT_MSG_GT(link.Fabric().GetUtilization(), 0.995, "utilisation");
        // Below one frame per round trip a pair sends a few hundred frames in the time measured.
        const double tolerance = m_senders > 100 ? 0.15 : 0.05;
        NS_TEST_EXPECT_MSG_LT(link.GetUnfairness(), tolerance, "equal shares");
    }

    uint32_t m_senders;
};

/**
 * DCQCN's fixed point (fluid model of Zhu et al., "ECN or Delay", CoNEXT 2016): with p the marking
 * probability per frame and R = C/N in frames per second,
 *   alpha (cuts per second) R = (RT - RC) (increases per second),
 *   (RT - RC) (cuts per second) = R_AI (additive increases per second),
 * where increases of the timer end a fast recovery only if F periods pass without a cut.
 */
class DcqcnSettles : public TestCase
{
  public:
    explicit DcqcnSettles(uint32_t senders)
        : TestCase("DCQCN: " + std::to_string(senders) +
                   " flows hold the queue at the fixed point"),
          m_senders(senders)
    {
    }

  private:
    static constexpr double RATE_BPS = 40e9;
    static constexpr double KMIN = 5000;
    static constexpr double KMAX = 200000;
    static constexpr double PMAX = 0.01;

    /// @return how much faster the target falls than it rises at marking probability p
    double Excess(double p, double frameBits) const
    {
        const double rate = RATE_BPS / frameBits / m_senders;
        const double additive = 40e6 / frameBits;
        constexpr double TIMER = 55e-6;
        constexpr double CNP = 50e-6;
        constexpr double ALPHA = 55e-6;
        const double byteFrames = 10e6 / (frameBits / 8);
        const double keep = std::log1p(-p);
        const double alpha = -std::expm1(keep * ALPHA * rate);
        const double cuts = -std::expm1(keep * CNP * rate) / CNP;
        const auto expiries = [&](double frames) { return rate * p / std::expm1(-keep * frames); };
        const double byteRate = expiries(byteFrames);
        const double timerRate = expiries(TIMER * rate);
        const double gap = rate * alpha * cuts / (byteRate + timerRate);
        const double rise = additive * (std::exp(keep * 5 * byteFrames) * byteRate +
                                        std::exp(keep * 5 * TIMER * rate) * timerRate);
        return gap * cuts - rise;
    }

    void DoRun() override
    {
        SharedLink link({.senders = m_senders,
                         .rateBps = static_cast<uint64_t>(RATE_BPS),
                         .congestion = "ns3::RdmaDcqcnPaper",
                         .ecn = {.kminBytes = static_cast<uint64_t>(KMIN),
                                 .kmaxBytes = static_cast<uint64_t>(KMAX),
                                 .pmax = PMAX}});
        link.Measure(MilliSeconds(40), MilliSeconds(60));
        double low = 1e-7;
        double high = PMAX;
        for (int i = 0; i < 60; ++i)
        {
            const double middle = (low + high) / 2;
            (Excess(middle, 8.0 * link.Fabric().GetFrameBytes()) < 0 ? low : high) = middle;
        }
        const double queue = KMIN + low / PMAX * (KMAX - KMIN);
        NS_TEST_EXPECT_MSG_EQ_TOL(link.Fabric().GetMeanQueue(), queue, 0.25 * queue, "mean queue");
        NS_TEST_EXPECT_MSG_GT(link.Fabric().GetUtilization(), 0.99, "utilisation");
        NS_TEST_EXPECT_MSG_LT(link.GetUnfairness(), 0.025 * m_senders, "equal shares");
    }

    uint32_t m_senders;
};

/// No congestion control: PFC alone keeps the bottleneck busy and loses nothing.
class NoneIsLossless : public TestCase
{
  public:
    NoneIsLossless()
        : TestCase("None: an incast behind PFC takes no longer than its bytes")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t SENDERS = 16;
        constexpr uint64_t BYTES = 2'000'000;
        StarFabric fabric({.senders = SENDERS});
        for (uint32_t sender = 0; sender < SENDERS; ++sender)
        {
            fabric.Send(sender, BYTES);
        }
        Simulator::Run();
        const double wire = SENDERS * (BYTES / 1000.0) * fabric.GetFrameBytes();
        NS_TEST_EXPECT_MSG_EQ(fabric.GetBottleneckBytes(),
                              static_cast<uint64_t>(wire),
                              "each frame crosses the bottleneck once");
        for (uint32_t sender = 0; sender < SENDERS; ++sender)
        {
            NS_TEST_EXPECT_MSG_EQ(fabric.GetHost(sender).GetCounters().acknowledgedBytes,
                                  BYTES,
                                  "all is acknowledged");
            NS_TEST_EXPECT_MSG_EQ(fabric.GetHost(sender).GetCounters().retransmitted,
                                  0u,
                                  "nothing is sent twice");
        }
        const double seconds = wire * 8 / 100e9;
        NS_TEST_EXPECT_MSG_EQ_TOL(fabric.GetLastDeliveryTime().GetSeconds(),
                                  seconds,
                                  0.01 * seconds,
                                  "the bottleneck is always busy");
    }
};

class SteadyStateTestSuite : public TestSuite
{
  public:
    SteadyStateTestSuite()
        : TestSuite("rdma-qbb-congestion-steady-state")
    {
        UsePicoseconds();
        AddTestCase(new NoneIsLossless);
        AddTestCase(new DcqcnSettles(2));
        AddTestCase(new DcqcnSettles(8));
        AddTestCase(new HpccSettles(2));
        AddTestCase(new HpccSettles(16));
        AddTestCase(new PintSettles);
        AddTestCase(new DctcpSettles(2));
        AddTestCase(new DctcpSettles(8));
        AddTestCase(new TimelySettles);
        AddTestCase(new TimelyIncast);
        AddTestCase(new SwiftSettles(2));
        AddTestCase(new SwiftSettles(16));
        AddTestCase(new SwiftSettles(200));
    }
};

SteadyStateTestSuite g_steadyStateTestSuite;

} // namespace
