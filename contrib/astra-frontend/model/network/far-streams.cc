/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "far-streams.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/functional/hash.hpp>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace AstraSim
{

struct FarStreams::Incoming
{
    struct Receive
    {
        uint64_t bytes;
        MessageHandler handler;
        void* arg;
    };

    /// A message that came before one with a smaller number.
    struct Early
    {
        uint64_t number;
        uint64_t bytes;
        TimePs sentPs;
    };

    /// A message of which some parts are there.
    struct Partial
    {
        uint64_t number;
        uint32_t partsLeft;
    };

    Incoming* next{nullptr}; ///< in the list of free ones
    FarStreamKey key;
    uint64_t expected{0}; ///< number of the next message in order
    uint64_t bytes{0};    ///< there in order and not received
    TimePs sentPs{0};     ///< when the newest of them was sent
    boost::container::small_vector<Receive, 1> receives;
    boost::container::small_vector<Early, 2> early;
    std::vector<Partial> partial;

    /// @return whether it is the last part of its message
    bool CompletePart(const Arrival& arrival)
    {
        auto found = std::ranges::find(partial, arrival.number, &Partial::number);
        if (found == partial.end())
        {
            partial.push_back({arrival.number, arrival.parts});
            found = partial.end() - 1;
        }
        if (--found->partsLeft > 0)
        {
            return false;
        }
        partial.erase(found);
        return true;
    }

    void Add(uint64_t more, TimePs sent)
    {
        ++expected;
        bytes += more;
        sentPs = sent;
    }

    void AddEarly()
    {
        while (true)
        {
            const auto found = std::ranges::find(early, expected, &Early::number);
            if (found == early.end())
            {
                return;
            }
            Add(found->bytes, found->sentPs);
            early.erase(found);
        }
    }
};

FarStreamKey
FarStreamKey::Of(uint32_t src, uint32_t dst, int tag, const MessageInfo* info)
{
    constexpr int TAGS = 256; // of a collective
    if (!info || info->collectiveKey == MessageInfo::NO_COLLECTIVE)
    {
        return {MessageInfo::NO_COLLECTIVE, src, dst, tag, false};
    }
    return {info->collectiveKey, src, dst, tag % TAGS, info->isCredit};
}

std::size_t
FarStreams::KeyHash::operator()(const FarStreamKey& key) const
{
    std::size_t hash = 0;
    boost::hash_combine(hash, key.collective);
    boost::hash_combine(hash, uint64_t{key.src} << 32 | key.dst);
    boost::hash_combine(hash, static_cast<uint32_t>(key.tag) << 1 | key.isCredit);
    return hash;
}

FarStreams::FarStreams() = default;

FarStreams::~FarStreams() = default;

FarStreams::Outgoing&
FarStreams::FindOutgoing(const FarStreamKey& key, Outgoing* hint)
{
    if (hint)
    {
        return *hint;
    }
    Outgoing*& stream = m_outgoing[key];
    if (!stream)
    {
        stream = m_outgoingPool.Take();
        stream->key = key;
    }
    return *stream;
}

FarStreams::Incoming&
FarStreams::FindIncoming(const FarStreamKey& key)
{
    Incoming*& stream = m_incoming[key];
    if (!stream)
    {
        if (!m_freeIncoming)
        {
            m_freeIncoming = m_allIncoming.emplace_back(std::make_unique<Incoming>()).get();
        }
        stream = std::exchange(m_freeIncoming, m_freeIncoming->next);
        stream->key = key;
    }
    return *stream;
}

bool
FarStreams::AddReceive(const FarStreamKey& key,
                       uint64_t bytes,
                       MessageHandler handler,
                       void* arg,
                       Incoming*& hint)
{
    Incoming& stream = hint ? *hint : FindIncoming(key);
    hint = &stream;
    if (stream.receives.empty() && stream.bytes >= bytes)
    {
        stream.bytes -= bytes;
        m_sentPs = stream.sentPs;
        return true;
    }
    stream.receives.push_back({bytes, handler, arg});
    return false;
}

bool
FarStreams::Arrive(const FarStreamKey& key, const Arrival& arrival)
{
    Incoming& stream = FindIncoming(key);
    if (arrival.parts > 1 && !stream.CompletePart(arrival))
    {
        return false;
    }
    if (arrival.number != stream.expected)
    {
        stream.early.push_back({arrival.number, arrival.bytes, arrival.sentPs});
        return true;
    }
    stream.Add(arrival.bytes, arrival.sentPs);
    stream.AddEarly();
    Complete(stream);
    return true;
}

void
FarStreams::ArriveInOrder(const FarStreamKey& key, uint64_t bytes, TimePs sentPs)
{
    Incoming& stream = FindIncoming(key);
    stream.Add(bytes, sentPs);
    Complete(stream);
}

void
FarStreams::Complete(Incoming& stream)
{
    // Handlers may receive more, or end the stream; what is complete now is taken out first.
    boost::container::small_vector<Incoming::Receive, 4> complete;
    auto first = stream.receives.begin();
    for (; first != stream.receives.end() && stream.bytes >= first->bytes; ++first)
    {
        stream.bytes -= first->bytes;
        complete.push_back(*first);
    }
    stream.receives.erase(stream.receives.begin(), first);
    const TimePs sentPs = stream.sentPs;
    for (const auto& [bytes, handler, arg] : complete)
    {
        m_sentPs = sentPs;
        if (handler)
        {
            handler(arg);
        }
    }
}

void
FarStreams::End(Outgoing& stream)
{
    FarStreamKey credits = stream.key;
    credits.isCredit = true;
    std::swap(credits.src, credits.dst);
    if (const auto found = m_incoming.find(credits); found != m_incoming.end())
    {
        End(*found->second);
    }
    m_outgoing.erase(stream.key);
    m_outgoingPool.GiveBack(&stream);
}

void
FarStreams::End(Incoming& stream)
{
    m_incoming.erase(stream.key);
    stream = Incoming();
    stream.next = std::exchange(m_freeIncoming, &stream);
}

std::vector<std::string>
FarStreams::DescribeWaits(std::size_t limit) const
{
    std::vector<const Incoming*> waiting;
    for (const auto& [key, stream] : m_incoming)
    {
        if (!stream->receives.empty() && !key.isCredit)
        {
            waiting.push_back(stream);
        }
    }
    std::ranges::sort(waiting, [](const Incoming* a, const Incoming* b) {
        const auto order = [](const FarStreamKey& key) {
            return std::tie(key.dst, key.src, key.collective, key.tag);
        };
        return order(a->key) < order(b->key);
    });
    std::vector<std::string> lines;
    for (const Incoming* stream : waiting)
    {
        if (lines.size() == limit)
        {
            break;
        }
        lines.push_back(fmt::format("rank {} waits for {} bytes from rank {}",
                                    stream->key.dst,
                                    stream->receives.front().bytes - stream->bytes,
                                    stream->key.src));
    }
    return lines;
}

} // namespace AstraSim
