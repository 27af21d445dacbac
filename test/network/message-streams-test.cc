/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/message-streams.h"

#include <algorithm>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace
{

constexpr uint64_t COLLECTIVE = 7;

/// @return the name of a stream of a collective's from rank 3 to rank 9
StreamKey
FarKey(int tag, uint64_t collective = COLLECTIVE)
{
    MessageInfo info;
    info.collectiveKey = collective;
    return StreamKey::OfCollective(3, 9, tag, &info);
}

/// Two ends, whose receives are numbered in the order in which they are asked for.
class Ends
{
  public:
    /// A message under way.
    struct Sent
    {
        MessageStream* stream;
        ArrivedMessage message;
    };

    /// @param shared whether both sides use one object
    explicit Ends(bool shared)
        : m_sender(shared ? receiver : m_apart),
          m_isShared(shared)
    {
    }

    Sent Send(const StreamKey& key,
              uint64_t bytes,
              MessageStream* hint = nullptr,
              uint32_t parts = 1)
    {
        uint32_t number = 0;
        MessageStream& stream = m_sender.AddSend(key, hint, number);
        return {&stream, {.number = number, .parts = parts, .bytes = bytes, .sentPs = ++m_sentPs}};
    }

    /// @return whether it is complete at once; else its number will be in Arrive()'s answer
    bool Receive(const StreamKey& key, uint64_t bytes, MessageStream** hint = nullptr)
    {
        Asked& asked = m_asked.emplace_back(this, static_cast<int>(m_asked.size()));
        MessageStream* stream = hint ? *hint : nullptr;
        const bool isComplete = receiver.AddReceive(
            key,
            bytes,
            [](void* arg) {
                const auto* complete = static_cast<Asked*>(arg);
                complete->ends->sentPs = complete->ends->receiver.GetSentPs();
                complete->ends->m_complete.push_back(complete->number);
            },
            &asked,
            stream);
        if (hint)
        {
            *hint = stream;
        }
        return isComplete;
    }

    /// @return the numbers of receives that this completes
    std::vector<int> Arrive(const Sent& sent)
    {
        m_complete.clear();
        isWhole = m_isShared ? receiver.Arrive(*sent.stream, sent.message)
                             : receiver.Arrive(sent.stream->key, sent.message);
        return m_complete;
    }

    MessageStreams receiver;
    bool isWhole{false}; ///< Arrive() says that all of the message is there
    TimePs sentPs{0};    ///< when the message of the last receive was sent

  private:
    struct Asked
    {
        Ends* ends;
        int number;
    };

    MessageStreams m_apart;
    MessageStreams& m_sender;
    bool m_isShared;
    TimePs m_sentPs{100};
    std::deque<Asked> m_asked;
    std::vector<int> m_complete;
};

/// Both kinds of ends.
class Streams : public ::testing::TestWithParam<bool>
{
  protected:
    /// @return the name of a stream from rank @p src to rank @p dst
    static StreamKey Key(uint32_t src, uint32_t dst, int tag)
    {
        return StreamKey::OfTag(src, dst, tag);
    }

    Ends ends{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Ends, Streams, ::testing::Bool(), [](const auto& shared) {
    return shared.param ? "OfOneObject" : "OfTwoObjects";
});

/// Ends of one object.
struct SharedStreams : ::testing::Test
{
    Ends ends{true};
};

/// Ends that share nothing.
struct FarStreams : ::testing::Test
{
    Ends ends{false};
};

} // namespace

TEST_P(Streams, EitherSideMayComeFirst)
{
    auto sent = ends.Send(Key(1, 2, 7), 100);
    EXPECT_FALSE(ends.Receive(Key(1, 2, 7), 100)) << "the bytes are under way";
    EXPECT_THAT(ends.Arrive(sent), ElementsAre(0));
    EXPECT_EQ(ends.sentPs, sent.message.sentPs);

    sent = ends.Send(Key(1, 2, 7), 100);
    EXPECT_THAT(ends.Arrive(sent), IsEmpty());
    EXPECT_TRUE(ends.Receive(Key(1, 2, 7), 100));
    EXPECT_EQ(ends.receiver.GetSentPs(), sent.message.sentPs);
}

TEST_P(Streams, PairsAndTagsDoNotMix)
{
    EXPECT_FALSE(ends.Receive(Key(1, 2, 7), 10));
    EXPECT_FALSE(ends.Receive(Key(2, 1, 7), 10));
    EXPECT_FALSE(ends.Receive(Key(1, 2, 8), 10));
    EXPECT_THAT(ends.Arrive(ends.Send(Key(1, 2, 8), 10)), ElementsAre(2));
    EXPECT_THAT(ends.Arrive(ends.Send(Key(2, 1, 7), 10)), ElementsAre(1));
    EXPECT_THAT(ends.Arrive(ends.Send(Key(1, 2, 7), 10)), ElementsAre(0));
}

TEST_P(Streams, SizesSplitAndJoin)
{
    EXPECT_FALSE(ends.Receive(Key(1, 2, 0), 30));
    EXPECT_FALSE(ends.Receive(Key(1, 2, 0), 50));
    EXPECT_THAT(ends.Arrive(ends.Send(Key(1, 2, 0), 20)), IsEmpty());
    EXPECT_THAT(ends.Arrive(ends.Send(Key(1, 2, 0), 70)), ElementsAre(0, 1));
    EXPECT_TRUE(ends.Receive(Key(1, 2, 0), 10)) << "ten bytes are left of the second message";
}

TEST_P(Streams, MessageThatOvertakesWaitsForTheOneBeforeIt)
{
    const auto first = ends.Send(Key(1, 2, 0), 10);
    const auto second = ends.Send(Key(1, 2, 0), 20);
    const auto third = ends.Send(Key(1, 2, 0), 5);
    EXPECT_FALSE(ends.Receive(Key(1, 2, 0), 10));
    EXPECT_FALSE(ends.Receive(Key(1, 2, 0), 20));
    EXPECT_THAT(ends.Arrive(second), IsEmpty());
    EXPECT_THAT(ends.Arrive(third), IsEmpty());
    EXPECT_THAT(ends.Arrive(first), ElementsAre(0, 1));
    EXPECT_TRUE(ends.Receive(Key(1, 2, 0), 5));
    EXPECT_EQ(ends.receiver.GetSentPs(), third.message.sentPs);
}

TEST_P(Streams, AMessageIsThereWithTheLastOfItsParts)
{
    const auto first = ends.Send(Key(1, 2, 0), 10, nullptr, 3);
    const auto second = ends.Send(Key(1, 2, 0), 20, nullptr, 2);
    EXPECT_FALSE(ends.Receive(Key(1, 2, 0), 30));
    EXPECT_THAT(ends.Arrive(first), IsEmpty());
    EXPECT_FALSE(ends.isWhole);
    // Parts of another message come in between.
    EXPECT_THAT(ends.Arrive(second), IsEmpty());
    EXPECT_THAT(ends.Arrive(second), IsEmpty());
    EXPECT_TRUE(ends.isWhole) << "all of it is there, after a message that is not";
    EXPECT_THAT(ends.Arrive(first), IsEmpty());
    EXPECT_THAT(ends.Arrive(first), ElementsAre(0));
    EXPECT_TRUE(ends.isWhole);
}

TEST_P(Streams, SaysWhatWaitsWhateverTheTags)
{
    // Of a rank that runs with others than another time, collectives have other tags.
    EXPECT_FALSE(ends.Receive(Key(3, 4, 256), 600));
    EXPECT_FALSE(ends.Receive(Key(3, 4, 512), 500));
    EXPECT_THAT(ends.receiver.DescribeWaits(2),
                ElementsAre("rank 4 waits for 500 bytes from rank 3",
                            "rank 4 waits for 600 bytes from rank 3"));
    EXPECT_THAT(ends.receiver.DescribeWaits(1),
                ElementsAre("rank 4 waits for 500 bytes from rank 3"));
    ends.Arrive(ends.Send(Key(3, 4, 512), 100));
    EXPECT_THAT(ends.receiver.DescribeWaits(1),
                ElementsAre("rank 4 waits for 400 bytes from rank 3"));
    ends.Arrive(ends.Send(Key(3, 4, 512), 400));
    ends.Arrive(ends.Send(Key(3, 4, 256), 600));
    EXPECT_THAT(ends.receiver.DescribeWaits(5), IsEmpty());
}

/// In every order of arrival, receives get the bytes of the stream in order: the n-th is
/// complete with the first prefix of messages, without a gap, that has as many bytes as the
/// receives up to it.
TEST_P(Streams, AnyOrderOfArrivalGivesTheSameStreamOfBytes)
{
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round)
    {
        const StreamKey key = Key(0, 1, round);
        std::vector<Ends::Sent> sent(1 + random() % 8);
        uint64_t total = 0;
        for (Ends::Sent& each : sent)
        {
            each = ends.Send(key, 1 + random() % 5);
            total += each.message.bytes;
        }
        std::vector<std::size_t> order(sent.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::shuffle(order, random);
        std::vector<uint64_t> asked; // bytes up to each receive
        MessageStream* hint = nullptr;
        for (uint64_t sum = 0; sum < total;)
        {
            const uint64_t bytes = std::min<uint64_t>(1 + random() % 6, total - sum);
            EXPECT_FALSE(ends.Receive(key, bytes, &hint));
            sum += bytes;
            asked.push_back(sum);
        }
        std::vector<bool> isThere(sent.size());
        std::size_t done = 0;
        for (const std::size_t place : order)
        {
            isThere[place] = true;
            uint64_t inOrder = 0;
            for (std::size_t i = 0; i < sent.size() && isThere[i]; ++i)
            {
                inOrder += sent[i].message.bytes;
            }
            const std::size_t before = done;
            while (done < asked.size() && asked[done] <= inOrder)
            {
                ++done;
            }
            const auto complete = ends.Arrive(sent[place]);
            EXPECT_EQ(complete.size(), done - before);
            EXPECT_TRUE(std::ranges::is_sorted(complete));
        }
        EXPECT_EQ(done, asked.size());
        if (!GetParam())
        {
            ends.receiver.End(*hint, false);
        }
        EXPECT_EQ(ends.receiver.GetStreamCount(), 0U);
    }
}

TEST_F(SharedStreams, HandlersMayAskForMoreAndDeliverMore)
{
    struct Chain
    {
        Ends& ends;
        int left;
        StreamKey key{StreamKey::OfTag(1, 2, 0)};

        void Ask()
        {
            MessageStream* hint = nullptr;
            ends.receiver.AddReceive(
                key,
                10,
                [](void* arg) {
                    auto* chain = static_cast<Chain*>(arg);
                    if (--chain->left > 0)
                    {
                        chain->Ask();
                        chain->ends.Arrive(chain->ends.Send(chain->key, 10));
                    }
                },
                this,
                hint);
        }
    };

    Chain chain{ends, 5};
    chain.Ask();
    ends.Arrive(ends.Send(chain.key, 10));
    EXPECT_EQ(chain.left, 0);
    EXPECT_EQ(ends.receiver.GetStreamCount(), 0U);
}

TEST_F(SharedStreams, ManyStreamsThatHaveEndedAreForgotten)
{
    const StreamKey idle = StreamKey::OfTag(7, 8, 10);
    const auto pass = [this](const StreamKey& key) {
        EXPECT_THAT(ends.Arrive(ends.Send(key, 10)), IsEmpty());
        EXPECT_TRUE(ends.Receive(key, 10));
    };
    int noted = 0;
    const auto kept = ends.Send(StreamKey::OfTag(7, 8, 9), 10);
    kept.stream->note = &noted;
    const auto first = ends.Send(idle, 10);
    first.stream->note = &noted;
    ends.Arrive(first);
    EXPECT_TRUE(ends.Receive(idle, 10));
    const auto again = ends.Send(idle, 10);
    EXPECT_EQ(again.stream->note, &noted) << "few streams: none is forgotten";
    ends.Arrive(again);
    EXPECT_TRUE(ends.Receive(idle, 10));
    for (int tag = 0; tag < 5000; ++tag)
    {
        pass(StreamKey::OfTag(1, 2, tag));
    }
    EXPECT_EQ(ends.receiver.GetStreamCount(), 1U);
    EXPECT_EQ(kept.stream->note, &noted) << "something is under way";
    EXPECT_EQ(ends.Send(idle, 10).stream->note, nullptr) << "forgotten";
    EXPECT_THAT(ends.Arrive(kept), IsEmpty());
    EXPECT_TRUE(ends.Receive(StreamKey::OfTag(7, 8, 9), 10));
}

TEST_F(SharedStreams, HintOfAnotherOrAForgottenStreamDoesNoHarm)
{
    MessageStream* other = ends.Send(StreamKey::OfTag(1, 2, 3), 10).stream;
    EXPECT_NE(ends.Send(StreamKey::OfTag(1, 2, 4), 10, other).stream, other);
    EXPECT_EQ(ends.Send(StreamKey::OfTag(1, 2, 3), 10, other).stream, other);

    const auto of = [](int tag) { return StreamKey::OfTag(5, 6, tag); };
    auto sent = ends.Send(of(0), 10);
    MessageStream* forgotten = sent.stream;
    ends.Arrive(sent);
    EXPECT_TRUE(ends.Receive(of(0), 10));
    for (int tag = 1; tag < 5000; ++tag)
    {
        ends.Arrive(ends.Send(of(tag), 10));
        EXPECT_TRUE(ends.Receive(of(tag), 10));
    }
    sent = ends.Send(of(0), 10, forgotten);
    EXPECT_EQ(ends.Send(of(0), 10).stream, sent.stream);
    EXPECT_FALSE(ends.Receive(of(0), 10));
    EXPECT_EQ(ends.Arrive(sent).size(), 1U);
}

TEST_F(FarStreams, AreNotForgottenBeforeTheyEnd)
{
    const auto pass = [this](int tag) {
        EXPECT_THAT(ends.Arrive(ends.Send(FarKey(tag), 10)), IsEmpty());
        EXPECT_TRUE(ends.Receive(FarKey(tag), 10));
    };
    for (uint64_t collective = 0; collective < 5000; ++collective)
    {
        EXPECT_THAT(ends.Arrive(ends.Send(FarKey(0, collective), 10)), IsEmpty());
        EXPECT_TRUE(ends.Receive(FarKey(0, collective), 10));
    }
    EXPECT_EQ(ends.receiver.GetStreamCount(), 5000U);
    pass(0);
    pass(0);
}

TEST_F(FarStreams, TagsOfACollectiveCountTheirLastEightBits)
{
    EXPECT_EQ(FarKey(5), FarKey(256 * 1000 + 5));
    EXPECT_NE(FarKey(5), FarKey(6));
    EXPECT_NE(FarKey(5), FarKey(5, COLLECTIVE + 1));
    EXPECT_NE(FarKey(5, MessageInfo::NO_COLLECTIVE), FarKey(256 + 5, MessageInfo::NO_COLLECTIVE));
    EXPECT_EQ(FarKey(5, MessageInfo::NO_COLLECTIVE), StreamKey::OfCollective(3, 9, 5, nullptr));
    EXPECT_FALSE(ends.Receive(FarKey(5), 1));
    EXPECT_THAT(ends.Arrive(ends.Send(FarKey(256 * 9 + 5), 1)), ElementsAre(0));
}

TEST_F(FarStreams, CreditsComeBesideTheDataOfTheOtherDirectionAndEndWithTheirStream)
{
    MessageStreams& side = ends.receiver; // that sends data
    uint32_t number = 0;
    MessageStream& data = side.AddSend(FarKey(1), nullptr, number);
    MessageInfo info;
    info.collectiveKey = COLLECTIVE;
    const StreamKey back = StreamKey::OfCollective(9, 3, 1, &info);
    info.isCredit = true;
    const StreamKey credit = StreamKey::OfCollective(9, 3, 1, &info);
    EXPECT_NE(credit, back);
    EXPECT_TRUE(credit.IsCredit());
    EXPECT_FALSE(back.IsCredit());
    EXPECT_FALSE(ends.Receive(credit, 1));
    EXPECT_THAT(side.DescribeWaits(1), IsEmpty()) << "nobody waits for credits alone";
    side.ArriveInOrder(credit, 1, 0);
    EXPECT_FALSE(ends.Receive(credit, 1)) << "each credit is taken once";
    EXPECT_EQ(side.GetStreamCount(), 2U);
    side.End(data, true);
    EXPECT_EQ(side.GetStreamCount(), 0U);
    side.AddSend(FarKey(1), nullptr, number);
    EXPECT_EQ(number, 0U);
}
