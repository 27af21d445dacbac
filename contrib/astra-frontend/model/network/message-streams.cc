/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-streams.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/functional/hash.hpp>
#include <fmt/format.h>
#include <tuple>

namespace AstraSim
{

// A stream numbers its messages and counts one amount of bytes: those that its first receive
// lacks or, without a receive, those that have arrived unasked. So for most messages, which
// arrive whole and in order, Arrive() is a few additions in one cache line. A message ahead of
// its turn, or with parts under way, is kept in m_waiting until TakeWaiting() finds it next in
// order. Complete() takes all satisfied receives out of the stream before it calls their
// handlers, as these may post receives or end the stream. Callers keep pointers to streams as
// hints. Idle streams go back to the pool all at once, when they are the majority (Release);
// then a hint may point to another stream, so Use() compares the key.

StreamKey
StreamKey::OfCollective(uint32_t src, uint32_t dst, int tag, const MessageInfo* info)
{
    if (!info || info->collectiveKey == MessageInfo::NO_COLLECTIVE)
    {
        return OfTag(src, dst, tag);
    }
    return {info->collectiveKey, src, dst, tag % CREDIT + (info->isCredit ? CREDIT : 0)};
}

std::size_t
MessageStreams::KeyHash::operator()(const StreamKey& key) const
{
    std::size_t hash = 0;
    boost::hash_combine(hash, key.collective);
    boost::hash_combine(hash, uint64_t{key.src} << 32 | key.dst);
    boost::hash_combine(hash, key.tag);
    return hash;
}

std::size_t
MessageStreams::KeyHash::operator()(const Stream* stream) const
{
    return (*this)(stream->key);
}

const StreamKey&
MessageStreams::KeyEqual::KeyOf(const Stream* stream)
{
    return stream->key;
}

MessageStreams::MessageStreams() = default;

MessageStreams::~MessageStreams() = default;

MessageStreams::Stream&
MessageStreams::FindOrMake(const StreamKey& key)
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

inline MessageStreams::Stream&
MessageStreams::Use(const StreamKey& key, Stream* hint)
{
    Stream& stream = hint && hint->key == key ? *hint : FindOrMake(key);
    m_idle -= stream.IsIdle();
    return stream;
}

inline MessageStreams::Stream&
MessageStreams::UseAtReceiver(const StreamKey& key)
{
    Stream& stream = Use(key, nullptr);
    stream.sent = stream.sent ? stream.sent : Stream::ELSEWHERE;
    return stream;
}

void
MessageStreams::Release(Stream& stream)
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
            GiveBack(*each);
        }
        return isIdle;
    });
    m_idle = 0;
}

void
MessageStreams::GiveBack(Stream& stream)
{
    stream.key = StreamKey();
    m_streamPool.GiveBack(&stream);
}

MessageStreams::Stream&
MessageStreams::AddSend(const StreamKey& key, Stream* hint, uint32_t& number)
{
    Stream& stream = Use(key, hint);
    number = stream.sent++;
    return stream;
}

bool
MessageStreams::Arrive(Stream& stream, const ArrivedMessage& message)
{
    if (message.parts > 1 || message.number != stream.expected)
    {
        Waiting& waiting = m_waiting
                               .try_emplace({&stream, message.number},
                                            Waiting{message.parts, message.bytes, message.sentPs})
                               .first->second;
        if (--waiting.partsLeft > 0)
        {
            return false;
        }
        if (message.number == stream.expected)
        {
            Complete(stream, TakeWaiting(stream));
        }
        return true;
    }
    ++stream.expected;
    stream.sentPs = message.sentPs;
    Complete(stream, message.bytes + (m_waiting.empty() ? 0 : TakeWaiting(stream)));
    return true;
}

bool
MessageStreams::Arrive(const StreamKey& key, const ArrivedMessage& message)
{
    return Arrive(UseAtReceiver(key), message);
}

void
MessageStreams::ArriveInOrder(const StreamKey& key, uint64_t bytes, TimePs sentPs)
{
    Stream& stream = UseAtReceiver(key);
    Arrive(stream, {.number = stream.expected, .bytes = bytes, .sentPs = sentPs});
}

uint64_t
MessageStreams::TakeWaiting(Stream& stream)
{
    uint64_t bytes = 0;
    for (auto next = m_waiting.find({&stream, stream.expected});
         next != m_waiting.end() && next->second.partsLeft == 0;
         next = m_waiting.find({&stream, stream.expected}))
    {
        ++stream.expected;
        stream.sentPs = next->second.sentPs;
        bytes += next->second.bytes;
        m_waiting.erase(next);
    }
    return bytes;
}

void
MessageStreams::Complete(Stream& stream, uint64_t bytes)
{
    if (stream.handler && bytes < stream.bytes)
    {
        stream.bytes -= bytes;
        return;
    }
    // Handlers may ask for more, or end the stream: all that is complete now is taken out first.
    boost::container::small_vector<std::pair<MessageHandler, void*>, 4> complete;
    while (stream.handler && bytes >= stream.bytes)
    {
        bytes -= stream.bytes;
        complete.emplace_back(stream.handler, stream.arg);
        ExpectNext(stream);
    }
    stream.bytes += stream.handler ? -bytes : bytes;
    const TimePs sentPs = stream.sentPs;
    Release(stream);
    for (const auto& [handler, arg] : complete)
    {
        m_sentPs = sentPs;
        handler(arg);
    }
}

void
MessageStreams::ExpectNext(Stream& stream)
{
    stream.handler = nullptr;
    stream.bytes = 0;
    if (!stream.more.IsEmpty())
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
MessageStreams::AddReceive(const StreamKey& key,
                           uint64_t bytes,
                           MessageHandler handler,
                           void* arg,
                           Stream*& hint)
{
    Stream& stream = Use(key, hint);
    hint = &stream;
    handler = handler ? handler : [](void*) {};
    if (stream.handler)
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
        m_sentPs = stream.sentPs;
        Release(stream);
        return true;
    }
    stream.bytes = bytes - stream.bytes;
    stream.handler = handler;
    stream.arg = arg;
    return false;
}

void
MessageStreams::End(Stream& stream, bool isSender)
{
    if (isSender)
    {
        StreamKey credits{stream.key.collective, stream.key.dst, stream.key.src, stream.key.tag};
        credits.tag += StreamKey::CREDIT;
        if (const auto found = m_streams.find(credits); found != m_streams.end())
        {
            End(**found, false);
        }
    }
    if (!m_waiting.empty())
    {
        boost::unordered::erase_if(m_waiting, [&stream](const auto& each) {
            return each.first.first == &stream;
        });
    }
    m_idle -= stream.IsIdle();
    m_streams.erase(&stream);
    GiveBack(stream);
}

std::vector<std::string>
MessageStreams::DescribeWaits(std::size_t limit) const
{
    std::vector<const Stream*> waiting;
    for (const Stream* stream : m_streams)
    {
        if (stream->handler && !stream->key.IsCredit())
        {
            waiting.push_back(stream);
        }
    }
    std::ranges::sort(waiting, [](const Stream* a, const Stream* b) {
        // Not by tags: those of collectives depend on the division of ranks among partitions.
        const auto order = [](const Stream& stream) {
            return std::tie(stream.key.dst, stream.key.src, stream.key.collective, stream.bytes);
        };
        return order(*a) < order(*b);
    });
    waiting.resize(std::min(waiting.size(), limit));
    std::vector<std::string> lines;
    for (const Stream* stream : waiting)
    {
        lines.push_back(fmt::format("rank {} waits for {} bytes from rank {}",
                                    stream->key.dst,
                                    stream->bytes,
                                    stream->key.src));
    }
    return lines;
}

} // namespace AstraSim
