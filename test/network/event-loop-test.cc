/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/event-loop.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

using AstraSim::EventLoop;

namespace
{

TEST(EventLoop, RunsTheHookOncePerTimeAfterAllItsEvents)
{
    struct Context
    {
        EventLoop loop;
        std::string order;
        bool again{true};
    } context;

    context.loop.SetBeforeAdvance(
        [](void* arg) {
            auto& c = *static_cast<Context*>(arg);
            c.order += '|';
            if (c.again)
            {
                c.again = false;
                c.loop.Schedule(0, [&c] { c.order += 'x'; });
            }
        },
        &context);
    context.loop.Schedule(0, [&] { context.order += 'a'; });
    context.loop.Schedule(5, [&] { context.order += 'b'; });
    context.loop.Schedule(5, [&] { context.order += 'c'; });
    context.loop.Run();
    EXPECT_EQ(context.order, "a|x|bc|");
}

TEST(EventLoop, RunsEventsAsideOnAClockSetBack)
{
    using Log = std::vector<std::pair<AstraSim::TimePs, std::string>>;
    EventLoop loop;
    Log log;
    const auto note = [&](AstraSim::TimePs delay, const std::string& name) {
        loop.Schedule(delay, [&, name] { log.emplace_back(loop.Now(), name); });
    };
    note(100, "before");
    note(300, "later");
    loop.Schedule(200, [&] {
        note(0, "at once");
        note(100, "later, too");
        loop.RunAside(50, [&] {
            EXPECT_EQ(loop.Now(), 50);
            EXPECT_EQ(loop.GetReached(), 200);
            note(0, "aside");
            note(150, "aside, as late as may be");
            note(250, "aside, later");
            note(400, "aside, last");
            loop.Schedule(60, [&] { note(10, "of an event aside"); });
        });
        EXPECT_EQ(loop.Now(), 200);
    });
    EXPECT_TRUE(loop.Run());
    const Log expected{{100, "before"},
                       {50, "aside"},
                       {120, "of an event aside"},
                       {200, "aside, as late as may be"},
                       {200, "at once"},
                       {300, "later"},
                       {300, "later, too"},
                       {300, "aside, later"},
                       {450, "aside, last"}};
    EXPECT_EQ(log, expected);
}

TEST(EventLoop, StopsAfterTheCurrentEvent)
{
    EventLoop loop;
    int ran = 0;
    loop.Schedule(1, [&] {
        ++ran;
        loop.Stop();
    });
    loop.Schedule(1, [&] { ++ran; });
    EXPECT_FALSE(loop.Run());
    EXPECT_EQ(ran, 1);
    EXPECT_FALSE(loop.IsIdle());
}

} // namespace
