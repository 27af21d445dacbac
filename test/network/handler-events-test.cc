/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/packet/handler-events.h"
#include "programs/frame/ns3-flags.h"

#include "ns3/global-value.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace
{

/// A run on ns-3's simulator or ours, which notes what happens in which order.
class HandlerEventsRun : public ::testing::TestWithParam<bool>
{
  protected:
    HandlerEventsRun()
    {
        if (GetParam())
        {
            ns3::UseFastSimulator();
        }
        else
        {
            ns3::GlobalValue::Bind("SimulatorImplementationType",
                                   ns3::StringValue("ns3::DefaultSimulatorImpl"));
        }
        events = std::make_unique<HandlerEvents>();
    }

    ~HandlerEventsRun() override
    {
        events.reset();
        ns3::Simulator::Destroy();
    }

    /// Note @p name after @p delay, by a handler
    void Handle(TimePs delay, const std::string& name)
    {
        m_notes.push_back(std::make_unique<Note>(this, name));
        events->Schedule(
            delay,
            [](void* arg) {
                const auto* note = static_cast<Note*>(arg);
                note->run->Add(note->name);
            },
            m_notes.back().get());
    }

    /// Note @p name after @p delay, by an event of ns-3
    void Schedule(TimePs delay, const std::string& name)
    {
        ns3::Simulator::Schedule(ns3::TimeStep(static_cast<uint64_t>(delay)),
                                 [this, name] { Add(name); });
    }

    void Add(const std::string& name)
    {
        order.push_back(name + "@" + std::to_string(ns3::Simulator::Now().GetTimeStep()));
    }

    std::unique_ptr<HandlerEvents> events;
    std::vector<std::string> order;

  private:
    struct Note
    {
        HandlerEventsRun* run;
        std::string name;
    };

    std::vector<std::unique_ptr<Note>> m_notes;
};

} // namespace

TEST_P(HandlerEventsRun, KeepTheOrderThatEventsOfNs3WouldHave)
{
    Handle(5, "a");
    Schedule(5, "b");
    Handle(3, "c");
    Handle(5, "d");
    Schedule(3, "e");
    Handle(0, "f");
    ns3::Simulator::Run();
    EXPECT_THAT(order, ElementsAre("f@0", "c@3", "e@3", "a@5", "b@5", "d@5"));
}

TEST_P(HandlerEventsRun, HandlerMayScheduleItselfAgain)
{
    struct Counter
    {
        HandlerEvents& events;
        int left;

        static void Count(void* arg)
        {
            auto* counter = static_cast<Counter*>(arg);
            if (--counter->left > 0)
            {
                counter->events.Schedule(7, Count, arg);
            }
        }
    };

    Counter counter{*events, 5};
    events->Schedule(7, Counter::Count, &counter);
    ns3::Simulator::Run();
    EXPECT_EQ(counter.left, 0);
    EXPECT_EQ(ns3::Simulator::Now().GetTimeStep(), 5 * 7);
}

TEST_P(HandlerEventsRun, NothingRunsOnceTheyHaveGone)
{
    Handle(5, "a");
    Handle(6, "b");
    events.reset();
    ns3::Simulator::Run();
    EXPECT_THAT(order, IsEmpty());
}

TEST_P(HandlerEventsRun, MayStillWaitWhenTheSimulatorEnds)
{
    Handle(5, "a");
    ns3::Simulator::Destroy();
    EXPECT_THAT(order, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Simulators, HandlerEventsRun, ::testing::Bool(), [](const auto& info) {
    return info.param ? "Fast" : "Ns3";
});
