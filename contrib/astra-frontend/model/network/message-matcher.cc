/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-matcher.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <tuple>

namespace AstraSim
{

MessageMatcher::MessageMatcher() = default;

MessageMatcher::~MessageMatcher() = default;

std::size_t
MessageMatcher::KeyHash::operator()(const Stream* stream) const
{
    return (*this)(stream->key);
}

const MessageMatcher::Key&
MessageMatcher::KeyEqual::KeyOf(const Stream* stream)
{
    return stream->key;
}

MessageMatcher::Stream&
MessageMatcher::FindOrMake(const Key& key)
{
    const auto it = m_streams.find(key);
    if (it != m_streams.end())
    {
        return **it;
    }
    Stream* stream = m_streamPool.Take();
    stream->key = key;
    m_streams.insert(stream);
    ++m_idle;
    return *stream;
}

inline MessageMatcher::Stream&
MessageMatcher::Use(const Key& key, Stream* hint)
{
    Stream& stream = hint && hint->key == key ? *hint : FindOrMake(key);
    m_idle -= stream.IsIdle();
    return stream;
}

void
MessageMatcher::Release(Stream& stream)
{
    constexpr std::size_t KEPT = 1024; ///< not worth looking for
    if (!stream.IsIdle() || ++m_idle <= KEPT + m_streams.size() / 2)
    {
        return;
    }
    boost::unordered::erase_if(m_streams, [this](Stream* each) {
        const bool isIdle = each->IsIdle();
        if (isIdle)
        {
            each->key = Key();
            m_streamPool.GiveBack(each);
        }
        return isIdle;
    });
    m_idle = 0;
}

void
MessageMatcher::AddSend(Send& send,
                        uint32_t src,
                        uint32_t dst,
                        int tag,
                        uint64_t bytes,
                        Stream* hint)
{
    Stream& stream = Use({src, dst, tag}, hint);
    send.stream = &stream;
    send.bytes = bytes;
    send.isQueued = true;
    stream.sends.Push(send);
}

uint64_t
MessageMatcher::TakeDelivered(Stream& stream, Send*& ended)
{
    uint64_t bytes = 0;
    while (!stream.sends.IsEmpty() && stream.sends.Front().delivered)
    {
        Send& first = stream.sends.Front();
        stream.sends.Pop();
        bytes += first.bytes;
        first.isQueued = false;
        if (first.hasEnded)
        {
            first.sentNext = ended;
            ended = &first;
        }
    }
    return bytes;
}

MessageMatcher::Send*
MessageMatcher::Deliver(Send& send)
{
    Stream& stream = *send.stream;
    Send* ended = nullptr;
    send.delivered = true;
    uint64_t available = TakeDelivered(stream, ended);
    // Handlers may deliver more; what is complete now is taken out first.
    boost::container::small_vector<std::pair<MessageHandler, void*>, 4> complete;
    while (stream.isExpecting && available >= stream.bytes)
    {
        available -= stream.bytes;
        complete.emplace_back(stream.handler, stream.arg);
        ExpectNext(stream);
    }
    stream.bytes += stream.isExpecting ? -available : available;
    Release(stream);
    for (const auto& [handler, arg] : complete)
    {
        if (handler)
        {
            handler(arg);
        }
    }
    return ended;
}

void
MessageMatcher::ExpectNext(Stream& stream)
{
    stream.isExpecting = !stream.more.IsEmpty();
    stream.bytes = 0;
    if (stream.isExpecting)
    {
        Receive& next = stream.more.Front();
        stream.more.Pop();
        stream.bytes = next.bytes;
        stream.handler = next.handler;
        stream.arg = next.arg;
        m_receives.GiveBack(&next);
    }
}

bool
MessageMatcher::AddReceive(uint32_t src,
                           uint32_t dst,
                           int tag,
                           uint64_t bytes,
                           MessageHandler handler,
                           void* arg,
                           Stream*& hint)
{
    Stream& stream = Use({src, dst, tag}, hint);
    hint = &stream;
    if (stream.isExpecting)
    {
        Receive* receive = m_receives.Take();
        receive->bytes = bytes;
        receive->handler = handler;
        receive->arg = arg;
        stream.more.Push(*receive);
        return false;
    }
    if (bytes <= stream.bytes)
    {
        stream.bytes -= bytes;
        Release(stream);
        return true;
    }
    stream.isExpecting = true;
    stream.bytes = bytes - stream.bytes;
    stream.handler = handler;
    stream.arg = arg;
    return false;
}

std::vector<std::string>
MessageMatcher::DescribeWaits(std::size_t limit) const
{
    std::vector<std::pair<Key, uint64_t>> waiting;
    for (const Stream* stream : m_streams)
    {
        if (stream->isExpecting)
        {
            waiting.emplace_back(stream->key, stream->bytes);
        }
    }
    std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
        // Not by tags: who runs which ranks decides how those of collectives are given out.
        return std::tie(a.first.dst, a.first.src, a.second) <
               std::tie(b.first.dst, b.first.src, b.second);
    });
    std::vector<std::string> lines;
    for (const auto& [key, bytes] : waiting)
    {
        if (lines.size() == limit)
        {
            break;
        }
        lines.push_back("rank " + std::to_string(key.dst) + " waits for " + std::to_string(bytes) +
                        " bytes from rank " + std::to_string(key.src));
    }
    return lines;
}

} // namespace AstraSim
