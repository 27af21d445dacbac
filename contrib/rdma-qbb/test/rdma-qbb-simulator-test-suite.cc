/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/config.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"

#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

void
UseSimulator(const std::string& implementation, const std::string& scheduler)
{
    Config::SetGlobal("SimulatorImplementationType", StringValue(implementation));
    Config::SetGlobal("SchedulerType", StringValue(scheduler));
}

void
UseNs3Simulator()
{
    UseSimulator("ns3::DefaultSimulatorImpl", "ns3::MapScheduler");
}

/// The events of a program: time, context, number.
struct Seen
{
    int64_t ts;
    uint32_t context;
    uint32_t what;

    bool operator==(const Seen&) const = default;
};

/// A program that schedules, cancels, removes and asks at random, the same for equal seeds.
class RandomProgram
{
  public:
    explicit RandomProgram(uint32_t seed)
        : m_random(seed)
    {
    }

    std::vector<Seen> Run()
    {
        for (int i = 0; i < 20; ++i)
        {
            Plant();
        }
        const EventId destroyed = Simulator::ScheduleDestroy(&RandomProgram::Note, this, 1U << 30);
        Simulator::ScheduleDestroy(&RandomProgram::Note, this, 1U << 31);
        Simulator::Cancel(destroyed);
        Simulator::Stop(TimeStep(50));
        Simulator::Run();
        Note(Simulator::IsFinished());
        Simulator::Run();
        Note(static_cast<uint32_t>(Simulator::GetEventCount()));
        Simulator::Destroy();
        return m_seen;
    }

  private:
    uint32_t Draw(uint32_t below)
    {
        return static_cast<uint32_t>(m_random() % below);
    }

    void Plant()
    {
        const uint32_t what = m_planted++;
        const Time delay = TimeStep(Draw(4) ? Draw(5) : Draw(100000));
        switch (Draw(3))
        {
        case 0:
            Simulator::ScheduleWithContext(Draw(9), delay, &RandomProgram::Happen, this, what);
            break;
        case 1:
            m_ids.push_back(Simulator::ScheduleNow(&RandomProgram::Happen, this, what));
            break;
        default:
            m_ids.push_back(Simulator::Schedule(delay, &RandomProgram::Happen, this, what));
        }
    }

    void Happen(uint32_t what)
    {
        Note(what);
        while (m_planted < 3000 && Draw(5) > 1)
        {
            Plant();
        }
        if (m_ids.empty())
        {
            return;
        }
        const EventId& id = m_ids[Draw(static_cast<uint32_t>(m_ids.size()))];
        Note(Simulator::IsExpired(id) ? 1U << 28 : 1U << 29);
        Note(static_cast<uint32_t>(Simulator::GetDelayLeft(id).GetTimeStep()));
        switch (Draw(6))
        {
        case 0:
            Simulator::Cancel(id);
            break;
        case 1:
            Simulator::Remove(id);
            break;
        default:
            break;
        }
    }

    void Note(uint32_t what)
    {
        m_seen.push_back({Simulator::Now().GetTimeStep(), Simulator::GetContext(), what});
    }

    std::mt19937 m_random;
    uint32_t m_planted{0};
    std::vector<EventId> m_ids;
    std::vector<Seen> m_seen;
};

} // namespace

/// The same program sees the same events on ns-3's own implementation.
class SameEventsAsDefaultCase : public TestCase
{
  public:
    explicit SameEventsAsDefaultCase(const std::string& scheduler)
        : TestCase("Same events as DefaultSimulatorImpl with " + scheduler),
          m_scheduler(scheduler)
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 20; ++seed)
        {
            UseNs3Simulator();
            const auto expected = RandomProgram(seed).Run();
            NS_TEST_ASSERT_MSG_GT(expected.size(), 20, "the program does something");
            UseSimulator("ns3::QbbSimulatorImpl", m_scheduler);
            const auto got = RandomProgram(seed).Run();
            NS_TEST_EXPECT_MSG_EQ((got == expected), true, "seed " << seed);
        }
        UseNs3Simulator();
    }

    std::string m_scheduler;
};

/// Something that owns a port event and notes when it fires.
class Ticker
{
  public:
    Ticker()
        : m_event(Create<Event>(this))
    {
    }

    ~Ticker()
    {
        m_event->Detach();
    }

    void After(uint32_t context, int64_t delayPs)
    {
        m_event->ScheduleAt(context, Simulator::Now().GetTimeStep() + delayPs);
    }

    /// @return the references that the owner and the event list hold
    uint32_t References() const
    {
        return m_event->GetReferenceCount();
    }

    std::vector<std::pair<int64_t, uint32_t>> fired; ///< time, context

  private:
    void OnEvent(int64_t nowPs)
    {
        fired.emplace_back(nowPs, Simulator::GetContext());
    }

    using Event = QbbPortEvent<Ticker, &Ticker::OnEvent>;
    Ptr<Event> m_event;
};

/// Port events fire at their times under any implementation and scheduler, as often as scheduled.
class PortEventsCase : public TestCase
{
  public:
    PortEventsCase(const std::string& implementation, const std::string& scheduler)
        : TestCase("Port events under " + implementation + " with " + scheduler),
          m_implementation(implementation),
          m_scheduler(scheduler)
    {
    }

  private:
    void DoRun() override
    {
        UseSimulator(m_implementation, m_scheduler);
        Ticker ticker;
        ticker.After(3, 500);
        ticker.After(4, 20);
        ticker.After(5, 20);
        NS_TEST_EXPECT_MSG_EQ(ticker.References(), 4, "one per expiry, and the owner's");
        {
            Ticker gone;
            gone.After(6, 30);
        }
        Simulator::Run();
        const std::vector<std::pair<int64_t, uint32_t>> expected{{20, 4}, {20, 5}, {500, 3}};
        NS_TEST_EXPECT_MSG_EQ((ticker.fired == expected), true, "times and contexts");
        NS_TEST_EXPECT_MSG_EQ(Simulator::GetEventCount(), 4, "the detached expiry counts too");
        NS_TEST_EXPECT_MSG_EQ(ticker.References(), 1, "only the owner's is left");
        ticker.After(1, 10);
        Simulator::Destroy();
        NS_TEST_EXPECT_MSG_EQ(ticker.References(), 1, "the end of the simulator gives one back");
        UseNs3Simulator();
    }

    std::string m_implementation;
    std::string m_scheduler;
};

/// Another thread's events come in when the simulator looks, its delays counted from then.
class OtherThreadCase : public TestCase
{
  public:
    OtherThreadCase()
        : TestCase("Another thread schedules with a context")
    {
    }

  private:
    void DoRun() override
    {
        UseSimulator("ns3::QbbSimulatorImpl", "ns3::TimingWheelScheduler");
        std::vector<int64_t> seen;
        const auto note = [&seen] { seen.push_back(Simulator::Now().GetTimeStep()); };
        Simulator::Schedule(TimeStep(100), [&] {
            note();
            std::thread([&] { Simulator::ScheduleWithContext(1, TimeStep(7), note); }).join();
        });
        Simulator::Schedule(TimeStep(105), note);
        Simulator::Run();
        Simulator::Destroy();
        const std::vector<int64_t> expected{100, 105, 107};
        NS_TEST_EXPECT_MSG_EQ((seen == expected), true, "times");
        UseNs3Simulator();
    }
};

/// Tests of QbbSimulatorImpl and QbbPortEvent.
class SimulatorTestSuite : public TestSuite
{
  public:
    SimulatorTestSuite()
        : TestSuite("rdma-qbb-simulator")
    {
        AddTestCase(new SameEventsAsDefaultCase("ns3::TimingWheelScheduler"));
        // Not HeapScheduler: in ns-3 3.37 its order breaks after Remove().
        AddTestCase(new SameEventsAsDefaultCase("ns3::MapScheduler"));
        AddTestCase(new PortEventsCase("ns3::QbbSimulatorImpl", "ns3::TimingWheelScheduler"));
        AddTestCase(new PortEventsCase("ns3::QbbSimulatorImpl", "ns3::MapScheduler"));
        AddTestCase(new PortEventsCase("ns3::DefaultSimulatorImpl", "ns3::TimingWheelScheduler"));
        AddTestCase(new OtherThreadCase);
    }
};

static SimulatorTestSuite g_simulatorTestSuite;
