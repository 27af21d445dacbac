/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// DCQCN's alpha and rates after given CNP times, worked out by hand from the paper's equations.

#include "rdma-qbb/model/congestion/rdma-dcqcn.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <cmath>
#include <functional>

using namespace ns3;

namespace
{

constexpr double DCQCN_LINE_BPS = 100e9;

/// A queue pair without a host that always has data to send, and an algorithm for it.
class DcqcnTestCase : public TestCase
{
  public:
    explicit DcqcnTestCase(const std::string& name)
        : TestCase(name)
    {
    }

  protected:
    static void Init(RdmaQueuePair& qp)
    {
        qp.lineRateBps = static_cast<uint64_t>(DCQCN_LINE_BPS);
        qp.endSeq = uint64_t{1} << 50;
        qp.SetRate(qp.lineRateBps);
    }

    static void At(double microseconds, std::function<void()> action)
    {
        Simulator::Schedule(NanoSeconds(std::llround(microseconds * 1000)), std::move(action));
    }

    static void Cnp(RdmaDcqcnBase& dcqcn, RdmaQueuePair& qp, double microseconds)
    {
        At(microseconds, [&dcqcn, &qp] { dcqcn.OnCnp(qp, Simulator::Now().GetTimeStep()); });
    }

    void ExpectRate(RdmaQueuePair& qp, double microseconds, double rateBps, const char* what)
    {
        At(microseconds, [this, &qp, rateBps, what] {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(qp.GetRate()), rateBps, 4.0, what);
        });
    }

    void ExpectTarget(RdmaDcqcnBase& dcqcn,
                      RdmaQueuePair& qp,
                      double microseconds,
                      double rateBps,
                      const char* what)
    {
        At(microseconds, [this, &dcqcn, &qp, rateBps, what] {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(dcqcn.GetTargetRate(qp)),
                                      rateBps,
                                      4.0,
                                      what);
        });
    }

    void ExpectAlpha(RdmaDcqcnBase& dcqcn,
                     RdmaQueuePair& qp,
                     double microseconds,
                     double alpha,
                     const char* what)
    {
        At(microseconds, [this, &dcqcn, &qp, alpha, what] {
            NS_TEST_EXPECT_MSG_EQ_TOL(dcqcn.GetAlpha(qp), alpha, 1e-12, what);
        });
    }

    void RunUntil(double microseconds)
    {
        Simulator::Stop(NanoSeconds(std::llround(microseconds * 1000)));
        Simulator::Run();
    }

    void DoTeardown() override
    {
        Simulator::Destroy();
    }
};

/// The paper: each CNP cuts at once, alpha decays after 55 us without, five fast recoveries.
class DcqcnPaperSequence : public DcqcnTestCase
{
  public:
    DcqcnPaperSequence()
        : DcqcnTestCase("The paper's rules give the hand-computed alpha and rates")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcnPaper>();
        RdmaQueuePair qp;
        Init(qp);
        dcqcn->OnQpInit(qp);
        NS_TEST_EXPECT_MSG_EQ(dcqcn->GetCnpIntervalPs(), 50000000, "50 us between CNPs");

        // alpha starts at 1 and stays there while CNPs come: (255/256) 1 + 1/256.
        Cnp(*dcqcn, qp, 100);
        ExpectRate(qp, 100.5, 50e9, "RC = 100 (1 - 1/2)");
        ExpectTarget(*dcqcn, qp, 100.5, 100e9, "RT = RC before the cut");
        Cnp(*dcqcn, qp, 150);
        ExpectRate(qp, 150.5, 25e9, "RC = 50 (1 - 1/2)");
        ExpectTarget(*dcqcn, qp, 150.5, 50e9, "RT = 50");
        ExpectAlpha(*dcqcn, qp, 204, 1, "no update yet");
        ExpectAlpha(*dcqcn, qp, 206, 255.0 / 256, "55 us without a CNP");
        ExpectAlpha(*dcqcn, qp, 261, std::pow(255.0 / 256, 2), "110 us without a CNP");

        double rc = 25e9;
        double rt = 50e9;
        for (int expiry = 1; expiry <= 5; ++expiry)
        {
            rc = (rc + rt) / 2;
            ExpectRate(qp, 150.5 + 55 * expiry, rc, "fast recovery");
        }
        for (int expiry = 6; expiry <= 20; ++expiry)
        {
            rt += 40e6;
            rc = (rc + rt) / 2;
            ExpectRate(qp, 150.5 + 55 * expiry, rc, "additive increase: no byte counter expiry");
        }
        // 1250.5 us: 21st expiry not reached. A new CNP cuts by the alpha of then.
        const double alpha = std::pow(255.0 / 256, 20);
        Cnp(*dcqcn, qp, 1252);
        ExpectRate(qp, 1252.5, rc * (1 - alpha / 2), "RC (1 - alpha/2) before alpha rises");
        ExpectTarget(*dcqcn, qp, 1252.5, rc, "RT = RC");
        ExpectAlpha(*dcqcn, qp, 1252.5, 255.0 / 256 * alpha + 1.0 / 256, "alpha rises by g");
        RunUntil(1260);
    }
};

/// The byte counter counts like the timer; both beyond F give hyper increase with i R_HAI.
class DcqcnByteCounter : public DcqcnTestCase
{
  public:
    DcqcnByteCounter()
        : DcqcnTestCase("Byte counter and timer together reach hyper increase")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcnPaper>();
        dcqcn->SetAttribute("FastRecoveryTimes", UintegerValue(1));
        RdmaQueuePair qp;
        Init(qp);
        dcqcn->OnQpInit(qp);
        dcqcn->OnCnp(qp, Simulator::Now().GetTimeStep());
        dcqcn->OnCnp(qp, Simulator::Now().GetTimeStep()); // RT = 50, RC = 25

        const auto send = [&](uint64_t bytes) {
            qp.SetSndNxt(qp.GetHighestSent() + bytes);
            dcqcn->OnAck(qp, {0, qp.GetHighestSent(), bytes, false, nullptr});
        };
        double rt = 50e9;
        double rc = 25e9;
        const auto step = [&](double increase) {
            rt += increase;
            rc = (rc + rt) / 2;
        };
        const auto expect = [&](const char* what) {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(qp.GetRate()), rc, 4.0, what);
        };
        send(9999999);
        expect("one byte short of the counter");
        send(1);
        step(0);
        expect("first expiry: fast recovery");
        send(10000000);
        step(40e6);
        expect("second: additive");
        send(10000000);
        step(40e6);
        expect("third: additive, as the timer has not expired");
        At(56, [&] {
            step(40e6);
            expect("timer's first: additive, min(T, BC) = 0");
        });
        At(111, [&] {
            step(40e6);
            expect("timer's second: additive, min(T, BC) = 1 = F");
        });
        At(166, [&] {
            step(400e6);
            expect("timer's third: hyper, i = 1");
            send(10000000);
            step(2 * 400e6);
            expect("byte counter's fourth: hyper, i = min(3, 3) - 1");
            send(20000000);
            step(2 * 400e6);
            step(2 * 400e6);
            expect("two expiries at one acknowledgement: min(3, 4) - 1 and min(3, 5) - 1");
        });
        RunUntil(170);
    }
};

/// The HPCC simulator: alpha and rate at ticks from the first CNP on.
class DcqcnArtifactSequence : public DcqcnTestCase
{
  public:
    DcqcnArtifactSequence()
        : DcqcnTestCase("The HPCC simulator's ticks give the hand-computed alpha and rates")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcnHpccArtifact>();
        RdmaQueuePair qp;
        Init(qp);
        dcqcn->OnQpInit(qp);
        const double keep = 255.0 / 256;

        // CNPs at 10, 10.5 and 11.5 us: alpha ticks at 11, 12, 13 ..., rate ticks at 14, 18 ...
        Cnp(*dcqcn, qp, 10);
        Cnp(*dcqcn, qp, 10.5);
        Cnp(*dcqcn, qp, 11.5);
        ExpectAlpha(*dcqcn, qp, 12.5, 1, "two ticks with a CNP");
        ExpectAlpha(*dcqcn, qp, 13.5, keep, "one without");
        ExpectRate(qp, 13.9, 100e9, "no decrease before the monitor's tick");
        const double first = 100e9 * (1 - keep * keep / 2);
        ExpectRate(qp, 14.1, first, "alpha's tick at 14 us comes before the rate's");
        ExpectTarget(*dcqcn, qp, 14.1, 100e9, "the target stays");

        // The next CNP at 14.2 counts in alpha at 15, in the rate at 18.
        Cnp(*dcqcn, qp, 14.2);
        const double alpha = (keep * keep * keep + 1.0 / 256) * std::pow(keep, 3);
        const double second = first * (1 - alpha / 2);
        ExpectRate(qp, 18.1, second, "second decrease");
        ExpectTarget(*dcqcn, qp, 18.1, 100e9, "the target stays in back-to-back decreases");

        double rc = second;
        ExpectRate(qp, 917.9, rc, "900 us from the last decrease");
        for (int expiry = 0; expiry < 4; ++expiry)
        {
            rc = (rc + 100e9) / 2; // the target is at line rate already
            ExpectRate(qp, 918.1 + 900 * expiry, rc, "halfway to the target");
        }
        // Increases came since: this decrease moves the target to the rate.
        Cnp(*dcqcn, qp, 4000.5);
        ExpectTarget(*dcqcn, qp, 4002.1, rc, "the target falls to the rate");
        RunUntil(4003);
    }
};

/// ClampTargetRate, additive and hyper stages of the timer.
class DcqcnStages : public DcqcnTestCase
{
  public:
    DcqcnStages()
        : DcqcnTestCase("Timer stages: one fast, one additive, then hyper increases")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcnHpccArtifact>();
        dcqcn->SetAttribute("ClampTargetRate", BooleanValue(true));
        RdmaQueuePair qp;
        Init(qp);
        dcqcn->OnQpInit(qp);
        Cnp(*dcqcn, qp, 0);
        Cnp(*dcqcn, qp, 4.5);
        const double keep = 255.0 / 256;
        // Ticks 1 to 4 without a new CNP, 5 with one, 6 to 8 without.
        const double alphaFirst = std::pow(keep, 4);
        const double alphaSecond = (alphaFirst * keep + 1.0 / 256) * std::pow(keep, 3);
        double rt = 100e9 * (1 - alphaFirst / 2);
        double rc = rt * (1 - alphaSecond / 2);
        ExpectTarget(*dcqcn, qp, 8.1, rt, "clamped to the rate before the second decrease");
        ExpectRate(qp, 8.1, rc, "second decrease");
        for (int expiry = 1; expiry <= 6; ++expiry)
        {
            rt += expiry == 1 ? 0 : expiry == 2 ? 50e6 : 100e6;
            rc = (rc + rt) / 2;
            ExpectRate(qp, 8.1 + 900 * expiry, rc, "stage");
        }
        RunUntil(5500);
    }
};

/// ConnectX's defaults: steps grow with the port.
class DcqcnScaling : public DcqcnTestCase
{
  public:
    DcqcnScaling()
        : DcqcnTestCase("ConnectX defaults scale the increase steps by the port's rate")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcn>();
        dcqcn->SetAttribute("ClampTargetRate", BooleanValue(true));
        RdmaQueuePair qp;
        Init(qp);
        dcqcn->OnQpInit(qp);
        Cnp(*dcqcn, qp, 0);
        Cnp(*dcqcn, qp, 4.5);
        At(308.1, [&] { m_target = dcqcn->GetTargetRate(qp); });
        At(608.1, [&] {
            NS_TEST_EXPECT_MSG_EQ_TOL(dcqcn->GetTargetRate(qp) - m_target,
                                      4 * 5e6,
                                      1.0,
                                      "5 Mb/s per 25 Gb/s at 100 Gb/s");
            m_target = dcqcn->GetTargetRate(qp);
        });
        At(908.1, [&] {
            NS_TEST_EXPECT_MSG_EQ_TOL(dcqcn->GetTargetRate(qp) - m_target,
                                      4 * 50e6,
                                      1.0,
                                      "50 Mb/s per 25 Gb/s at 100 Gb/s");
        });
        RunUntil(1000);
    }

    double m_target{0};
};

/// The rate falls at the first CNP to a fraction, never below the least rate.
class DcqcnBounds : public DcqcnTestCase
{
  public:
    DcqcnBounds()
        : DcqcnTestCase("Rates stay between the least rate and line rate")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcnPaper>();
        dcqcn->SetAttribute("RateOnFirstCnp", DoubleValue(0.4));
        dcqcn->SetAttribute("MinRate", DataRateValue(DataRate("3Gbps")));
        RdmaQueuePair qp;
        Init(qp);
        dcqcn->OnQpInit(qp);
        dcqcn->OnCnp(qp, Simulator::Now().GetTimeStep());
        NS_TEST_EXPECT_MSG_EQ(qp.GetRate(), 20000000000u, "40% of line rate, then half of it");
        NS_TEST_EXPECT_MSG_EQ(dcqcn->GetTargetRate(qp), 40000000000u, "target likewise");
        for (int i = 0; i < 30; ++i)
        {
            dcqcn->OnCnp(qp, Simulator::Now().GetTimeStep());
        }
        NS_TEST_EXPECT_MSG_EQ(qp.GetRate(), 3000000000u, "least rate");
        // The queue pair always has data: its timer runs until it is back at line rate, then stops.
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(qp.GetRate(), 100000000000u, "back at line rate");
    }
};

/// Its cost: no events at rest, one per decrease, none for CNPs between ticks.
class DcqcnEvents : public DcqcnTestCase
{
  public:
    DcqcnEvents()
        : DcqcnTestCase("Idle queue pairs and CNPs between ticks cost no events")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcnHpccArtifact>();
        RdmaQueuePair qp;
        Init(qp);
        dcqcn->OnQpInit(qp);
        NS_TEST_EXPECT_MSG_EQ(Simulator::IsFinished(), true, "a new queue pair has no event");

        const uint64_t before = Simulator::GetEventCount();
        for (int i = 0; i < 1000; ++i)
        {
            dcqcn->OnCnp(qp, Simulator::Now().GetTimeStep());
        }
        qp.SetSndNxt(qp.sndUna = qp.endSeq); // all sent and acknowledged
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(Simulator::GetEventCount() - before,
                              2u,
                              "one decrease, one increase timer that finds the pair idle");
        NS_TEST_EXPECT_MSG_LT(Simulator::Now(), MilliSeconds(1), "the event list drains");
        dcqcn->OnQpClose(qp);
    }
};

/// A pair that pauses has at its restart the rate of one that never paused.
class DcqcnRestart : public DcqcnTestCase
{
  public:
    DcqcnRestart()
        : DcqcnTestCase("Increases missed while idle are made up for at the restart")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcnHpccArtifact>();
        RdmaQueuePair busy;
        RdmaQueuePair idle;
        for (RdmaQueuePair* qp : {&busy, &idle})
        {
            Init(*qp);
            dcqcn->OnQpInit(*qp);
            for (int i = 0; i < 20; ++i)
            {
                Cnp(*dcqcn, *qp, 4 * i + 0.5);
            }
        }
        At(1000, [&] { idle.sndUna = idle.endSeq; });
        NS_TEST_EXPECT_MSG_EQ(idle.acksWanted, false, "it counts no bytes");
        At(4000,
           [&] { NS_TEST_EXPECT_MSG_EQ(idle.acksWanted, true, "an ACK may tell it to go on"); });
        for (const double restart : {5003.0, 9000.0})
        {
            At(restart, [&] {
                idle.endSeq += 1000;
                dcqcn->OnRestart(idle, Simulator::Now().GetTimeStep());
                NS_TEST_EXPECT_MSG_EQ(idle.GetRate(), busy.GetRate(), "rate at the restart");
                NS_TEST_EXPECT_MSG_EQ(dcqcn->GetTargetRate(idle),
                                      dcqcn->GetTargetRate(busy),
                                      "target at the restart");
                NS_TEST_EXPECT_MSG_LT(idle.GetRate(), 100000000000u, "not yet recovered");
                NS_TEST_EXPECT_MSG_EQ(idle.acksWanted, false, "it goes on by itself");
            });
            At(restart + 950, [&] {
                NS_TEST_EXPECT_MSG_EQ(idle.GetRate(), busy.GetRate(), "the timer runs on in phase");
                idle.sndUna = idle.endSeq;
            });
        }
        RunUntil(20000);
        dcqcn->OnQpClose(busy);
        dcqcn->OnQpClose(idle);
    }
};

/// A closed pair may be destroyed while its event is in the list.
class DcqcnClose : public DcqcnTestCase
{
  public:
    DcqcnClose()
        : DcqcnTestCase("A queue pair may end while its timers are armed")
    {
    }

  private:
    void DoRun() override
    {
        auto dcqcn = CreateObject<RdmaDcqcn>();
        uint64_t rateBps = 0;
        {
            RdmaQueuePair qp;
            Init(qp);
            dcqcn->OnQpInit(qp);
            dcqcn->OnCnp(qp, Simulator::Now().GetTimeStep());
            dcqcn->OnQpClose(qp);
            At(1, [&] { rateBps = qp.GetRate(); });
            RunUntil(2);
        }
        NS_TEST_EXPECT_MSG_EQ(rateBps, 100000000000u, "no decrease after the end");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_LT(Simulator::Now(), MilliSeconds(1), "the armed events did nothing");
    }
};

class DcqcnTestSuite : public TestSuite
{
  public:
    DcqcnTestSuite()
        : TestSuite("rdma-qbb-congestion-dcqcn")
    {
        AddTestCase(new DcqcnPaperSequence);
        AddTestCase(new DcqcnByteCounter);
        AddTestCase(new DcqcnArtifactSequence);
        AddTestCase(new DcqcnStages);
        AddTestCase(new DcqcnScaling);
        AddTestCase(new DcqcnBounds);
        AddTestCase(new DcqcnEvents);
        AddTestCase(new DcqcnRestart);
        AddTestCase(new DcqcnClose);
    }
};

DcqcnTestSuite g_dcqcnTestSuite;

} // namespace
