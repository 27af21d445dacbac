/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// DCQCN's lazy timers against a reference that ticks: same rates for random CNP times.

#include "rdma-qbb/model/congestion/rdma-dcqcn.h"

#include "ns3/boolean.h"
#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <vector>

using namespace ns3;

namespace
{

constexpr double LINE_BPS = 100e9;
constexpr int64_t ALPHA_NS = 1000;
constexpr int64_t DECREASE_NS = 4000;
constexpr int64_t INCREASE_NS = 37300;
constexpr int64_t END_NS = 2'000'000;

/// The HPCC simulator's rules, nanosecond by nanosecond.
class TickingReference
{
  public:
    TickingReference(const std::vector<int64_t>& cnpsNs, bool clamp)
        : m_cnpsNs(cnpsNs),
          m_clamp(clamp)
    {
    }

    /// @return the rate after each CNP, and at the end
    std::vector<double> Run()
    {
        std::vector<double> rates;
        std::size_t next = 0;
        for (int64_t nowNs = 0; nowNs <= END_NS; ++nowNs)
        {
            Tick(nowNs);
            while (next < m_cnpsNs.size() && m_cnpsNs[next] == nowNs)
            {
                Cnp(nowNs);
                rates.push_back(m_rate);
                ++next;
            }
        }
        rates.push_back(m_rate);
        return rates;
    }

  private:
    void Tick(int64_t nowNs)
    {
        if (m_startNs < 0 || nowNs == m_startNs)
        {
            return;
        }
        const int64_t sinceNs = nowNs - m_startNs;
        if (nowNs == m_increaseNs)
        {
            if (m_stage > 0)
            {
                m_target = std::min(LINE_BPS, m_target + (m_stage == 1 ? 50e6 : 100e6));
            }
            m_rate = (m_rate + m_target) / 2;
            ++m_stage;
            m_increaseNs += INCREASE_NS;
        }
        if (sinceNs % ALPHA_NS == 0)
        {
            m_alpha = m_alpha * 255 / 256 + (m_cnpForAlpha ? 1.0 / 256 : 0);
            m_cnpForAlpha = false;
        }
        if (sinceNs % DECREASE_NS == 0 && m_cnpForRate)
        {
            m_cnpForRate = false;
            if (m_clamp || m_stage > 0)
            {
                m_target = m_rate;
            }
            m_rate = std::max(100e6, m_rate * (1 - m_alpha / 2));
            m_stage = 0;
            m_increaseNs = nowNs + INCREASE_NS;
        }
    }

    void Cnp(int64_t nowNs)
    {
        m_cnpForRate = true;
        m_cnpForAlpha = m_startNs >= 0;
        if (m_startNs < 0)
        {
            m_startNs = nowNs;
        }
    }

    std::vector<int64_t> m_cnpsNs;
    bool m_clamp;
    int64_t m_startNs{-1};
    int64_t m_increaseNs{-1};
    bool m_cnpForAlpha{false};
    bool m_cnpForRate{false};
    double m_alpha{1};
    double m_rate{LINE_BPS};
    double m_target{LINE_BPS};
    uint32_t m_stage{0};
};

class LazyTimersMatch : public TestCase
{
  public:
    LazyTimersMatch(uint32_t seed, bool clamp, double meanGapNs)
        : TestCase("Seed " + std::to_string(seed) + ", a CNP each " +
                   std::to_string(static_cast<int>(meanGapNs)) + " ns on average" +
                   (clamp ? ", target rate clamped" : "")),
          m_seed(seed),
          m_clamp(clamp),
          m_meanGapNs(meanGapNs)
    {
    }

  private:
    void DoRun() override
    {
        auto gaps = CreateObject<ExponentialRandomVariable>();
        gaps->SetStream(m_seed);
        std::vector<int64_t> cnpsNs;
        int64_t timeNs = 500;
        while (timeNs < END_NS)
        {
            cnpsNs.push_back(timeNs);
            timeNs += 1 + static_cast<int64_t>(gaps->GetValue(m_meanGapNs, 100 * m_meanGapNs));
        }
        // The first CNP sets the ticks; later ones keep off them, where the order would matter.
        for (std::size_t i = 1; i < cnpsNs.size(); ++i)
        {
            cnpsNs[i] += (cnpsNs[i] - cnpsNs[0]) % ALPHA_NS == 0;
        }

        auto dcqcn = CreateObject<RdmaDcqcnHpccArtifact>();
        dcqcn->SetAttribute("RpTimer", TimeValue(NanoSeconds(INCREASE_NS)));
        dcqcn->SetAttribute("ClampTargetRate", BooleanValue(m_clamp));
        RdmaQueuePair qp;
        qp.lineRateBps = static_cast<uint64_t>(LINE_BPS);
        qp.endSeq = 1;
        qp.SetRate(qp.lineRateBps);
        dcqcn->OnQpInit(qp);
        std::vector<double> rates;
        for (const int64_t cnpNs : cnpsNs)
        {
            Simulator::Schedule(NanoSeconds(cnpNs), [&] {
                dcqcn->OnCnp(qp, Simulator::Now().GetTimeStep());
                rates.push_back(static_cast<double>(qp.GetRate()));
            });
        }
        Simulator::Stop(NanoSeconds(END_NS));
        Simulator::Run();
        rates.push_back(static_cast<double>(qp.GetRate()));
        dcqcn->OnQpClose(qp);
        Simulator::Destroy();

        const std::vector<double> expected = TickingReference(cnpsNs, m_clamp).Run();
        NS_TEST_ASSERT_MSG_EQ(rates.size(), expected.size(), "one rate per CNP");
        for (std::size_t i = 0; i < rates.size(); ++i)
        {
            // Rates are whole bits per second; their roundings add up over the increases.
            NS_TEST_ASSERT_MSG_EQ_TOL(rates[i], expected[i], 200.0, "rate after CNP " << i);
        }
    }

    uint32_t m_seed;
    bool m_clamp;
    double m_meanGapNs;
};

class DcqcnPropertyTestSuite : public TestSuite
{
  public:
    DcqcnPropertyTestSuite()
        : TestSuite("rdma-qbb-congestion-dcqcn-property")
    {
        for (uint32_t seed = 1; seed <= 4; ++seed)
        {
            for (const double meanGapNs : {300.0, 3000.0, 30000.0, 300000.0})
            {
                AddTestCase(new LazyTimersMatch(seed, seed % 2 == 0, meanGapNs));
            }
        }
    }
};

DcqcnPropertyTestSuite g_dcqcnPropertyTestSuite;

} // namespace
