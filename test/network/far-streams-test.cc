/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/network/far-streams.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <utility>
#include <vector>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace
{

constexpr uint64_t COLLECTIVE = 7;

/// The receiving side, whose receives are numbered in the order in which they are asked for.
class FarReceiver : public ::testing::Test
{
  protected:
    /// @return whether it is complete at once; else its number will be in Arrive()'s answer
    bool Receive(const FarStreamKey& key, uint64_t bytes, FarStreams::Incoming** hint = nullptr)
    {
        auto& asked =
            *m_asked.emplace_back(std::make_unique<Asked>(this, static_cast<int>(m_asked.size())));
        FarStreams::Incoming* stream = hint ? *hint : nullptr;
        const bool isComplete = streams.AddReceive(
            key,
            bytes,
            [](void* arg) {
                const auto* complete = static_cast<Asked*>(arg);
                complete->owner->m_complete.emplace_back(complete->number,
                                                         complete->owner->streams.GetSentPs());
            },
            &asked,
            stream);
        if (hint)
        {
            *hint = stream;
        }
        return isComplete;
    }

    using Complete = std::vector<std::pair<int, TimePs>>; ///< receive, when its message was sent

    Complete Arrive(const FarStreamKey& key, uint64_t number, uint64_t bytes, uint32_t parts = 1)
    {
        m_complete.clear();
        whole = streams.Arrive(key, {number, bytes, SentPs(number), parts});
        return m_complete;
    }

    static TimePs SentPs(uint64_t number)
    {
        return 100 + static_cast<TimePs>(number);
    }

    static FarStreamKey Key(int tag, uint64_t collective = COLLECTIVE)
    {
        MessageInfo info;
        info.collectiveKey = collective;
        return FarStreamKey::Of(3, 9, tag, &info);
    }

    bool whole{false}; ///< Arrive() says that all of the message is there
    FarStreams streams;

  private:
    struct Asked
    {
        Asked(FarReceiver* theOwner, int theNumber)
            : owner(theOwner),
              number(theNumber)
        {
        }

        FarReceiver* owner;
        int number;
    };

    std::vector<std::unique_ptr<Asked>> m_asked;
    Complete m_complete;
};

} // namespace

TEST_F(FarReceiver, MessagesAreTakenInTheOrderOfTheirNumbers)
{
    EXPECT_FALSE(Receive(Key(0), 10));
    EXPECT_FALSE(Receive(Key(0), 20));
    EXPECT_THAT(Arrive(Key(0), 1, 20), IsEmpty());
    EXPECT_THAT(Arrive(Key(0), 2, 5), IsEmpty());
    EXPECT_THAT(Arrive(Key(0), 0, 10),
                ElementsAre(std::pair(0, SentPs(2)), std::pair(1, SentPs(2))));
    EXPECT_TRUE(Receive(Key(0), 5));
    EXPECT_EQ(streams.GetSentPs(), SentPs(2));
}

TEST_F(FarReceiver, TagsOfACollectiveCountTheirLastEightBits)
{
    EXPECT_EQ(Key(5), Key(256 * 1000 + 5));
    EXPECT_NE(Key(5), Key(6));
    EXPECT_NE(Key(5), Key(5, COLLECTIVE + 1));
    EXPECT_NE(Key(5, MessageInfo::NO_COLLECTIVE), Key(256 + 5, MessageInfo::NO_COLLECTIVE));
    EXPECT_EQ(Key(5, MessageInfo::NO_COLLECTIVE), FarStreamKey::Of(3, 9, 5, nullptr));
    EXPECT_FALSE(Receive(Key(5), 1));
    EXPECT_THAT(Arrive(Key(256 * 9 + 5), 0, 1), ElementsAre(std::pair(0, SentPs(0))));
}

TEST_F(FarReceiver, CreditsComeBesideTheDataOfTheOtherDirectionAndEndWithTheirStream)
{
    FarStreams::Outgoing& data = streams.FindOutgoing(Key(1), nullptr);
    EXPECT_EQ(&streams.FindOutgoing(Key(1), nullptr), &data);
    MessageInfo info;
    info.collectiveKey = COLLECTIVE;
    const FarStreamKey back = FarStreamKey::Of(9, 3, 1, &info);
    info.isCredit = true;
    const FarStreamKey credit = FarStreamKey::Of(9, 3, 1, &info);
    EXPECT_NE(credit, back);
    EXPECT_FALSE(Receive(credit, 1));
    streams.ArriveInOrder(credit, 1, 0);
    EXPECT_FALSE(Receive(credit, 1)) << "each credit is taken once";
    EXPECT_EQ(streams.GetStreamCount(), 2U);
    streams.End(data);
    EXPECT_EQ(streams.GetStreamCount(), 0U);
    EXPECT_EQ(streams.FindOutgoing(Key(1), nullptr).sent, 0U);
}

TEST_F(FarReceiver, AMessageIsThereWithTheLastOfItsParts)
{
    Receive(Key(0), 30);
    EXPECT_THAT(Arrive(Key(0), 0, 10, 3), IsEmpty());
    EXPECT_FALSE(whole);
    // Parts of another message come in between.
    EXPECT_THAT(Arrive(Key(0), 1, 20, 2), IsEmpty());
    EXPECT_THAT(Arrive(Key(0), 1, 20, 2), IsEmpty());
    EXPECT_TRUE(whole) << "all of it is there, after a message that is not";
    EXPECT_THAT(Arrive(Key(0), 0, 10, 3), IsEmpty());
    EXPECT_THAT(Arrive(Key(0), 0, 10, 3), ElementsAre(std::pair(0, SentPs(1))));
    EXPECT_TRUE(whole);
}

TEST_F(FarReceiver, WhatWaitsIsNamed)
{
    Receive(Key(0), 10);
    Arrive(Key(0), 0, 4);
    EXPECT_THAT(streams.DescribeWaits(5), ElementsAre("rank 9 waits for 6 bytes from rank 3"));
    EXPECT_THAT(streams.DescribeWaits(0), IsEmpty());
    Arrive(Key(0), 1, 6);
    EXPECT_THAT(streams.DescribeWaits(5), IsEmpty());
}

/// Whatever the order of arrival, receives get the bytes of the stream in order: the n-th is
/// complete with the first prefix of messages, without a gap, that has as many bytes as the
/// receives up to it.
TEST_F(FarReceiver, AnyOrderOfArrivalGivesTheSameStreamOfBytes)
{
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round)
    {
        const FarStreamKey key = Key(round, MessageInfo::NO_COLLECTIVE);
        std::vector<uint64_t> sizes(1 + random() % 8);
        uint64_t total = 0;
        for (uint64_t& size : sizes)
        {
            size = 1 + random() % 5;
            total += size;
        }
        std::vector<uint64_t> order(sizes.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::shuffle(order, random);
        std::vector<uint64_t> asked; // bytes up to each receive
        FarStreams::Incoming* hint = nullptr;
        for (uint64_t sum = 0; sum < total;)
        {
            const uint64_t bytes = std::min<uint64_t>(1 + random() % 6, total - sum);
            EXPECT_FALSE(Receive(key, bytes, &hint));
            sum += bytes;
            asked.push_back(sum);
        }
        std::vector<bool> isThere(sizes.size());
        std::size_t done = 0;
        for (const uint64_t number : order)
        {
            isThere[number] = true;
            uint64_t inOrder = 0;
            for (std::size_t i = 0; i < sizes.size() && isThere[i]; ++i)
            {
                inOrder += sizes[i];
            }
            const std::size_t before = done;
            while (done < asked.size() && asked[done] <= inOrder)
            {
                ++done;
            }
            EXPECT_EQ(Arrive(key, number, sizes[number]).size(), done - before);
        }
        EXPECT_EQ(done, asked.size());
        streams.End(*hint);
    }
    EXPECT_EQ(streams.GetStreamCount(), 0U);
}
