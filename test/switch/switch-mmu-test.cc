/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "rdma-qbb/model/attribute/switch-model.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/switch-mmu.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <bit>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace ns3
{

namespace
{

constexpr uint8_t PG = 3;
constexpr uint32_t FRAME = 1000;

/// Two ports of 100 Gb/s and 1 us, 100,000 bytes of buffer, one lossless priority.
/// @param lastScale of the second port's alpha; the first one's is 4
Ptr<SwitchMmu>
MakeMmu(bool dynamic, double lastScale = 4)
{
    UsePicoseconds();
    Ptr<SwitchMmu> mmu = CreateObject<SwitchMmu>();
    mmu->SetAttribute("BufferBytes", UintegerValue(103'508));
    mmu->SetAttribute("ReserveBytes", UintegerValue(4000));
    mmu->SetAttribute("ResumeOffset", UintegerValue(3072));
    mmu->SetAttribute("PfcResponseTime", TimeValue(Time(0)));
    mmu->SetAttribute("DynamicThreshold", BooleanValue(dynamic));
    mmu->SetAttribute("StaticThreshold", UintegerValue(7500));
    mmu->SetPorts(2);
    for (uint32_t port = 0; port < 2; ++port)
    {
        mmu->ConfigurePort(port, 100'000'000'000, 1'000'000, 1082, port == 0 ? 4 : lastScale);
    }
    mmu->Partition();
    return mmu;
}

/// Admits frames from port 0 to port 1 until the partner must be paused. @return how many
uint32_t
FramesUntilPause(SwitchMmu& mmu)
{
    uint32_t frames = 0;
    while (!mmu.ShouldPause(0, PG) && frames < 1000)
    {
        EXPECT_TRUE(mmu.Admit(0, 1, PG, FRAME));
        ++frames;
    }
    return frames;
}

} // namespace

TEST(SwitchMmu, DividesTheBufferIntoReserveHeadroomAndSharedPool)
{
    const auto mmu = MakeMmu(true);
    // 2 x 1 us x 12.5 bytes/ns + 1 + 3 x 1082 + 8 x 84
    EXPECT_EQ(mmu->GetLimits().GetHeadroom(0), 25'000U + 1 + 3246 + 672);
    EXPECT_EQ(mmu->GetLimits().GetSharedBytes(), 103'508U - 2 * 4000 - 2 * 28'919);
    // A response time that is longer than the frames' counts instead: 1 us x 12.5 bytes/ns.
    mmu->SetAttribute("PfcResponseTime", TimeValue(MicroSeconds(1)));
    EXPECT_EQ(mmu->GetLimits().GetHeadroom(0), 25'000U + 1 + 2164 + 12'500);
}

TEST(SwitchMmu, PausesWhenSharedBytesReachTheDynamicThreshold)
{
    const auto mmu = MakeMmu(true);
    // Four frames fill the reserve. With s shared bytes the threshold is (37670 - s) / 2, so twelve
    // frames fit (12000 <= 12835) and the thirteenth, 13000 > 12835, goes to the headroom.
    EXPECT_EQ(FramesUntilPause(*mmu), 4U + 12 + 1);
    EXPECT_EQ(mmu->GetCounts().GetIngressBytes(0, PG), 16'000U);
    EXPECT_EQ(mmu->GetCounts().GetHeadroomBytes(0, PG), 1000U);
}

TEST(SwitchMmu, PausesAtTheStaticThreshold)
{
    const auto mmu = MakeMmu(false);
    // Seven frames of shared bytes stay below 7500, the eighth does not.
    EXPECT_EQ(FramesUntilPause(*mmu), 4U + 7 + 1);
}

TEST(SwitchMmu, WithoutAStaticThresholdPortsHaveEqualShares)
{
    const auto mmu = MakeMmu(false);
    mmu->SetAttribute("StaticThreshold", UintegerValue(0));
    // (100,000 - 2 x 4000 - 2 x 27,165) / 2
    EXPECT_EQ(mmu->GetThreshold(0, 3), 37'670U / 2);
    EXPECT_EQ(mmu->GetThreshold(1, 3), 37'670U / 2);
}

TEST(SwitchMmu, ReservesAndHeadroomThatTakeAllLeaveNothingToShare)
{
    const auto mmu = MakeMmu(true);
    mmu->SetAttribute("BufferBytes", UintegerValue(2 * 4000 + 2 * 28'919));
    EXPECT_EQ(mmu->GetLimits().GetSharedBytes(), 0U);
    mmu->SetAttribute("BufferBytes", UintegerValue(2 * 4000 + 2 * 28'919 + 1));
    EXPECT_EQ(mmu->GetLimits().GetSharedBytes(), 1U);
    mmu->SetAttribute("BufferBytes", UintegerValue(1000));
    EXPECT_EQ(mmu->GetLimits().GetSharedBytes(), 0U);
}

TEST(SwitchMmu, DividingAnewKeepsTheBytesThatAreShared)
{
    const auto mmu = MakeMmu(true);
    for (int frame = 0; frame < 6; ++frame)
    {
        EXPECT_TRUE(mmu->Admit(0, 1, PG, FRAME));
    }
    EXPECT_EQ(mmu->GetCounts().GetSharedUsed(), 6U * FRAME - 4000);
    mmu->SetAttribute("BufferBytes", UintegerValue(123'508));
    EXPECT_EQ(mmu->GetLimits().GetSharedBytes(), 57'670U);
    EXPECT_EQ(mmu->GetCounts().GetSharedUsed(), 6U * FRAME - 4000);
}

TEST(SwitchMmu, HeadroomTakesWhatComesAfterThePauseAndNoMore)
{
    const auto mmu = MakeMmu(true);
    FramesUntilPause(*mmu);
    mmu->SetPaused(0, PG, true);
    uint32_t frames = 0;
    while (mmu->Admit(0, 1, PG, FRAME))
    {
        ++frames;
    }
    EXPECT_EQ(frames, 27U) << "28919 bytes hold 28 frames, one of which was there";
    EXPECT_EQ(mmu->GetCounts().GetTotalBytes(), (16U + 28) * FRAME)
        << "a refused frame leaves no trace";
}

TEST(SwitchMmu, ThinkingAheadAgreesWithReleasingForEveryAmountThatStays)
{
    const auto mmu = MakeMmu(true);
    const uint32_t admitted = FramesUntilPause(*mmu) + 5;
    mmu->SetPaused(0, PG, true);
    for (int i = 0; i < 5; ++i)
    {
        ASSERT_TRUE(mmu->Admit(0, 1, PG, FRAME));
    }
    std::vector<SwitchMmu::BytesByPriority> left(2);
    std::vector<bool> foreseen;
    for (uint32_t frames = 0; frames <= admitted; ++frames)
    {
        left[0][PG] = uint64_t{frames} * FRAME;
        foreseen.push_back(mmu->StaysPaused(0, PG, left));
    }
    EXPECT_FALSE(foreseen.front()) << "an empty ingress resumes";
    EXPECT_TRUE(foreseen.back()) << "nothing changes if nothing leaves";
    for (uint32_t frames = admitted;; --frames)
    {
        EXPECT_EQ(foreseen[frames], !mmu->ShouldResume(0, PG)) << frames << " frames stay";
        if (frames == 0)
        {
            break;
        }
        mmu->Release(0, 1, PG, FRAME);
    }
    EXPECT_FALSE(mmu->StaysPaused(1, PG, left)) << "an ingress that pauses nobody";
}

TEST(SwitchMmu, ResumesBelowTheThresholdByTheOffsetAndEndsEmpty)
{
    const auto mmu = MakeMmu(true);
    const uint32_t admitted = FramesUntilPause(*mmu);
    mmu->SetPaused(0, PG, true);
    uint32_t released = 0;
    while (!mmu->ShouldResume(0, PG))
    {
        mmu->Release(0, 1, PG, FRAME);
        ++released;
    }
    // The headroom's frame first; then s + 3072 <= (37670 - s) / 2 holds from s = 10508 down.
    EXPECT_EQ(released, 1U + 2);
    for (; released < admitted; ++released)
    {
        mmu->Release(0, 1, PG, FRAME);
    }
    EXPECT_EQ(mmu->GetCounts().GetTotalBytes(), 0U);
    EXPECT_EQ(mmu->GetCounts().GetSharedUsed(), 0U);
    EXPECT_EQ(mmu->GetCounts().GetIngressBytes(0, PG), 0U);
    EXPECT_EQ(mmu->GetCounts().GetEgressBytes(1, PG), 0U);
}

TEST(SwitchMmu, MarksNothingBelowKminEverythingAboveKmaxAndTheRampBetween)
{
    const auto mmu = MakeMmu(true);
    mmu->AssignStreams(1);
    mmu->SetEcn(1, {5000, 9000, 0.4});
    const auto marks = [&](uint32_t frames) {
        while (mmu->GetCounts().GetEgressBytes(1, PG) < frames * FRAME)
        {
            mmu->Admit(0, 1, PG, FRAME);
        }
        int marked = 0;
        for (int i = 0; i < 10'000; ++i)
        {
            marked += mmu->ShouldMark(1, PG);
        }
        return marked;
    };
    EXPECT_EQ(marks(5), 0);
    // Half way up: 0.2; four standard deviations of a binomial are 160.
    EXPECT_NEAR(marks(7), 2000, 160);
    // At Kmax itself the ramp ends: 0.4.
    EXPECT_NEAR(marks(9), 4000, 196);
    EXPECT_EQ(marks(10), 10'000);
}

TEST(SwitchMmu, MarksAsAStepWhereKminIsKmax)
{
    const auto mmu = MakeMmu(true);
    mmu->AssignStreams(1);
    mmu->SetEcn(1, {5 * FRAME, 5 * FRAME, 0.4});
    for (uint32_t frames = 1; frames <= 7; ++frames)
    {
        mmu->Admit(0, 1, PG, FRAME);
        for (int i = 0; i < 100; ++i)
        {
            ASSERT_EQ(mmu->ShouldMark(1, PG), frames > 5) << frames << " frames";
        }
    }
}

TEST(SwitchMmu, ThresholdsOfMarkingGrowWithTheRate)
{
    // 100 and 400 KB at 25 Gb/s; a queue of 400 Gb/s drains sixteen times as fast.
    const auto mmu = MakeMmu(true);
    for (const uint64_t times : {1, 4, 16})
    {
        const EcnThresholds ecn = mmu->GetLimits().EcnFor(times * 25'000'000'000);
        EXPECT_EQ(ecn.kminBytes, times * 100'000);
        EXPECT_EQ(ecn.kmaxBytes, times * 400'000);
        EXPECT_EQ(ecn.pmax, 0.2);
    }
}

TEST(SwitchMmu, AStreamThatIsAssignedAgainBeginsAnew)
{
    const auto mmu = MakeMmu(true);
    mmu->SetEcn(1, {5000, 9000, 1});
    for (int frame = 0; frame < 7; ++frame)
    {
        ASSERT_TRUE(mmu->Admit(0, 1, PG, FRAME));
    }
    const auto draws = [&](int64_t stream) {
        EXPECT_EQ(mmu->AssignStreams(stream), 1);
        std::vector<bool> marks;
        for (int i = 0; i < 100; ++i)
        {
            marks.push_back(mmu->ShouldMark(1, PG));
        }
        return marks;
    };
    const auto first = draws(5);
    EXPECT_EQ(draws(5), first);
    EXPECT_NE(draws(6), first);
}

TEST(SwitchMmu, LossyTrafficThatFindsNothingToShareHasItsReserveAlone)
{
    const auto mmu = MakeMmu(true);
    mmu->SetAttribute("LosslessMask", UintegerValue(0));
    mmu->SetAttribute("LossyAlpha", DoubleValue(1));
    mmu->SetAttribute("BufferBytes", UintegerValue(2 * 4000)); // the reserves
    ASSERT_EQ(mmu->GetLimits().GetSharedBytes(), 0U);
    EXPECT_TRUE(mmu->Admit(0, 1, 1, 4000));
    EXPECT_FALSE(mmu->Admit(0, 1, 1, 1));
}

TEST(SwitchMmu, AThresholdBeyondThePoolPausesWhenThePoolIsUsedUp)
{
    const auto mmu = MakeMmu(false);
    mmu->SetAttribute("StaticThreshold", UintegerValue(37'670));
    EXPECT_FALSE(mmu->IsThresholdOutOfReach());
    mmu->SetAttribute("StaticThreshold", UintegerValue(37'671));
    EXPECT_TRUE(mmu->IsThresholdOutOfReach());
    // The reserve and all but one of the 37,670 shared bytes; the last one; one too many.
    ASSERT_TRUE(mmu->Admit(0, 1, PG, 4000 + 37'669));
    EXPECT_FALSE(mmu->ShouldPause(0, PG));
    ASSERT_TRUE(mmu->Admit(0, 1, PG, 1));
    EXPECT_FALSE(mmu->ShouldPause(0, PG));
    EXPECT_EQ(mmu->GetCounts().GetHeadroomBytes(0, PG), 0U);
    ASSERT_TRUE(mmu->Admit(0, 1, PG, 1));
    EXPECT_TRUE(mmu->ShouldPause(0, PG));
    EXPECT_EQ(mmu->GetCounts().GetHeadroomBytes(0, PG), 1U);
    mmu->SetPaused(0, PG, true);
    // It resumes when 3072 shared bytes are free.
    mmu->Release(0, 1, PG, 1 + 3071);
    EXPECT_FALSE(mmu->ShouldResume(0, PG));
    mmu->Release(0, 1, PG, 1);
    EXPECT_TRUE(mmu->ShouldResume(0, PG));
}

/// Sends frames of random sizes through a switch of four ports, at first more than leave; partners
/// obey pauses as soon as their link lets them. Says what the switch does wrong.
class FillingSwitch
{
  public:
    explicit FillingSwitch(Ptr<SwitchMmu> mmu)
        : FillingSwitch(mmu, 1082, 100'000'000'000)
    {
        // Room for one reserve per port and lossless priority, and for 20 frames to share.
        const auto classes = std::max(std::popcount(mmu->GetLimits().GetLosslessMask()), 1);
        mmu->SetAttribute("BufferBytes",
                          UintegerValue(mmu->GetLimits().GetAllHeadroom() + PORTS * classes * 4096 +
                                        uint64_t{20} * m_mtuWire));
    }

    /// With the buffer that it has. @param mtuWire largest frame @param rateBps of each port
    FillingSwitch(Ptr<SwitchMmu> mmu, uint32_t mtuWire, uint64_t rateBps)
        : m_mmu(mmu),
          m_mtuWire(mtuWire),
          m_onWire(static_cast<uint32_t>(2 * rateBps / 8'000'000)) // 2 x 1 us come after a pause
    {
        mmu->SetPorts(PORTS);
        for (uint32_t port = 0; port < PORTS; ++port)
        {
            mmu->ConfigurePort(port, rateBps, 1'000'000, mtuWire, 1);
        }
        mmu->Partition();
    }

    void Run(int round = 500)
    {
        for (int step = 0; step < 4 * round; ++step)
        {
            const bool fills = step / round % 2 == 0;
            if (random() % 4 != 0 ? fills : !fills)
            {
                Arrive();
            }
            else
            {
                Leave();
            }
            const uint64_t held =
                m_mmu->GetCounts().GetTotalBytes() + m_mmu->GetCounts().GetControlBytes();
            ASSERT_LE(held, m_mmu->GetLimits().GetBufferBytes());
            ASSERT_EQ(inBytes, outBytes + dropBytes + held);
        }
        while (!m_held.empty())
        {
            Leave();
        }
        EXPECT_EQ(m_mmu->GetCounts().GetTotalBytes() + m_mmu->GetCounts().GetSharedUsed() +
                      m_mmu->GetCounts().GetControlBytes(),
                  0U);
        EXPECT_EQ(inBytes, outBytes + dropBytes);
        EXPECT_GT(m_mmu->GetCounts().GetPeakBytes(), uint64_t{20} * m_mtuWire)
            << "the test fills the switch";
    }

    uint64_t inBytes{0};
    uint64_t outBytes{0};
    uint64_t dropBytes{0};

    uint64_t losslessDrops{0};
    uint64_t lossyDrops{0};
    std::mt19937 random{7};

  private:
    static constexpr uint32_t PORTS = 4;

    struct Partner
    {
        bool paused{false};
        uint32_t late{0}; ///< bytes since the pause
    };

    void Arrive()
    {
        const uint32_t in = random() % PORTS;
        const auto priority = static_cast<uint8_t>(1 + random() % 7);
        const uint32_t bytes = 84 + random() % (m_mtuWire - 83);
        Partner& partner = m_partners[in][priority];
        if (partner.paused && partner.late + bytes > m_onWire)
        {
            return;
        }
        partner.late += partner.paused ? bytes : 0;
        inBytes += bytes;
        if (!m_mmu->AdmitEasily(in, 0, priority, bytes) && !m_mmu->Admit(in, 0, priority, bytes))
        {
            ++(m_mmu->GetLimits().IsLossless(priority) ? losslessDrops : lossyDrops);
            dropBytes += bytes;
            return;
        }
        m_held.push_back({in, priority, bytes});
        if (m_mmu->ShouldPause(in, priority))
        {
            m_mmu->SetPaused(in, priority, true);
            partner = {true, 0};
        }
    }

    void Leave()
    {
        if (m_held.empty())
        {
            return;
        }
        std::swap(m_held[random() % m_held.size()], m_held.back());
        const auto [in, priority, bytes] = m_held.back();
        m_held.pop_back();
        m_mmu->Release(in, 0, priority, bytes);
        outBytes += bytes;
        if (m_mmu->ShouldResume(in, priority))
        {
            m_mmu->SetPaused(in, priority, false);
            m_partners[in][priority] = {};
        }
    }

    struct Held
    {
        uint32_t in;
        uint8_t priority;
        uint32_t bytes;
    };

    Ptr<SwitchMmu> m_mmu;
    uint32_t m_mtuWire;
    uint32_t m_onWire;
    std::array<std::array<Partner, SwitchMmu::PRIORITIES>, PORTS> m_partners;
    std::vector<Held> m_held;
};

TEST(SwitchMmu, NeverHoldsMoreThanItsBufferAndDropsNothingThatPfcProtects)
{
    for (const uint64_t threshold : {0UL, 1UL, 2500UL, 20'000UL, 21'640UL, 21'641UL, 1UL << 40})
    {
        for (const double alpha : {0.0, 0.125, 1.0, 16.0})
        {
            for (const uint32_t mask : {0x00U, 0x08U, 0x28U, 0xfeU})
            {
                SCOPED_TRACE(::testing::Message() << threshold << " " << alpha << " " << mask);
                const auto mmu = CreateObject<SwitchMmu>();
                mmu->SetAttribute("DynamicThreshold", BooleanValue(threshold == 0));
                mmu->SetAttribute("StaticThreshold", UintegerValue(threshold));
                mmu->SetAttribute("Alpha", DoubleValue(alpha));
                mmu->SetAttribute("LossyAlpha", DoubleValue(alpha));
                mmu->SetAttribute("LosslessMask", UintegerValue(mask));
                FillingSwitch filling(mmu);
                filling.Run();
                EXPECT_EQ(filling.losslessDrops, 0U);
                EXPECT_EQ(filling.lossyDrops > 0, mask != 0xfe);
            }
        }
    }
}

TEST(SwitchMmu, OfEachModelNeverHoldsMoreThanItsBufferAndLosesNoByteUnnoticed)
{
    for (const SwitchModel& model : SwitchModel::All())
    {
        for (const uint64_t threshold : {uint64_t{0}, uint64_t{100'000}, model.bufferBytes})
        {
            for (const uint32_t mask : {0x00U, 0x08U, 0xfeU})
            {
                SCOPED_TRACE(::testing::Message() << model.name << " " << threshold << " " << mask);
                UsePicoseconds();
                const auto mmu = CreateObject<SwitchMmu>();
                mmu->SetAttribute("BufferBytes", UintegerValue(model.bufferBytes));
                mmu->SetAttribute("Alpha", DoubleValue(model.alpha));
                mmu->SetAttribute("LossyAlpha", DoubleValue(model.lossyAlpha));
                mmu->SetAttribute("LossyQueueAlpha", DoubleValue(model.lossyQueueAlpha));
                mmu->SetAttribute("PfcResponseTime", TimeValue(PicoSeconds(model.pfcResponsePs)));
                mmu->SetAttribute("DynamicThreshold", BooleanValue(threshold == 0));
                mmu->SetAttribute("StaticThreshold", UintegerValue(threshold));
                mmu->SetAttribute("LosslessMask", UintegerValue(mask));
                FillingSwitch filling(mmu, 65'082, model.portBps);
                filling.Run(10'000);
                EXPECT_EQ(filling.losslessDrops, 0U);
                EXPECT_TRUE(filling.lossyDrops > 0 || mask != 0) << "the test fills the switch";
            }
        }
    }
}

TEST(SwitchMmu, ALossyQueueTakesItsShareOfTheFreeBufferHoweverManyIngressesFillIt)
{
    UsePicoseconds();
    constexpr uint64_t SHARED = 120'000;
    for (const double alpha : {0.5, 1.0, 2.0})
    {
        const auto mmu = CreateObject<SwitchMmu>();
        mmu->SetAttribute("BufferBytes", UintegerValue(SHARED));
        mmu->SetAttribute("ReserveBytes", UintegerValue(0));
        mmu->SetAttribute("LosslessMask", UintegerValue(0));
        mmu->SetAttribute("LossyAlpha", DoubleValue(1024));
        mmu->SetAttribute("LossyQueueAlpha", DoubleValue(alpha));
        mmu->SetPorts(4);
        for (uint32_t port = 0; port < 4; ++port)
        {
            mmu->ConfigurePort(port, 100'000'000'000, 0, 1, 1);
        }
        mmu->Partition();
        mmu->SetAttribute("BufferBytes", UintegerValue(SHARED + mmu->GetLimits().GetAllHeadroom()));
        ASSERT_EQ(mmu->GetLimits().GetSharedBytes(), SHARED);
        uint32_t frames = 0;
        while (mmu->Admit(frames % 3, 3, PG, FRAME))
        {
            ASSERT_LT(++frames, 1000U);
        }
        // n frames fit while n F <= alpha (S - (n - 1) F).
        const double most = alpha * (SHARED / FRAME + 1) / (1 + alpha);
        EXPECT_EQ(frames, static_cast<uint32_t>(most)) << alpha;
        EXPECT_TRUE(mmu->Admit(0, 2, PG, FRAME)) << "another queue has a share of its own";
        EXPECT_TRUE(mmu->Admit(0, 3, 0, FRAME)) << "control frames are not bound";
    }
}

TEST(SwitchModel, HasItsPortsAndNoMore)
{
    const SwitchModel* model = SwitchModel::Find("Tomahawk5");
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(SwitchModel::Find("Tomahawk"), nullptr);
    constexpr uint64_t G = 1'000'000'000;
    EXPECT_EQ(model->DescribeMisfit(64, 800 * G, 51'200 * G), "");
    EXPECT_EQ(model->DescribeMisfit(128, 400 * G, 51'200 * G), "");
    EXPECT_EQ(model->DescribeMisfit(342, 100 * G, 34'200 * G), "has at most 341 ports, not 342");
    EXPECT_EQ(model->DescribeMisfit(1, 1'600 * G, 1'600 * G),
              "has ports of at most 800 Gb/s, not 1600");
    EXPECT_EQ(model->DescribeMisfit(65, 800 * G, 52'000 * G),
              "has 51.2 Tb/s for all ports together, not 52");
}

TEST(SwitchMmu, ControlFramesFindNoRoomWhereTheBufferHasNone)
{
    const auto mmu = MakeMmu(true);
    ASSERT_TRUE(mmu->Admit(0, 1, PG, 4000));
    ASSERT_TRUE(mmu->Admit(0, 1, 0, 99'507));
    EXPECT_FALSE(mmu->Admit(0, 1, 0, 2));
    ASSERT_TRUE(mmu->Admit(0, 1, 0, 1));
    EXPECT_FALSE(mmu->Admit(1, 0, PG, 1));
    EXPECT_EQ(mmu->GetCounts().GetControlBytes(), 99'508U);
    mmu->Release(0, 1, 0, 1);
    EXPECT_TRUE(mmu->Admit(1, 0, PG, 1));
}

TEST(SwitchMmu, LossyTrafficGetsAPartOfWhatOthersLeave)
{
    const auto mmu = MakeMmu(true);
    mmu->SetAttribute("LossyAlpha", DoubleValue(0.5));
    const auto shared = static_cast<uint32_t>(mmu->GetLimits().GetSharedBytes());
    ASSERT_TRUE(mmu->Admit(0, 1, 1, 4000 + shared / 4)) << "its reserve, and half of its part";
    const uint32_t part = (shared - shared / 4) / 2;
    EXPECT_FALSE(mmu->Admit(1, 0, 1, 4000 + part + 1));
    EXPECT_TRUE(mmu->Admit(1, 0, 1, 4000 + part));
}

TEST(SwitchMmu, WhatPassesThroughWouldHaveBeenAdmittedAndReleasedWithoutAPause)
{
    for (const bool dynamic : {true, false})
    {
        const auto mmu = MakeMmu(dynamic);
        std::mt19937 random(7);
        std::vector<std::array<uint32_t, 3>> held; // ingress, priority, bytes
        uint32_t passed = 0;
        uint32_t refused = 0;
        for (int step = 0; step < 20'000; ++step)
        {
            const uint32_t in = random() % 2;
            const auto priority = static_cast<uint8_t>(std::array{0, 1, 3}[random() % 3]);
            const uint32_t bytes = 1 + random() % 3000;
            const uint64_t peak = mmu->GetCounts().GetPeakBytes();
            const uint64_t total = mmu->GetCounts().GetTotalBytes();
            const uint64_t shared = mmu->GetCounts().GetSharedUsed();
            if (mmu->PassThrough(in, priority, bytes))
            {
                ++passed;
                EXPECT_EQ(mmu->GetCounts().GetPeakBytes(),
                          priority ? std::max(peak, total + bytes) : peak);
                ASSERT_TRUE(mmu->Admit(in, 1 - in, priority, bytes));
                EXPECT_FALSE(mmu->ShouldPause(in, priority));
                mmu->Release(in, 1 - in, priority, bytes);
                EXPECT_FALSE(mmu->ShouldResume(in, priority));
            }
            else
            {
                ++refused;
                EXPECT_EQ(mmu->GetCounts().GetPeakBytes(), peak);
            }
            EXPECT_EQ(mmu->GetCounts().GetTotalBytes(), total);
            EXPECT_EQ(mmu->GetCounts().GetSharedUsed(), shared);
            // Fills and empties in waves, pauses and resumes as a switch does.
            if (step / 64 % 2 == 0 && mmu->Admit(in, 1 - in, priority, bytes))
            {
                held.push_back({in, priority, bytes});
                if (mmu->ShouldPause(in, priority))
                {
                    mmu->SetPaused(in, priority, true);
                    EXPECT_FALSE(mmu->PassThrough(in, priority, 1)) << "its partner is paused";
                }
            }
            else if (!held.empty())
            {
                const auto [port, pg, size] = held.back();
                held.pop_back();
                mmu->Release(port, 1 - port, pg, size);
                if (mmu->ShouldResume(port, pg))
                {
                    mmu->SetPaused(port, pg, false);
                }
            }
        }
        EXPECT_GT(passed, 2000U);
        EXPECT_GT(refused, 2000U);
    }
}

class SwitchMmuAdmittingEasily : public testing::TestWithParam<double>
{
};

// The second port pauses as early as the first, or much earlier.
INSTANTIATE_TEST_SUITE_P(Scales, SwitchMmuAdmittingEasily, testing::Values(4, 0.5));

TEST_P(SwitchMmuAdmittingEasily, IsAdmittingWithoutAPause)
{
    const auto easy = MakeMmu(true, GetParam());
    const auto plain = MakeMmu(true, GetParam());
    std::mt19937 random(8);
    std::vector<std::array<uint32_t, 3>> held; // ingress, priority, bytes
    uint32_t admittedEasily = 0;
    uint32_t pauses = 0;
    for (int step = 0; step < 20'000; ++step)
    {
        const uint32_t in = random() % 2;
        const auto priority = static_cast<uint8_t>(std::array{0, 1, 3}[random() % 3]);
        const uint32_t bytes = 1 + random() % 3000;
        if (step / 64 % 2 == 0)
        {
            const bool admitted = plain->Admit(in, 1 - in, priority, bytes);
            const bool pause = admitted && plain->ShouldPause(in, priority);
            if (easy->AdmitEasily(in, 1 - in, priority, bytes))
            {
                ++admittedEasily;
                ASSERT_TRUE(admitted);
                EXPECT_FALSE(pause);
            }
            else
            {
                ASSERT_EQ(easy->Admit(in, 1 - in, priority, bytes), admitted);
            }
            if (admitted)
            {
                held.push_back({in, priority, bytes});
            }
            if (pause)
            {
                ++pauses;
                easy->SetPaused(in, priority, true);
                plain->SetPaused(in, priority, true);
            }
        }
        else if (!held.empty())
        {
            const auto [port, pg, size] = held.back();
            held.pop_back();
            for (const auto& mmu : {easy, plain})
            {
                mmu->Release(port, 1 - port, pg, size);
                if (mmu->ShouldResume(port, pg))
                {
                    mmu->SetPaused(port, pg, false);
                }
            }
        }
        const BufferCounts& is = easy->GetCounts();
        const BufferCounts& should = plain->GetCounts();
        for (const uint8_t pg : {0, 1, 3})
        {
            ASSERT_EQ(is.GetIngressBytes(in, pg), should.GetIngressBytes(in, pg));
            ASSERT_EQ(is.GetHeadroomBytes(in, pg), should.GetHeadroomBytes(in, pg));
            ASSERT_EQ(is.GetEgressBytes(in, pg), should.GetEgressBytes(in, pg));
        }
        ASSERT_EQ(is.GetTotalBytes(), should.GetTotalBytes());
        ASSERT_EQ(is.GetSharedUsed(), should.GetSharedUsed());
        ASSERT_EQ(is.GetPeakBytes(), should.GetPeakBytes());
    }
    EXPECT_GT(admittedEasily, 150U); // a scale of a half leaves room for fewer

    EXPECT_GT(pauses, 100U);
}

TEST(SwitchMmu, ControlTrafficIsNeverPausedNorCharged)
{
    const auto mmu = MakeMmu(true);
    for (int i = 0; i < 103; ++i) // as many as the buffer holds
    {
        ASSERT_TRUE(mmu->Admit(0, 1, 0, FRAME));
    }
    EXPECT_FALSE(mmu->ShouldPause(0, 0));
    EXPECT_EQ(mmu->GetCounts().GetTotalBytes(), 0U);
}

} // namespace ns3
