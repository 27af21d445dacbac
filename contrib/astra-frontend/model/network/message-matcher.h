/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MESSAGE_MATCHER_H
#define MESSAGE_MATCHER_H

#include "intrusive-queue.h"
#include "object-pool.h"

#include "ns3/rank-network.h"

#include <boost/functional/hash.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Matches sends and receives of (source, destination, tag) in order, whatever their sizes.
 *
 * A connection is a stream of bytes: messages are consumed in the order in which they were sent,
 * even if a network delivers a later one first, and a receive takes as many bytes as it asked for,
 * from one message or several. Every backend uses this class. Nothing is allocated per message
 * once the pools have grown; what has ended is forgotten in one go when much has, since most
 * streams are soon used again.
 */
class MessageMatcher
{
  public:
    using Stream = MessageStream;

    /// A message under way, a part of what its network keeps of it.
    struct Send
    {
        Stream* stream{nullptr};
        Send* sentNext{nullptr}; ///< the message after it in its stream
        uint64_t bytes{0};
        bool delivered{false};
        bool isQueued{false}; ///< the matcher needs it until it is delivered in order
        bool hasEnded{false}; ///< its network only keeps it for the matcher
    };

    MessageMatcher();
    ~MessageMatcher();

    /**
     * A message has been sent.
     * @param send its place in its stream; stays at its address while it is queued
     * @param hint MessageInfo::stream of an earlier message, or null
     */
    void AddSend(Send& send,
                 uint32_t src,
                 uint32_t dst,
                 int tag,
                 uint64_t bytes,
                 Stream* hint = nullptr);

    /**
     * All bytes of a message are at the destination. Runs the handlers of the receives that are
     * complete now, in order.
     * @return messages that had ended and are queued no longer, linked by sentNext: a message that
     * overtakes another may end first
     */
    Send* Deliver(Send& send);

    /**
     * Ask for @p bytes.
     * @param hint MessageInfo::stream of an earlier message, or null; gets that for the next
     * @return whether they are all there already; @p handler is not kept then
     */
    bool AddReceive(uint32_t src,
                    uint32_t dst,
                    int tag,
                    uint64_t bytes,
                    MessageHandler handler,
                    void* arg,
                    Stream*& hint);

    /// @return what the network keeps with the stream of a message; null in a new stream, and
    /// forgotten when the stream is
    static const void*& NoteOf(const Send& send);

    /// @return receives that wait, at most @p limit lines
    std::vector<std::string> DescribeWaits(std::size_t limit) const;

    /// @return streams with something under way
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

    struct Key
    {
        uint32_t src{UINT32_MAX};
        uint32_t dst{UINT32_MAX};
        int tag{0};

        bool operator==(const Key&) const = default;
    };

    struct KeyHash
    {
        using is_transparent = void;

        std::size_t operator()(const Key& key) const
        {
            std::size_t hash = 0;
            boost::hash_combine(hash, uint64_t{key.src} << 32 | key.dst);
            boost::hash_combine(hash, key.tag);
            return hash;
        }

        std::size_t operator()(const Stream* stream) const;
    };

    struct KeyEqual
    {
        using is_transparent = void;

        static const Key& KeyOf(const Key& key)
        {
            return key;
        }

        static const Key& KeyOf(const Stream* stream);

        bool operator()(const auto& a, const auto& b) const
        {
            return KeyOf(a) == KeyOf(b);
        }
    };

    /// @return the stream, no longer counted as idle
    Stream& Use(const Key& key, Stream* hint);
    Stream& FindOrMake(const Key& key);
    /// The first receive of a stream is complete: go on to the next.
    void ExpectNext(Stream& stream);
    /// Take messages that are delivered in order out of a stream.
    /// @param ended those that had ended are put before it
    /// @return their bytes
    static uint64_t TakeDelivered(Stream& stream, Send*& ended);
    /// Count a stream as idle, if it is; may forget it.
    void Release(Stream& stream);

    boost::unordered_flat_set<Stream*, KeyHash, KeyEqual> m_streams;
    std::size_t m_idle{0};           ///< of m_streams
    ObjectPool<Stream> m_streamPool; ///< hints lead into it: nothing in it is freed
    ObjectPool<Receive> m_receives;
};

// One line of the cache.
struct alignas(64) MessageStream
{
    MessageMatcher::Key key; ///< of no message while the stream is not in use
    bool isExpecting{false}; ///< whether there is a receive
    /// Bytes that the first receive lacks; without a receive, bytes delivered in order and not
    /// received.
    uint64_t bytes{0};
    MessageHandler handler{nullptr}; ///< of the first receive
    void* arg{nullptr};              ///< of the first receive
    IntrusiveQueue<MessageMatcher::Send, &MessageMatcher::Send::sentNext> sends;
    IntrusiveQueue<MessageMatcher::Receive, &MessageMatcher::Receive::next> more; ///< receives

    union {
        const void* note{nullptr};
        MessageStream* next; ///< for the pool, while the stream is not in use
    };

    bool IsIdle() const
    {
        return sends.IsEmpty() && !isExpecting && bytes == 0;
    }
};

static_assert(sizeof(MessageStream) == 64);

inline const void*&
MessageMatcher::NoteOf(const Send& send)
{
    return send.stream->note;
}

} // namespace AstraSim

#endif /* MESSAGE_MATCHER_H */
