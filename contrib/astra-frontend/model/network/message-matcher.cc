/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-matcher.h"

#include <algorithm>
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

MessageMatcher::Send*
MessageMatcher::AddSend(uint32_t src, uint32_t dst, int tag, uint64_t bytes, Stream* hint)
{
    Stream& stream = Use({src, dst, tag}, hint);
    Send* send = m_sends.Take();
    send->stream = &stream;
    send->bytes = bytes;
    (stream.lastSend ? stream.lastSend->next : stream.firstSend) = send;
    stream.lastSend = send;
    return send;
}

void
MessageMatcher::Deliver(Send* send)
{
    Stream& stream = *send->stream;
    send->delivered = true;
    while (stream.firstSend && stream.firstSend->delivered)
    {
        Send* first = stream.firstSend;
        stream.available += first->bytes;
        stream.firstSend = first->next;
        if (!stream.firstSend)
        {
            stream.lastSend = nullptr;
        }
        m_sends.GiveBack(first);
    }
    // Handlers may deliver more; what is complete now is taken out first.
    Receive* complete = stream.firstReceive;
    Receive* last = nullptr;
    while (stream.firstReceive && (stream.available > 0 || stream.firstReceive->bytesLeft == 0))
    {
        Receive* first = stream.firstReceive;
        const uint64_t taken = std::min(stream.available, first->bytesLeft);
        stream.available -= taken;
        first->bytesLeft -= taken;
        if (first->bytesLeft > 0)
        {
            break;
        }
        last = first;
        stream.firstReceive = first->next;
    }
    if (!stream.firstReceive)
    {
        stream.lastReceive = nullptr;
    }
    Release(stream);
    if (!last)
    {
        return;
    }
    last->next = nullptr;
    while (complete)
    {
        Receive* receive = complete;
        complete = receive->next;
        const MessageHandler handler = receive->handler;
        void* arg = receive->arg;
        m_receives.GiveBack(receive);
        if (handler)
        {
            handler(arg);
        }
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
    uint64_t left = bytes;
    if (!stream.firstReceive)
    {
        const uint64_t taken = std::min(stream.available, left);
        stream.available -= taken;
        left -= taken;
        if (left == 0)
        {
            Release(stream);
            return true;
        }
    }
    Receive* receive = m_receives.Take();
    receive->bytesLeft = left;
    receive->handler = handler;
    receive->arg = arg;
    (stream.lastReceive ? stream.lastReceive->next : stream.firstReceive) = receive;
    stream.lastReceive = receive;
    return false;
}

std::vector<std::string>
MessageMatcher::DescribeWaits(std::size_t limit) const
{
    std::vector<std::pair<Key, uint64_t>> waiting;
    for (const Stream* stream : m_streams)
    {
        if (stream->firstReceive)
        {
            waiting.emplace_back(stream->key, stream->firstReceive->bytesLeft);
        }
    }
    std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
        return std::tie(a.first.dst, a.first.src, a.first.tag) <
               std::tie(b.first.dst, b.first.src, b.first.tag);
    });
    std::vector<std::string> lines;
    for (const auto& [key, bytes] : waiting)
    {
        if (lines.size() == limit)
        {
            break;
        }
        lines.push_back("rank " + std::to_string(key.dst) + " waits for " + std::to_string(bytes) +
                        " bytes from rank " + std::to_string(key.src) + " with tag " +
                        std::to_string(key.tag));
    }
    return lines;
}

} // namespace AstraSim
