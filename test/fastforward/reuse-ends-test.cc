/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: reuse gives up where it does not pay.
 */
#include "forwarded-messages.h"

#include <gtest/gtest.h>
#include <vector>

using AstraSim::FastForwardReport;
using AstraSim::ReusePatience;
using AstraSim::TimePs;
using fastforward::Message;
using fastforward::SendForwarded;
using fastforward::STAR;

namespace
{

constexpr TimePs MS_IN_PS = 1'000'000'000;
constexpr TimePs US_IN_PS = 1'000'000;
constexpr uint64_t MEBIBYTE = 1 << 20;

/// A flow may be simulated in vain, and a tenth of those that the run has come to.
constexpr ReusePatience ONE_FLOW{.work = 1, .share = 0.1, .perPattern = 0, .perConnection = 0};

/// @return messages to one host; each begins before those before it are over, at a time of its own
std::vector<Message>
Overlapping(uint32_t count, TimePs begin)
{
    std::vector<Message> messages;
    for (uint32_t i = 0; i < count; ++i)
    {
        const TimePs at = begin + TimePs{i} * 70 * US_IN_PS + TimePs{i} * i * 1000;
        messages.push_back({at, static_cast<int>(i % 4), 5, MEBIBYTE + (i << 10)});
    }
    return messages;
}

bool
HasGivenUp(const std::vector<Message>& messages)
{
    return messages.back().arrived < 0;
}

FastForwardReport
SendWith(ReusePatience patience, std::vector<Message>& messages)
{
    return SendForwarded(ns3::ReadTopology(STAR),
                         messages,
                         {.tail = 0, .tolerance = 0, .patience = patience});
}

} // namespace

// Each message makes a new pattern of all before it: 1 + 2 + 3 ... flows. The second one has the
// first in vain, the third would have two more.
TEST(ReuseEnds, BeforeASimulationWithWhichTooMuchWouldBeInVain)
{
    std::vector<Message> messages = Overlapping(30, 0);
    const FastForwardReport report = SendWith(ONE_FLOW, messages);
    EXPECT_TRUE(HasGivenUp(messages));
    EXPECT_EQ(report.simulatedWork, 1U + 2U);
}

TEST(ReuseEnds, NotWithoutAnEndOfPatience)
{
    std::vector<Message> messages = Overlapping(30, 0);
    const FastForwardReport report = SendWith({}, messages);
    EXPECT_FALSE(HasGivenUp(messages));
    EXPECT_GT(report.simulatedWork, 100U);
}

TEST(ReuseEnds, NotWhileAllIsNew)
{
    std::vector<Message> messages;
    for (uint32_t i = 0; i < 30; ++i)
    {
        messages.push_back({TimePs{i} * MS_IN_PS, 0, 1, MEBIBYTE + i});
    }
    const FastForwardReport report = SendWith(ONE_FLOW, messages);
    EXPECT_FALSE(HasGivenUp(messages));
    EXPECT_EQ(report.simulatedWork, 30U);
}

TEST(ReuseEnds, WhereEachPatternCostsMoreThanItsTraffic)
{
    std::vector<Message> messages;
    for (uint32_t i = 0; i < 30; ++i)
    {
        messages.push_back({TimePs{i} * MS_IN_PS, 0, 1, MEBIBYTE + i});
    }
    const FastForwardReport report =
        SendWith({.work = 10, .share = 0, .perPattern = 1, .perConnection = 0}, messages);
    EXPECT_TRUE(HasGivenUp(messages));
    EXPECT_EQ(report.simulations, 10U);
}

// The same two messages overlap at ever other distances, so each time is simulated again: the
// second time would be in vain, and what it reuses of the first message alone with it.
TEST(ReuseEnds, WhereOneKindOfPartComesAtEverOtherTimes)
{
    std::vector<Message> messages;
    for (uint32_t i = 0; i < 60; ++i)
    {
        const TimePs at = TimePs{i} * MS_IN_PS;
        messages.push_back({at, 0, 2, MEBIBYTE});
        messages.push_back({at + TimePs{i + 1} * US_IN_PS, 1, 2, MEBIBYTE});
    }
    const FastForwardReport report = SendWith(ONE_FLOW, messages);
    EXPECT_TRUE(HasGivenUp(messages));
    EXPECT_EQ(report.simulatedWork, 1U + 2U);
}

TEST(ReuseEnds, NotWhileMoreIsSavedThanIsInVain)
{
    std::vector<Message> messages = Overlapping(3, 0);
    for (uint32_t i = 1; i <= 30; ++i)
    {
        messages.push_back({TimePs{i} * MS_IN_PS, 0, 1, MEBIBYTE});
    }
    const std::vector<Message> last = Overlapping(6, 31 * MS_IN_PS);
    messages.insert(messages.end(), last.begin(), last.end());
    SendWith({.work = 10, .share = 0.1, .perPattern = 0, .perConnection = 0}, messages);
    EXPECT_FALSE(HasGivenUp(messages)) << "the last six take 21 flows, and 29 have been saved";
}
