/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/event-loop.h"

#include <gtest/gtest.h>
#include <string>

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
