/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "programs/frame/run-supervisor.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace AstraSim;

TEST(RunSupervisor, ASignalBeforeTheRunCanStopIsKeptUntilItCan)
{
    RunSupervisor supervisor({});
    supervisor.Hold();
    kill(getpid(), SIGTERM);
    while (!supervisor.GetCause())
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    int stops = 0;
    supervisor.Watch([&stops] { ++stops; });
    EXPECT_EQ(stops, 1);
    supervisor.Watch([&stops] { ++stops; });
    EXPECT_EQ(stops, 2) << "a later part of the same run stops, too";
    supervisor.EndWatch();
    EXPECT_EQ(supervisor.GetCause()->status, "interrupted");
    EXPECT_EQ(supervisor.GetCause()->exitStatus, 128 + SIGTERM);
}

/// Wait until a supervisor has taken a signal.
static void
SignalAndWait(const RunSupervisor& supervisor)
{
    kill(getpid(), SIGTERM);
    while (!supervisor.GetCause())
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

TEST(RunSupervisorDeathTest, ASignalSoonAfterTheFirstIsTheSameWish)
{
    EXPECT_EXIT(
        {
            RunSupervisor supervisor({});
            supervisor.Hold();
            SignalAndWait(supervisor);
            kill(getpid(), SIGTERM);
            kill(getpid(), SIGHUP);
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            std::_Exit(7); // where results would have been written
        },
        testing::ExitedWithCode(7),
        "");
}

TEST(RunSupervisorDeathTest, ASignalMoreThanASecondAfterTheFirstEndsTheProgramAtOnce)
{
    EXPECT_EXIT(
        {
            RunSupervisor supervisor({});
            supervisor.Hold();
            SignalAndWait(supervisor);
            std::this_thread::sleep_for(std::chrono::milliseconds(1100));
            kill(getpid(), SIGHUP);
            std::this_thread::sleep_for(std::chrono::minutes(10));
        },
        testing::ExitedWithCode(128 + SIGHUP),
        "SIGHUP: ended at once");
}

TEST(RunSupervisorDeathTest, TheSameWishDoesNotKillAProgramWhoseRunIsOver)
{
    EXPECT_EXIT(
        {
            {
                RunSupervisor supervisor({});
                supervisor.Hold();
                SignalAndWait(supervisor);
            }
            kill(getpid(), SIGTERM);
            std::_Exit(7);
        },
        testing::ExitedWithCode(7),
        "");
}

TEST(RunSupervisorDeathTest, ASignalBeforeThereIsARecordEndsTheProgramAtOnce)
{
    EXPECT_EXIT(
        {
            RunSupervisor supervisor({});
            kill(getpid(), SIGTERM);
            std::this_thread::sleep_for(std::chrono::minutes(10));
        },
        testing::ExitedWithCode(128 + SIGTERM),
        "SIGTERM: ended at once");
}
