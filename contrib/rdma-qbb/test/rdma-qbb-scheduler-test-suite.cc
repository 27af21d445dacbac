/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/map-scheduler.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/timing-wheel-scheduler.h"
#include "ns3/uinteger.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// Shape of a scheduler under test.
struct WheelShape
{
    uint64_t width;      ///< BucketWidth
    uint32_t buckets;    ///< Buckets
    uint32_t farBuckets; ///< FarBuckets
};

Ptr<Scheduler>
MakeWheel(const WheelShape& shape)
{
    ObjectFactory factory("ns3::TimingWheelScheduler");
    factory.Set("BucketWidth", UintegerValue(shape.width));
    factory.Set("Buckets", UintegerValue(shape.buckets));
    factory.Set("FarBuckets", UintegerValue(shape.farBuckets));
    return factory.Create<Scheduler>();
}

Scheduler::Event
EventAt(uint64_t ts, uint32_t uid)
{
    return {nullptr, {ts, uid, 7}};
}

} // namespace

/// Random insertions and removals leave the wheel and ns-3's MapScheduler in the same order.
class SameOrderAsMapSchedulerCase : public TestCase
{
  public:
    SameOrderAsMapSchedulerCase(const std::string& name, WheelShape shape, uint64_t spread)
        : TestCase("Same order as MapScheduler: " + name),
          m_shape(shape),
          m_spread(spread)
    {
    }

  private:
    void DoRun() override
    {
        const Ptr<Scheduler> wheel = MakeWheel(m_shape);
        const Ptr<Scheduler> map = CreateObject<MapScheduler>();
        std::mt19937_64 random(42);
        std::vector<Scheduler::Event> pending;
        uint64_t now = 0;
        uint32_t uid = 4;
        for (int operation = 0; operation < 100000; ++operation)
        {
            const uint64_t choice = random() % 100;
            // Long stretches of growth and of shrinking, down to empty now and then.
            const bool growing = (operation / 5000) % 2 == 0;
            if (map->IsEmpty() || choice < (growing ? 60U : 35U))
            {
                const auto ev = EventAt(now + Delay(random), uid++);
                wheel->Insert(ev);
                map->Insert(ev);
                pending.push_back(ev);
            }
            else if (choice < 92)
            {
                const Scheduler::Event expected = map->RemoveNext();
                if (choice % 2 == 0)
                {
                    NS_TEST_ASSERT_MSG_EQ(wheel->PeekNext().key.m_uid,
                                          expected.key.m_uid,
                                          "PeekNext in operation " << operation);
                }
                const Scheduler::Event got = wheel->RemoveNext();
                NS_TEST_ASSERT_MSG_EQ(got.key.m_uid,
                                      expected.key.m_uid,
                                      "RemoveNext in operation " << operation);
                NS_TEST_ASSERT_MSG_EQ(got.key.m_ts, expected.key.m_ts, "time");
                NS_TEST_ASSERT_MSG_EQ(got.key.m_context, 7, "context");
                now = got.key.m_ts;
            }
            else if (!pending.empty())
            {
                RemoveOne(pending, random() % pending.size(), now, *wheel, *map);
            }
            NS_TEST_ASSERT_MSG_EQ(wheel->IsEmpty(), map->IsEmpty(), "IsEmpty");
        }
        while (!map->IsEmpty())
        {
            NS_TEST_ASSERT_MSG_EQ(wheel->IsEmpty(), false, "wheel drained too early");
            NS_TEST_ASSERT_MSG_EQ(wheel->RemoveNext().key.m_uid,
                                  map->RemoveNext().key.m_uid,
                                  "while draining");
        }
        NS_TEST_ASSERT_MSG_EQ(wheel->IsEmpty(), true, "wheel drained");
    }

    /// Mostly short, often zero or equal, sometimes far beyond both wheels.
    uint64_t Delay(std::mt19937_64& random) const
    {
        switch (random() % 8)
        {
        case 0:
            return 0;
        case 1:
            return m_spread;
        case 2:
            return random() % (m_spread * 1000);
        case 3:
            return random() % 4 ? random() % m_spread : random() % (m_spread * 1000000);
        default:
            return random() % m_spread;
        }
    }

    /// Remove a pending event from both; entries that have gone already are skipped.
    static void RemoveOne(std::vector<Scheduler::Event>& pending,
                          std::size_t index,
                          uint64_t now,
                          Scheduler& wheel,
                          Scheduler& map)
    {
        const Scheduler::Event ev = pending[index];
        pending[index] = pending.back();
        pending.pop_back();
        if (ev.key.m_ts > now)
        {
            wheel.Remove(ev);
            map.Remove(ev);
        }
    }

    WheelShape m_shape;
    uint64_t m_spread;
};

/// Events at one time come out by uid, also when the bucket is long and grows while it is emptied.
class EqualTimesComeOutByUidCase : public TestCase
{
  public:
    EqualTimesComeOutByUidCase()
        : TestCase("Equal times come out by uid, also when inserted while the bucket is emptied")
    {
    }

  private:
    void DoRun() override
    {
        const Ptr<Scheduler> wheel = MakeWheel({1024, 64, 64});
        constexpr uint32_t COUNT = 20000;
        for (uint32_t uid = 0; uid < COUNT; ++uid)
        {
            wheel->Insert(EventAt(5000, uid));
        }
        for (uint32_t expected = 0; expected < 2 * COUNT; ++expected)
        {
            NS_TEST_ASSERT_MSG_EQ(wheel->RemoveNext().key.m_uid, expected, "order of uids");
            if (expected < COUNT)
            {
                wheel->Insert(EventAt(5000, COUNT + expected));
            }
        }
        NS_TEST_ASSERT_MSG_EQ(wheel->IsEmpty(), true, "drained");
    }
};

/// An event may be inserted before one that PeekNext has already looked at.
class InsertBeforePeekedCase : public TestCase
{
  public:
    InsertBeforePeekedCase()
        : TestCase("An event inserted before a peeked one comes out first")
    {
    }

  private:
    void DoRun() override
    {
        const Ptr<Scheduler> wheel = MakeWheel({16, 64, 4});
        wheel->Insert(EventAt(1000000000000, 1));
        NS_TEST_ASSERT_MSG_EQ(wheel->PeekNext().key.m_uid, 1, "only one event");
        wheel->Insert(EventAt(17, 2));
        wheel->Insert(EventAt(500000, 3));
        wheel->Insert(EventAt(16, 4));
        for (const uint32_t expected : {4, 2, 3, 1})
        {
            NS_TEST_ASSERT_MSG_EQ(wheel->PeekNext().key.m_uid, expected, "PeekNext");
            NS_TEST_ASSERT_MSG_EQ(wheel->RemoveNext().key.m_uid, expected, "RemoveNext");
        }
    }
};

/// After gaps longer than both wheels the order holds and nothing is lost.
class LongIdleGapsCase : public TestCase
{
  public:
    LongIdleGapsCase()
        : TestCase("Order holds over gaps longer than both wheels")
    {
    }

  private:
    void DoRun() override
    {
        const Ptr<Scheduler> wheel = MakeWheel({16, 64, 4}); // turns of 1,024 and 4,096
        uint64_t now = 0;
        uint32_t uid = 0;
        for (uint64_t gap = 1; gap < uint64_t{1} << 50; gap *= 3)
        {
            wheel->Insert(EventAt(now + gap, uid));
            wheel->Insert(EventAt(now + gap + 1, uid + 1));
            wheel->Insert(EventAt(now + 2 * gap + 2, uid + 2));
            for (uint32_t i = 0; i < 3; ++i)
            {
                const Scheduler::Event got = wheel->RemoveNext();
                NS_TEST_ASSERT_MSG_EQ(got.key.m_uid, uid + i, "gap " << gap);
                now = got.key.m_ts;
            }
            uid += 3;
        }
        NS_TEST_ASSERT_MSG_EQ(wheel->IsEmpty(), true, "drained");
    }
};

/// The simulator runs on it, chosen as its users choose it, with cancelled and removed events.
class RunsTheSimulatorCase : public TestCase
{
  public:
    RunsTheSimulatorCase()
        : TestCase("The simulator runs on it: Schedule, ScheduleNow, Cancel, Remove")
    {
    }

  private:
    void DoRun() override
    {
        ObjectFactory factory("ns3::TimingWheelScheduler");
        Simulator::SetScheduler(factory);
        Simulator::Schedule(NanoSeconds(10), &RunsTheSimulatorCase::Note, this, 1);
        const EventId cancelled =
            Simulator::Schedule(NanoSeconds(11), &RunsTheSimulatorCase::Note, this, 99);
        const EventId removed =
            Simulator::Schedule(MilliSeconds(4), &RunsTheSimulatorCase::Note, this, 98);
        Simulator::Schedule(MilliSeconds(4), &RunsTheSimulatorCase::Note, this, 4);
        Simulator::Schedule(NanoSeconds(12), [this] {
            Note(2);
            Simulator::ScheduleNow(&RunsTheSimulatorCase::Note, this, 3);
        });
        Simulator::Cancel(cancelled);
        Simulator::Remove(removed);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now(), MilliSeconds(4), "time of the last event");
        Simulator::Destroy();
        const std::vector<int> expected{1, 2, 3, 4};
        NS_TEST_EXPECT_MSG_EQ((m_seen == expected), true, "events and their order");
    }

    void Note(int what)
    {
        m_seen.push_back(what);
    }

    std::vector<int> m_seen;
};

/// Tests of TimingWheelScheduler.
class SchedulerTestSuite : public TestSuite
{
  public:
    SchedulerTestSuite()
        : TestSuite("rdma-qbb-scheduler")
    {
        AddTestCase(new SameOrderAsMapSchedulerCase("default wheel, nanoseconds",
                                                    {128, 32768, 4096},
                                                    5000));
        AddTestCase(new SameOrderAsMapSchedulerCase("tiny wheel, everything wraps", {2, 8, 4}, 5));
        AddTestCase(
            new SameOrderAsMapSchedulerCase("widths are rounded up", {1000, 100, 10}, 5000));
        AddTestCase(new SameOrderAsMapSchedulerCase("one bucket", {1 << 20, 1, 2}, 100000));
        AddTestCase(new EqualTimesComeOutByUidCase);
        AddTestCase(new InsertBeforePeekedCase);
        AddTestCase(new LongIdleGapsCase);
        AddTestCase(new RunsTheSimulatorCase);
    }
};

static SchedulerTestSuite g_schedulerTestSuite;
