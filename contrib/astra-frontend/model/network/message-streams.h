/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MESSAGE_STREAMS_H
#define MESSAGE_STREAMS_H

#include "intrusive-queue.h"
#include "object-pool.h"

#include "ns3/rank-network.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Names a stream of messages, alike for its sender and its receiver.
struct StreamKey
{
    static constexpr int CREDIT = 256; ///< in a tag: credits for the stream with the rest of it

    /// MessageInfo::collectiveKey, where each side gives out tags for itself
    uint64_t collective{MessageInfo::NO_COLLECTIVE};
    uint32_t src{UINT32_MAX};
    uint32_t dst{UINT32_MAX};
    int tag{0}; ///< with a collective key: its last 8 bits, and CREDIT for credits

    /// @return the name of a stream to which both ends give the same tag
    static StreamKey OfTag(uint32_t src, uint32_t dst, int tag)
    {
        return {MessageInfo::NO_COLLECTIVE, src, dst, tag};
    }

    /// @return the name of a stream of a collective, to which the ends may give different tags
    /// @param info has the collective's key; may be null
    static StreamKey OfCollective(uint32_t src, uint32_t dst, int tag, const MessageInfo* info);

    /// @return whether the stream is one of credits
    bool IsCredit() const
    {
        return collective != MessageInfo::NO_COLLECTIVE && (tag & CREDIT);
    }

    bool operator==(const StreamKey&) const = default;
};

/// A message as its receiver sees it.
struct ArrivedMessage
{
    uint32_t number;   ///< in its stream, see MessageStreams::AddSend()
    uint32_t parts{1}; ///< of it, each of which arrives
    uint64_t bytes;    ///< of all of it
    TimePs sentPs{0};  ///< when it was sent
};

/**
 * @ingroup astra-frontend
 * @brief Matches sends and receives of streams in order; their sizes may differ.
 *
 * A stream is one of bytes, as a connection is: a sender numbers its messages, they are consumed in
 * that order even if a network delivers a later one first, and a receive takes as many bytes as it
 * asked for, from one message or several. Sender and receiver may use one object, as on all
 * networks that ranks share, or one each, as the servers of a run with partitions do; neither reads
 * the other's state. Nothing is allocated per message once the pools have grown.
 *
 * Where both sides use one object, streams in which nothing is under way are forgotten in one go
 * when there are many, since most are soon used again. Where they do not, each side ends its
 * streams.
 */
class MessageStreams
{
  public:
    using Stream = MessageStream;

    MessageStreams();
    ~MessageStreams();

    /**
     * A message is sent.
     * @param hint MessageInfo::stream of an earlier message of the sender, or null
     * @param number gets the message's place in its stream
     * @return the stream
     */
    Stream& AddSend(const StreamKey& key, Stream* hint, uint32_t& number);

    /**
     * A message, or a part of it, is at the destination. Runs the handlers of the receives that are
     * complete now, in order.
     * @return whether all of the message is there
     */
    bool Arrive(Stream& stream, const ArrivedMessage& message);

    /// As above, for a sender whose MessageStreams is another object.
    bool Arrive(const StreamKey& key, const ArrivedMessage& message);

    /// A message arrives in a stream without reordering; its messages have no numbers.
    void ArriveInOrder(const StreamKey& key, uint64_t bytes, TimePs sentPs);

    /**
     * Ask for @p bytes.
     * @param hint MessageInfo::stream of an earlier receive, or null; gets that for the next
     * @return whether they are all there already; @p handler is not kept then
     */
    bool AddReceive(const StreamKey& key,
                    uint64_t bytes,
                    MessageHandler handler,
                    void* arg,
                    Stream*& hint);

    /// Nothing more is sent, or received, in a stream that has this side only. A sender has got the
    /// credits for it, too.
    void End(Stream& stream, bool isSender);

    /// Call it within the handler of a receive. @return the time at which the newest message of the
    /// receive was sent
    TimePs GetSentPs() const
    {
        return m_sentPs;
    }

    /// Restore GetSentPs() before a handler that is called after a delay.
    /// @param sentPs GetSentPs() when the receive was complete
    void SetSentPs(TimePs sentPs)
    {
        m_sentPs = sentPs;
    }

    /// @return receives that wait, at most @p limit lines
    std::vector<std::string> DescribeWaits(std::size_t limit) const;

    /// @return streams with something under way, and those of one side only that have not ended
    std::size_t GetStreamCount() const
    {
        return m_streams.size() - m_idle;
    }

  private:
    friend struct MessageStream;

    struct Receive
    {
        Receive* next{nullptr};
        uint64_t bytes{0};
        MessageHandler handler{nullptr};
        void* arg{nullptr};
    };

    /// A message that is not there as a whole, or before one with a smaller number.
    struct Waiting
    {
        uint32_t partsLeft;
        uint64_t bytes;
        TimePs sentPs;
    };

    struct KeyHash
    {
        using is_transparent = void;
        std::size_t operator()(const StreamKey& key) const;
        std::size_t operator()(const Stream* stream) const;
    };

    struct KeyEqual
    {
        using is_transparent = void;

        static const StreamKey& KeyOf(const StreamKey& key)
        {
            return key;
        }

        static const StreamKey& KeyOf(const Stream* stream);

        bool operator()(const auto& a, const auto& b) const
        {
            return KeyOf(a) == KeyOf(b);
        }
    };

    /// @return the stream, no longer counted as idle
    Stream& Use(const StreamKey& key, Stream* hint);
    /// @return the stream of a message; its sender may use another object
    Stream& UseAtReceiver(const StreamKey& key);
    Stream& FindOrMake(const StreamKey& key);
    /// @return bytes of messages that follow those in order, and have come before them
    uint64_t TakeWaiting(Stream& stream);
    /// The next bytes are there: run the handlers of receives that are complete.
    void Complete(Stream& stream, uint64_t bytes);
    /// The first receive of a stream is complete: go on to the next.
    void ExpectNext(Stream& stream);
    /// Count a stream as idle, if it is; may forget it.
    void Release(Stream& stream);
    void GiveBack(Stream& stream);

    boost::unordered_flat_set<Stream*, KeyHash, KeyEqual> m_streams;
    /// By stream and number; few, or none, at a time.
    boost::unordered_flat_map<std::pair<const Stream*, uint32_t>, Waiting> m_waiting;
    std::size_t m_idle{0};           ///< of m_streams
    ObjectPool<Stream> m_streamPool; ///< hints lead into it: nothing in it is freed
    ObjectPool<Receive> m_receives;
    TimePs m_sentPs{0};
};

// The first line of the cache has all that an ordinary message touches.
struct alignas(64) MessageStream
{
    /// Of messages sent, where the sender has a stream of its own.
    static constexpr uint32_t ELSEWHERE = UINT32_MAX;

    StreamKey key;        ///< of no message while the stream is not in use
    uint32_t sent{0};     ///< number of the next message that is sent
    uint32_t expected{0}; ///< number of the next message in order
    /// Bytes that the first receive lacks; without a receive, bytes that are there in order and
    /// that nobody has asked for.
    uint64_t bytes{0};
    MessageHandler handler{nullptr}; ///< of the first receive; null if there is none
    void* arg{nullptr};              ///< of the first receive
    IntrusiveQueue<MessageStreams::Receive, &MessageStreams::Receive::next> more; ///< receives
    TimePs sentPs{0}; ///< when the newest message was sent that is there in order

    union {
        const void* note{nullptr}; ///< of the sender's network; forgotten when the stream is
        MessageStream* next;       ///< for the pool, while the stream is not in use
    };

    /// @return whether nothing is under way in a stream that has both sides
    bool IsIdle() const
    {
        return sent == expected && !handler && bytes == 0;
    }
};

static_assert(offsetof(MessageStream, sentPs) == 64);

} // namespace AstraSim

#endif /* MESSAGE_STREAMS_H */
