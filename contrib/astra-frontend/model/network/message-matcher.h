/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MESSAGE_MATCHER_H
#define MESSAGE_MATCHER_H

#include "astra-network-api.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @brief Matches sends and receives of (source, destination, tag) in order, whatever their sizes.
 *
 * A connection is a stream of bytes: messages are consumed in the order in which they were sent,
 * even if a network delivers a later one first, and a receive takes as many bytes as it asked for,
 * from one message or several. Every backend uses this class. Nothing is allocated per message
 * once the pools have grown.
 */
class MessageMatcher
{
  public:
    /// A message under way. Owned by the matcher from AddSend() until it is delivered.
    struct Send
    {
        Send* next{nullptr};
        uint32_t src{0};
        uint32_t dst{0};
        int tag{0};
        bool delivered{false};
        uint64_t bytes{0};
    };

    /// A receive whose bytes have all arrived.
    struct Completion
    {
        MessageHandler handler;
        void* arg;
    };

    MessageMatcher();
    ~MessageMatcher();

    /// A message has been sent. @return its place in its stream, for Deliver()
    Send* AddSend(uint32_t src, uint32_t dst, int tag, uint64_t bytes);

    /**
     * All bytes of a message are at the destination.
     * @param completions gets the receives that are complete now, in order
     */
    void Deliver(Send* send, std::vector<Completion>& completions);

    /**
     * Ask for @p bytes.
     * @return whether they are all there already; @p handler is not kept then
     */
    bool AddReceive(uint32_t src,
                    uint32_t dst,
                    int tag,
                    uint64_t bytes,
                    MessageHandler handler,
                    void* arg);

    /// @return receives that wait, at most @p limit lines
    std::vector<std::string> DescribeWaits(std::size_t limit) const;

    /// @return streams with something under way
    std::size_t GetStreamCount() const
    {
        return m_streams.size();
    }

  private:
    struct Receive
    {
        Receive* next{nullptr};
        uint64_t bytesLeft{0};
        MessageHandler handler{nullptr};
        void* arg{nullptr};
    };

    struct Key
    {
        uint32_t src;
        uint32_t dst;
        int tag;

        bool operator==(const Key&) const = default;
    };

    struct KeyHash
    {
        std::size_t operator()(const Key& key) const
        {
            uint64_t value = (static_cast<uint64_t>(key.src) << 32 | key.dst) * 0x9e3779b97f4a7c15U;
            value ^= static_cast<uint64_t>(static_cast<uint32_t>(key.tag)) * 0xc2b2ae3d27d4eb4fU;
            return value ^ value >> 29;
        }
    };

    struct Stream
    {
        Send* firstSend{nullptr};
        Send* lastSend{nullptr};
        Receive* firstReceive{nullptr};
        Receive* lastReceive{nullptr};
        uint64_t available{0}; ///< delivered in order and not received
    };

    using Streams = boost::unordered_flat_map<Key, Stream, KeyHash>;

    void EraseIfIdle(Streams::iterator it);

    template <typename T>
    struct Pool
    {
        T* Take();
        void GiveBack(T* item);

        T* free{nullptr};
        std::vector<std::unique_ptr<T[]>> slabs;
    };

    Streams m_streams;
    Pool<Send> m_sends;
    Pool<Receive> m_receives;
};

} // namespace AstraSim

#endif /* MESSAGE_MATCHER_H */
