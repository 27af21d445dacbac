/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/message-matcher.h"

#include <algorithm>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace
{

/// A matcher whose receives are numbered in the order in which they are asked for.
class Matcher : public ::testing::Test
{
  protected:
    /// @return whether it is complete at once; else its number will be in Deliver()'s answer
    bool Receive(uint32_t src, uint32_t dst, int tag, uint64_t bytes)
    {
        MessageStream* hint = nullptr;
        Asked& asked = m_asked.emplace_back(this, static_cast<int>(m_asked.size()));
        return matcher.AddReceive(
            src,
            dst,
            tag,
            bytes,
            [](void* arg) {
                const auto* complete = static_cast<Asked*>(arg);
                complete->matcher->m_complete.push_back(complete->number);
            },
            &asked,
            hint);
    }

    MessageMatcher::Send* Send(uint32_t src,
                               uint32_t dst,
                               int tag,
                               uint64_t bytes,
                               MessageStream* hint = nullptr)
    {
        matcher.AddSend(m_sends.emplace_back(), src, dst, tag, bytes, hint);
        return &m_sends.back();
    }

    /// @return the numbers of receives that this completes
    std::vector<int> Deliver(MessageMatcher::Send* send)
    {
        m_complete.clear();
        matcher.Deliver(*send);
        return m_complete;
    }

    MessageMatcher matcher;

  private:
    struct Asked
    {
        Matcher* matcher;
        int number;
    };

    std::deque<Asked> m_asked;
    std::deque<MessageMatcher::Send> m_sends;
    std::vector<int> m_complete;
};

} // namespace

TEST_F(Matcher, EitherSideMayComeFirst)
{
    auto* send = Send(1, 2, 7, 100);
    EXPECT_FALSE(Receive(1, 2, 7, 100)) << "the bytes are under way";
    EXPECT_THAT(Deliver(send), ElementsAre(0));

    send = Send(1, 2, 7, 100);
    EXPECT_THAT(Deliver(send), IsEmpty());
    EXPECT_TRUE(Receive(1, 2, 7, 100));
    EXPECT_EQ(matcher.GetStreamCount(), 0);
}

TEST_F(Matcher, PairsAndTagsDoNotMix)
{
    EXPECT_FALSE(Receive(1, 2, 7, 10));
    EXPECT_FALSE(Receive(2, 1, 7, 10));
    EXPECT_FALSE(Receive(1, 2, 8, 10));
    EXPECT_THAT(Deliver(Send(1, 2, 8, 10)), ElementsAre(2));
    EXPECT_THAT(Deliver(Send(2, 1, 7, 10)), ElementsAre(1));
    EXPECT_THAT(Deliver(Send(1, 2, 7, 10)), ElementsAre(0));
}

TEST_F(Matcher, SizesSplitAndJoin)
{
    EXPECT_FALSE(Receive(1, 2, 0, 30));
    EXPECT_FALSE(Receive(1, 2, 0, 50));
    EXPECT_THAT(Deliver(Send(1, 2, 0, 20)), IsEmpty());
    EXPECT_THAT(Deliver(Send(1, 2, 0, 70)), ElementsAre(0, 1));
    EXPECT_TRUE(Receive(1, 2, 0, 10)) << "ten bytes are left of the second message";
}

TEST_F(Matcher, MessageThatOvertakesWaitsForTheOneBeforeIt)
{
    auto* first = Send(1, 2, 0, 10);
    auto* second = Send(1, 2, 0, 10);
    EXPECT_FALSE(Receive(1, 2, 0, 10));
    EXPECT_FALSE(Receive(1, 2, 0, 10));
    EXPECT_THAT(Deliver(second), IsEmpty());
    EXPECT_THAT(Deliver(first), ElementsAre(0, 1));
}

TEST_F(Matcher, HandlersMayAskForMoreAndDeliverMore)
{
    struct Chain
    {
        MessageMatcher& matcher;
        int left;
        std::deque<MessageMatcher::Send> sends{};

        void Ask()
        {
            MessageStream* hint = nullptr;
            matcher.AddReceive(
                1,
                2,
                0,
                10,
                [](void* arg) {
                    auto* chain = static_cast<Chain*>(arg);
                    if (--chain->left > 0)
                    {
                        chain->Ask();
                        MessageMatcher::Send& send = chain->sends.emplace_back();
                        chain->matcher.AddSend(send, 1, 2, 0, 10);
                        chain->matcher.Deliver(send);
                    }
                },
                this,
                hint);
        }
    };

    Chain chain{matcher, 5};
    chain.Ask();
    Deliver(Send(1, 2, 0, 10));
    EXPECT_EQ(chain.left, 0);
    EXPECT_EQ(matcher.GetStreamCount(), 0);
}

TEST_F(Matcher, ManyStreamsThatHaveEndedAreForgotten)
{
    int noted = 0;
    auto* kept = Send(7, 8, 9, 10);
    MessageMatcher::NoteOf(*kept) = &noted;
    auto* idle = Send(7, 8, 10, 10);
    MessageMatcher::NoteOf(*idle) = &noted;
    Deliver(idle);
    EXPECT_TRUE(Receive(7, 8, 10, 10));
    auto* again = Send(7, 8, 10, 10);
    EXPECT_EQ(MessageMatcher::NoteOf(*again), &noted) << "few streams: none is forgotten";
    Deliver(again);
    EXPECT_TRUE(Receive(7, 8, 10, 10));
    for (int tag = 0; tag < 5000; ++tag)
    {
        EXPECT_THAT(Deliver(Send(1, 2, tag, 10)), IsEmpty());
        EXPECT_TRUE(Receive(1, 2, tag, 10));
    }
    EXPECT_EQ(matcher.GetStreamCount(), 1);
    EXPECT_EQ(MessageMatcher::NoteOf(*kept), &noted) << "something is under way";
    EXPECT_EQ(MessageMatcher::NoteOf(*Send(7, 8, 10, 10)), nullptr) << "forgotten";
    EXPECT_THAT(Deliver(kept), IsEmpty());
    EXPECT_TRUE(Receive(7, 8, 9, 10));
}

TEST_F(Matcher, HintOfAnotherOrAForgottenStreamDoesNoHarm)
{
    MessageStream* other = Send(1, 2, 3, 10)->stream;
    EXPECT_NE(Send(1, 2, 4, 10, other)->stream, other);
    EXPECT_EQ(Send(1, 2, 3, 10, other)->stream, other);

    auto* send = Send(5, 6, 0, 10);
    MessageStream* forgotten = send->stream;
    Deliver(send);
    EXPECT_TRUE(Receive(5, 6, 0, 10));
    for (int tag = 1; tag < 5000; ++tag)
    {
        Deliver(Send(5, 6, tag, 10));
        EXPECT_TRUE(Receive(5, 6, tag, 10));
    }
    send = Send(5, 6, 0, 10, forgotten);
    EXPECT_EQ(Send(5, 6, 0, 10)->stream, send->stream);
    EXPECT_FALSE(Receive(5, 6, 0, 10));
    EXPECT_EQ(Deliver(send).size(), 1U);
}

TEST_F(Matcher, MessageThatEndsBeforeTheOneItOvertookIsGivenBackThen)
{
    auto* first = Send(1, 2, 0, 10);
    auto* second = Send(1, 2, 0, 10);
    auto* third = Send(1, 2, 0, 10);
    EXPECT_EQ(matcher.Deliver(*second), nullptr);
    EXPECT_TRUE(second->isQueued);
    second->hasEnded = true;
    EXPECT_EQ(matcher.Deliver(*first), second);
    EXPECT_EQ(second->sentNext, nullptr);
    EXPECT_FALSE(first->isQueued) << "its network gives it back itself, when it ends";
    EXPECT_EQ(matcher.Deliver(*third), nullptr);
    EXPECT_TRUE(Receive(1, 2, 0, 30));
    EXPECT_EQ(matcher.GetStreamCount(), 0);
}

TEST_F(Matcher, SaysWhatWaits)
{
    EXPECT_FALSE(Receive(3, 4, 5, 600));
    EXPECT_FALSE(Receive(3, 4, 6, 600));
    EXPECT_THAT(matcher.DescribeWaits(1),
                ElementsAre(::testing::AllOf(::testing::HasSubstr("3"),
                                             ::testing::HasSubstr("4"),
                                             ::testing::HasSubstr("600"))));
}

TEST_F(Matcher, SaysWhatWaitsWhateverTheTags)
{
    // Of a rank that runs with others than another time, collectives have other tags.
    EXPECT_FALSE(Receive(3, 4, 256, 600));
    EXPECT_FALSE(Receive(3, 4, 512, 500));
    EXPECT_THAT(matcher.DescribeWaits(2),
                ElementsAre("rank 4 waits for 500 bytes from rank 3",
                            "rank 4 waits for 600 bytes from rank 3"));
}

TEST_F(Matcher, AnyOrderOfDeliveriesCompletesEveryReceiveInOrder)
{
    std::mt19937 random(7);
    for (int trial = 0; trial < 50; ++trial)
    {
        std::vector<MessageMatcher::Send*> underWay;
        uint64_t sent = 0;
        for (int i = 0; i < 10; ++i)
        {
            const uint64_t bytes = 1 + random() % 100;
            underWay.push_back(Send(0, 1, trial, bytes));
            sent += bytes;
        }
        int waiting = 0;
        for (uint64_t left = sent; left > 0;)
        {
            const uint64_t bytes = std::min<uint64_t>(left, 1 + random() % 100);
            waiting += Receive(0, 1, trial, bytes) ? 0 : 1;
            left -= bytes;
        }
        std::shuffle(underWay.begin(), underWay.end(), random);
        std::vector<int> completed;
        for (auto* send : underWay)
        {
            const auto now = Deliver(send);
            completed.insert(completed.end(), now.begin(), now.end());
        }
        EXPECT_EQ(completed.size(), waiting);
        EXPECT_TRUE(std::is_sorted(completed.begin(), completed.end()));
        EXPECT_EQ(matcher.GetStreamCount(), 0);
    }
}
