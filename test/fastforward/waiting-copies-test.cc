/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/fastforward/waiting-copies.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

using AstraSim::OwnedPattern;
using AstraSim::TimePs;
using AstraSim::WaitingCopies;

namespace
{

constexpr std::size_t MOST = 24; ///< copies that wait

/// @return messages of @p bytes, one after the other
OwnedPattern
Messages(std::size_t count, uint64_t bytes)
{
    OwnedPattern pattern;
    for (std::size_t number = 0; number < count; ++number)
    {
        auto& [operation, starts] = pattern.emplace_back();
        operation.isMessage = true;
        operation.group.ranks = {0, 1};
        operation.request.bytes = bytes;
        starts.assign(2, static_cast<TimePs>(number));
    }
    return pattern;
}

/// Have a process wait that has simulated @p pattern: here, one that only reads on.
void
Wait(WaitingCopies& copies, const OwnedPattern& pattern)
{
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t process = ::fork();
    if (process == 0)
    {
        ::_exit(0);
    }
    ::close(ends[1]);
    copies.Add(process, ends[0], pattern);
}

} // namespace

TEST(WaitingCopies, ALongPatternOutlivesManyShortOnes)
{
    WaitingCopies copies;
    Wait(copies, Messages(10, 1));
    for (uint64_t bytes = 2; bytes < 2 + 2 * MOST; ++bytes)
    {
        Wait(copies, Messages(1, bytes));
    }
    EXPECT_TRUE(copies.Find(Messages(11, 1)));
    EXPECT_FALSE(copies.Find(Messages(2, 2))) << "the short one that came first";
    EXPECT_TRUE(copies.Find(Messages(2, 1 + 2 * MOST))) << "and last";
}

TEST(WaitingCopies, ALongPatternThatNobodyAsksForGoesInTheEnd)
{
    WaitingCopies copies;
    Wait(copies, Messages(4, 1));
    // A short one is worth one more than what went before it: each time that all are new.
    for (uint64_t bytes = 2; bytes < 2 + 5 * MOST; ++bytes)
    {
        Wait(copies, Messages(1, bytes));
    }
    EXPECT_FALSE(copies.Find(Messages(5, 1)));
}
