/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-fixture.h"
#include "rdma-qbb/model/congestion/rdma-hpcc.h"
#include "rdma-qbb/model/engine/qbb-frame-pool.h"

#include "ns3/boolean.h"
#include "ns3/uinteger.h"

namespace ns3
{
namespace
{

/// HPCC's T and W_AI as a rate: 80 bytes in 10 us.
constexpr double T_PS = 10e6;
constexpr double AI_BPS = 80 * 8 / 10e-6;

class RdmaHpccTest : public CongestionTest
{
  protected:
    /// Make a record of a 100 Gb/s port that has sent so many bytes at a time.
    static QbbIntHop Hop(int64_t timePs, uint64_t txBytes, uint64_t queueBytes)
    {
        return {static_cast<uint64_t>(LINE_BPS), txBytes, timePs, queueBytes};
    }

    void AckWithHops(RdmaHpcc& hpcc, std::initializer_list<QbbIntHop> hops)
    {
        QbbTelemetry telemetry;
        for (const QbbIntHop& hop : hops)
        {
            telemetry.hops[telemetry.hopCount++] = hop;
        }
        Ack(hpcc, 0, false, &telemetry);
    }

    Ptr<RdmaHpcc> Make(std::initializer_list<std::pair<const char*, bool>> flags = {},
                       uint32_t maxStage = 5)
    {
        auto hpcc = CreateObject<RdmaHpcc>();
        for (const auto& [name, value] : flags)
        {
            hpcc->SetAttribute(name, BooleanValue(value));
        }
        hpcc->SetAttribute("MaxStage", UintegerValue(maxStage));
        hpcc->OnQpInit(m_qp);
        return hpcc;
    }
};

TEST_F(RdmaHpccTest, StartsAtLineRateWithOneBandwidthDelayProduct)
{
    Make();
    EXPECT_EQ(m_qp.GetRate(), 100000000000u);
    EXPECT_EQ(m_qp.GetWindow(), 125000u); // 100 Gb/s x 10 us
}

TEST_F(RdmaHpccTest, AdditiveStepGrowsWithTheFrame)
{
    m_qp.mtu = 9000;
    auto hpcc = Make({}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 125000)});
    AckWithHops(*hpcc, {Hop(10000000, 125000, 125000)}); // U = 2
    EXPECT_NEAR(m_qp.GetRate(), LINE_BPS * 0.95 / 2 + 9 * AI_BPS, 2);
}

// Ten records are a part of a frame's telemetry.
TEST_F(RdmaHpccTest, TheLastHopOfAPathCountsHoweverLongThePath)
{
    for (const uint32_t hops : {1U, 2U, 9U, 10U, 11U, 19U, 20U, 21U, 300U})
    {
        auto pool = Create<QbbFramePool>();
        auto hpcc = Make({}, 0);
        const auto ackAt = [&](int64_t timePs, uint64_t txBytes) {
            QbbFrame* frame = pool->Allocate();
            frame->telemetry = pool->AllocateTelemetry();
            for (uint32_t hop = 0; hop < hops; ++hop)
            {
                const bool last = hop + 1 == hops;
                pool->AddHop(*frame->telemetry,
                             Hop(timePs, last ? txBytes : hop, last ? 125000 : 0));
            }
            EXPECT_EQ(frame->telemetry->hopCount, hops);
            // As between partitions: the copy is whole, and the frame is given back.
            QbbTelemetry* copy = pool->CopyTelemetry(*frame->telemetry);
            pool->Free(frame);
            Ack(*hpcc, 0, false, copy);
            QbbFrame* other = pool->Allocate();
            other->telemetry = copy;
            pool->Free(other);
        };
        ackAt(0, 0);
        ackAt(10000000, 125000); // U = 2 at the last hop, 0 at the others
        EXPECT_NEAR(m_qp.GetRate(), LINE_BPS * 0.95 / 2 + AI_BPS, 2) << hops;
    }
}

TEST_F(RdmaHpccTest, ItsWindowIsNotScaledByTheRateAgain)
{
    m_qp.SetVariableWindow(true);
    auto hpcc = Make({}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 125000)});
    AckWithHops(*hpcc, {Hop(10000000, 125000, 125000)}); // U = 2
    EXPECT_LT(m_qp.GetRate(), 50000000000u);
    EXPECT_EQ(m_qp.GetEffectiveWindow(), m_qp.GetWindow());
}

TEST_F(RdmaHpccTest, FirstAcknowledgementOnlyStoresTheCounters)
{
    auto hpcc = Make();
    AckWithHops(*hpcc, {Hop(1000000, 50000, 90000)});
    EXPECT_EQ(m_qp.GetRate(), 100000000000u);
}

TEST_F(RdmaHpccTest, MultiplicativeStepFollowsThePaper)
{
    auto hpcc = Make();
    AckWithHops(*hpcc, {Hop(0, 0, 40000)});
    // 1 us later: 10,000 bytes sent = 80 Gb/s; least queue 25,000 bytes = 0.2 of a BDP.
    m_qp.SetSndNxt(100000);
    AckWithHops(*hpcc, {Hop(1000000, 10000, 25000)});
    const double u = 25000 * 8 / (LINE_BPS * 10e-6) + 0.8;
    const double utilization = 0.9 * 1 + 0.1 * u; // tau/T = 0.1, U starts at 1
    const double rate = LINE_BPS / (utilization / 0.95) + AI_BPS;
    EXPECT_NEAR(hpcc->GetUtilization(m_qp), utilization, 1e-12);
    EXPECT_NEAR(m_qp.GetRate(), rate, 1);
    EXPECT_NEAR(m_qp.GetWindow(), rate * 10e-6 / 8, 1);
}

TEST_F(RdmaHpccTest, BusiestHopDecides)
{
    auto hpcc = Make();
    AckWithHops(*hpcc, {Hop(0, 0, 0), Hop(0, 0, 0), Hop(0, 0, 0)});
    AckWithHops(*hpcc, {Hop(10000000, 12500, 0), Hop(10000000, 62500, 0), Hop(10000000, 25000, 0)});
    EXPECT_NEAR(hpcc->GetUtilization(m_qp), 0.5, 1e-12); // a whole T: no memory of the start
}

TEST_F(RdmaHpccTest, WithinARoundEachAcknowledgementStartsFromTheSameReference)
{
    auto hpcc = Make({}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 0)});
    m_qp.SetSndNxt(1000000);
    // Full utilisation for a whole T each time: U = 1.
    AckWithHops(*hpcc, {Hop(10000000, 125000, 0)});
    const double once = LINE_BPS * 0.95 + AI_BPS;
    EXPECT_NEAR(m_qp.GetRate(), once, 1);
    AckWithHops(*hpcc, {Hop(20000000, 250000, 0)});
    AckWithHops(*hpcc, {Hop(30000000, 375000, 0)});
    EXPECT_NEAR(m_qp.GetRate(), once * 0.95 + AI_BPS, 1) << "cuts do not pile up in a round";
}

TEST_F(RdmaHpccTest, WithoutFastReactOnlyARoundsEndChangesTheRate)
{
    auto hpcc = Make({{"FastReact", false}}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 0)});
    m_qp.SetSndNxt(1000000);
    AckWithHops(*hpcc, {Hop(10000000, 125000, 0)});
    const uint64_t rate = m_qp.GetRate();
    EXPECT_LT(rate, LINE_BPS) << "a round ended with the link full";
    // Full again, with a queue besides: within the round nothing happens.
    AckWithHops(*hpcc, {Hop(20000000, 250000, 100000)});
    EXPECT_EQ(m_qp.GetRate(), rate);
}

TEST_F(RdmaHpccTest, FiveAdditiveRoundsThenAMultiplicativeOne)
{
    auto hpcc = Make();
    AckWithHops(*hpcc, {Hop(0, 0, 0)});
    // One overloaded round brings the rate down: U = 2.
    int64_t timePs = 10000000;
    uint64_t sent = 125000;
    AckWithHops(*hpcc, {Hop(timePs, sent, 0)});
    timePs += 10000000;
    sent += 125000;
    AckWithHops(*hpcc, {Hop(timePs, sent, 125000)}); // least queue of the two records is 0: U = 1
    timePs += 10000000;
    sent += 125000;
    AckWithHops(*hpcc, {Hop(timePs, sent, 125000)}); // u = 1 + 1
    double rate = LINE_BPS;
    for (const double u : {1.0, 1.0, 2.0})
    {
        rate = rate / (u / 0.95) + AI_BPS;
    }
    ASSERT_NEAR(m_qp.GetRate(), rate, 2);
    // Then half load and no queue, in rounds of one acknowledgement.
    for (int round = 0; round < 5; ++round)
    {
        timePs += 10000000;
        sent += 62500;
        AckWithHops(*hpcc, {Hop(timePs, sent, 0)});
        rate += AI_BPS;
        ASSERT_NEAR(m_qp.GetRate(), rate, 2) << "round " << round;
    }
    timePs += 10000000;
    sent += 62500;
    AckWithHops(*hpcc, {Hop(timePs, sent, 0)});
    EXPECT_NEAR(m_qp.GetRate(), rate / (0.5 / 0.95) + AI_BPS, 2);
}

TEST_F(RdmaHpccTest, MaxStageZeroIsAlwaysMultiplicative)
{
    auto hpcc = Make({}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 0)});
    AckWithHops(*hpcc, {Hop(10000000, 125000, 0)}); // U = 1
    AckWithHops(*hpcc, {Hop(20000000, 237500, 0)}); // U = 0.9 < eta: up by 0.95/0.9
    const double first = LINE_BPS * 0.95 + AI_BPS;
    EXPECT_NEAR(m_qp.GetRate(), std::min(LINE_BPS, first / (0.9 / 0.95) + AI_BPS), 2);
}

TEST_F(RdmaHpccTest, SampleFeedbackIgnoresEmptyQueuesWithinARound)
{
    auto hpcc = Make({{"SampleFeedback", true}}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 0)});
    m_qp.SetSndNxt(1000000);
    AckWithHops(*hpcc, {Hop(10000000, 125000, 0)}); // ends a round: used
    const uint64_t rate = m_qp.GetRate();
    AckWithHops(*hpcc, {Hop(20000000, 135000, 0)});
    EXPECT_EQ(m_qp.GetRate(), rate) << "no queue: no feedback";
    AckWithHops(*hpcc, {Hop(30000000, 145000, 500)});
    EXPECT_GT(m_qp.GetRate(), rate) << "8% load: the rate may rise";
}

TEST_F(RdmaHpccTest, MultiRateTakesTheLeastOverHops)
{
    auto hpcc = Make({{"MultiRate", true}}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 125000), Hop(0, 0, 250000)});
    AckWithHops(*hpcc, {Hop(10000000, 125000, 125000), Hop(10000000, 125000, 250000)});
    // u = 2 at the first hop, 3 at the second.
    EXPECT_NEAR(m_qp.GetRate(), LINE_BPS * 0.95 / 3 + AI_BPS, 2);
}

TEST_F(RdmaHpccTest, RateBasedLeavesTheWindowAlone)
{
    m_qp.SetWindow(777);
    auto hpcc = Make({{"RateBased", true}}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 0)});
    AckWithHops(*hpcc, {Hop(10000000, 125000, 0)});
    EXPECT_LT(m_qp.GetRate(), 100000000000u);
    EXPECT_EQ(m_qp.GetWindow(), 777u);
}

TEST_F(RdmaHpccTest, NewRouteOfAnotherLengthStartsAfresh)
{
    auto hpcc = Make({}, 0);
    AckWithHops(*hpcc, {Hop(0, 0, 0)});
    AckWithHops(*hpcc, {Hop(10000000, 125000, 0)});
    const uint64_t rate = m_qp.GetRate();
    AckWithHops(*hpcc, {Hop(11000000, 7, 500000), Hop(11000000, 9000000, 500000)});
    EXPECT_EQ(m_qp.GetRate(), rate);
    AckWithHops(*hpcc, {Hop(21000000, 125007, 0), Hop(21000000, 9125000, 0)});
    EXPECT_LT(m_qp.GetRate(), rate);
}

TEST_F(RdmaHpccTest, FasterLinksThanTheNicAreMeasuredExactly)
{
    auto hpcc = Make({}, 0);
    const uint64_t nvlinkBps = 3600000000000;
    AckWithHops(*hpcc, {{nvlinkBps, 0, 0, 0}});
    AckWithHops(*hpcc, {{nvlinkBps, 125000, 10000000, 0}}); // 100 Gb/s of 3.6 Tb/s
    EXPECT_NEAR(hpcc->GetUtilization(m_qp), 1 / 36.0, 1e-12);
    EXPECT_EQ(m_qp.GetRate(), 100000000000u);
}

} // namespace
} // namespace ns3
