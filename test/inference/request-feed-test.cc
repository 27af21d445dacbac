/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/request-feed.h"

#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace
{

/// A feed, and the numbers of the sequences that it sends.
class Feeding
{
  public:
    struct Request
    {
        TimePs arrival;
        std::optional<uint32_t> session{};
        TimePs think{0};
    };

    explicit Feeding(const std::vector<Request>& requests, uint64_t users = UINT64_MAX)
        : m_sequences(requests.size())
    {
        for (std::size_t i = 0; i < requests.size(); ++i)
        {
            ServingRequest& request = m_requests.emplace_back();
            request.session = requests[i].session;
            request.think = requests[i].think;
            m_sequences[i].id = static_cast<uint32_t>(i);
            m_sequences[i].request = &request;
            m_sequences[i].arrival = requests[i].arrival;
        }
        m_feed.emplace(m_sequences, users);
    }

    std::vector<uint32_t> Send(TimePs now)
    {
        std::vector<uint32_t> sent;
        while (const Sequence* sequence = m_feed->Send(now))
        {
            sent.push_back(sequence->id);
        }
        return sent;
    }

    void End(std::size_t number, TimePs now)
    {
        m_feed->Ended(m_sequences[number], now);
    }

    std::optional<TimePs> Next() const
    {
        return m_feed->GetNext();
    }

    TimePs ArrivalOf(std::size_t number) const
    {
        return m_sequences[number].arrival;
    }

  private:
    std::deque<ServingRequest> m_requests;
    std::vector<Sequence> m_sequences;
    std::optional<RequestFeed> m_feed;
};

} // namespace

TEST(RequestFeed, InAnOpenLoopRequestsArriveAtTheirTimes)
{
    Feeding feed({{0}, {5}, {5}, {9}});
    EXPECT_THAT(feed.Send(0), ElementsAre(0));
    EXPECT_EQ(feed.Next(), 5);
    EXPECT_THAT(feed.Send(4), IsEmpty());
    EXPECT_THAT(feed.Send(5), ElementsAre(1, 2));
    EXPECT_THAT(feed.Send(9), ElementsAre(3));
    EXPECT_FALSE(feed.Next());
}

TEST(RequestFeed, InAClosedLoopARequestArrivesWhenOneEnds)
{
    Feeding feed({{0}, {0}, {0}, {0}}, 2);
    EXPECT_THAT(feed.Send(0), ElementsAre(0, 1));
    EXPECT_FALSE(feed.Next());
    feed.End(1, 70);
    EXPECT_EQ(feed.Next(), 70);
    EXPECT_THAT(feed.Send(70), ElementsAre(2));
    EXPECT_EQ(feed.ArrivalOf(2), 70);
    feed.End(2, 90);
    feed.End(0, 90);
    EXPECT_THAT(feed.Send(90), ElementsAre(3));
    EXPECT_FALSE(feed.Next());
}

TEST(RequestFeed, UsersOfAClosedLoopWaitForTheTimeOfARequest)
{
    Feeding feed({{0}, {50}, {60}}, 1);
    EXPECT_THAT(feed.Send(0), ElementsAre(0));
    feed.End(0, 30);
    EXPECT_THAT(feed.Send(30), IsEmpty());
    EXPECT_EQ(feed.Next(), 50);
    EXPECT_THAT(feed.Send(50), ElementsAre(1));
    feed.End(1, 90);
    EXPECT_THAT(feed.Send(90), ElementsAre(2));
    EXPECT_EQ(feed.ArrivalOf(2), 90); // measured from when it is sent
}

TEST(RequestFeed, UsersThinkBeforeTheyAskAgain)
{
    Feeding feed({{0, {}, 7}, {0}}, 1);
    feed.Send(0);
    feed.End(0, 30);
    EXPECT_EQ(feed.Next(), 37);
    EXPECT_THAT(feed.Send(36), IsEmpty());
    EXPECT_THAT(feed.Send(37), ElementsAre(1));
}

TEST(RequestFeed, ATurnFollowsTheAnswerToTheOneBefore)
{
    Feeding feed({{0, 8, 5}, {1, 9}, {2, 8}, {100, 9}, {101}});
    EXPECT_THAT(feed.Send(2), ElementsAre(0, 1));
    EXPECT_EQ(feed.Next(), 101);
    feed.End(0, 40);
    EXPECT_EQ(feed.Next(), 45);
    EXPECT_THAT(feed.Send(45), ElementsAre(2));
    EXPECT_EQ(feed.ArrivalOf(2), 45);
    feed.End(1, 50);
    EXPECT_THAT(feed.Send(99), IsEmpty()); // not before its time
    EXPECT_THAT(feed.Send(101), ElementsAre(3, 4));
}

TEST(RequestFeed, ASessionKeepsItsUserToItsEnd)
{
    Feeding feed({{0, 8, 5}, {0, 8, 5}, {0, 9}}, 1);
    EXPECT_THAT(feed.Send(0), ElementsAre(0));
    feed.End(0, 40);
    EXPECT_THAT(feed.Send(40), IsEmpty());
    EXPECT_THAT(feed.Send(45), ElementsAre(1));
    feed.End(1, 60);
    EXPECT_EQ(feed.Next(), 65);
    EXPECT_THAT(feed.Send(65), ElementsAre(2));
}
