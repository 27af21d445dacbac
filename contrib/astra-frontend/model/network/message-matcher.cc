/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-matcher.h"

#include <algorithm>
#include <tuple>

namespace AstraSim
{

template <typename T>
T*
MessageMatcher::Pool<T>::Take()
{
    constexpr std::size_t SLAB = 256;
    if (!free)
    {
        slabs.push_back(std::make_unique<T[]>(SLAB));
        for (std::size_t i = 0; i < SLAB; ++i)
        {
            slabs.back()[i].next = free;
            free = &slabs.back()[i];
        }
    }
    T* item = free;
    free = item->next;
    *item = T();
    return item;
}

template <typename T>
void
MessageMatcher::Pool<T>::GiveBack(T* item)
{
    item->next = free;
    free = item;
}

MessageMatcher::MessageMatcher() = default;

MessageMatcher::~MessageMatcher() = default;

MessageMatcher::Send*
MessageMatcher::AddSend(uint32_t src, uint32_t dst, int tag, uint64_t bytes)
{
    Send* send = m_sends.Take();
    send->src = src;
    send->dst = dst;
    send->tag = tag;
    send->bytes = bytes;
    Stream& stream = m_streams[{src, dst, tag}];
    (stream.lastSend ? stream.lastSend->next : stream.firstSend) = send;
    stream.lastSend = send;
    return send;
}

void
MessageMatcher::Deliver(Send* send, std::vector<Completion>& completions)
{
    const auto it = m_streams.find({send->src, send->dst, send->tag});
    Stream& stream = it->second;
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
        completions.push_back({first->handler, first->arg});
        stream.firstReceive = first->next;
        if (!stream.firstReceive)
        {
            stream.lastReceive = nullptr;
        }
        m_receives.GiveBack(first);
    }
    EraseIfIdle(it);
}

bool
MessageMatcher::AddReceive(uint32_t src,
                           uint32_t dst,
                           int tag,
                           uint64_t bytes,
                           MessageHandler handler,
                           void* arg)
{
    const auto it = m_streams.try_emplace({src, dst, tag}).first;
    Stream& stream = it->second;
    uint64_t left = bytes;
    if (!stream.firstReceive)
    {
        const uint64_t taken = std::min(stream.available, left);
        stream.available -= taken;
        left -= taken;
        if (left == 0)
        {
            EraseIfIdle(it);
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

void
MessageMatcher::EraseIfIdle(Streams::iterator it)
{
    const Stream& stream = it->second;
    if (!stream.firstSend && !stream.firstReceive && stream.available == 0)
    {
        m_streams.erase(it);
    }
}

std::vector<std::string>
MessageMatcher::DescribeWaits(std::size_t limit) const
{
    std::vector<std::pair<Key, uint64_t>> waiting;
    for (const auto& [key, stream] : m_streams)
    {
        if (stream.firstReceive)
        {
            waiting.emplace_back(key, stream.firstReceive->bytesLeft);
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
