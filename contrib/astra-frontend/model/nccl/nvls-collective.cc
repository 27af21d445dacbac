/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nvls-collective.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// Bytes of a head's share, whole 16-byte units, the last heads taking what is left.
std::pair<uint64_t, uint64_t>
ShareOf(uint64_t bytes, uint32_t ranks, uint32_t head)
{
    constexpr uint64_t ALIGNMENT = 16;
    const uint64_t even = (bytes + ranks - 1) / ranks;
    const uint64_t share = (even + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const uint64_t begin = std::min(bytes, share * head);
    return {begin, std::min(share, bytes - begin)};
}

} // namespace

NvlsCollective::NvlsCollective(const NvlsExecution& execution,
                               uint32_t rank,
                               AstraNetworkAPI& network,
                               int tagBase,
                               const sim_request& info,
                               std::function<void()> done)
    : m_execution(execution),
      m_rank(rank),
      m_network(network),
      m_tagBase(tagBase),
      m_info(info),
      m_done(std::move(done)),
      m_chunkBytes(ChunkSize(execution.bytes,
                             static_cast<uint32_t>(execution.group->ranks.size()),
                             execution.plan.channels))
{
    const auto ranks = static_cast<uint32_t>(execution.group->ranks.size());
    m_heads.reserve(ranks);
    for (uint32_t i = 0; i < ranks; ++i)
    {
        m_heads.push_back({this, i});
        const uint64_t share = ShareBytes(execution.bytes, ranks, i);
        m_left += 2 * ((share + m_chunkBytes - 1) / m_chunkBytes);
    }
}

uint64_t
NvlsCollective::ShareBytes(uint64_t bytes, uint32_t ranks, uint32_t head)
{
    return ShareOf(bytes, ranks, head).second;
}

uint64_t
NvlsCollective::ChunkSize(uint64_t bytes, uint32_t ranks, uint32_t channels)
{
    uint64_t chunk = 131072;
    const uint64_t concurrent = uint64_t{channels} * ranks;
    if (bytes < 64 * concurrent * chunk)
    {
        chunk = 65536;
    }
    if (bytes < 8 * concurrent * chunk)
    {
        chunk = 32768;
    }
    if (bytes < 2 * concurrent * chunk)
    {
        chunk = 16384;
    }
    return chunk * channels;
}

uint64_t
NvlsCollective::ChunkCount(uint64_t bytes, uint32_t ranks, uint32_t channels)
{
    const uint64_t chunk = ChunkSize(bytes, ranks, channels);
    return (ShareBytes(bytes, ranks, 0) + chunk - 1) / chunk;
}

uint64_t
NvlsCollective::ChunkBytes(uint32_t head, uint64_t chunk) const
{
    const auto ranks = static_cast<uint32_t>(m_heads.size());
    const uint64_t share = ShareOf(m_execution.bytes, ranks, head).second;
    const uint64_t begin = chunk * m_chunkBytes;
    return begin < share ? std::min(m_chunkBytes, share - begin) : 0;
}

void
NvlsCollective::Start()
{
    m_network.sim_schedule(
        MakeTimespec(m_execution.startLatency),
        [](void* self) { static_cast<NvlsCollective*>(self)->Begin(); },
        this);
}

void
NvlsCollective::Begin()
{
    if (m_left == 0)
    {
        m_done();
        return;
    }
    for (auto& head : m_heads)
    {
        JoinReduces(head);
        if (head.index != m_rank)
        {
            JoinMulticasts(head);
        }
    }
}

void
NvlsCollective::Issue(InNetworkOp op, Head& head, uint64_t chunk, int tag, MessageHandler handler)
{
    sim_request request = m_info;
    request.srcRank = m_execution.group->ranks[head.index];
    request.dstRank = m_execution.group->ranks[m_rank];
    request.tag = static_cast<uint32_t>(tag);
    request.reqCount = ChunkBytes(head.index, chunk);
    request.channel = head.index;
    // All heads' chunks go through a GPU's links at once and share what its channels can copy.
    request.rateCapBps =
        static_cast<uint64_t>(m_execution.plan.channelGBps * m_execution.plan.channels * 8e9 /
                              static_cast<double>(m_heads.size()));
    m_network.sim_in_network(op,
                             m_execution.group->ranks,
                             m_execution.group->ranks[head.index],
                             request.reqCount,
                             tag,
                             &request,
                             handler,
                             &head);
}

void
NvlsCollective::JoinReduces(Head& head)
{
    while (head.reducesJoined - head.reducesDone < SLOTS &&
           ChunkBytes(head.index, head.reducesJoined) > 0)
    {
        const uint64_t chunk = head.reducesJoined++;
        Issue(InNetworkOp::Reduce,
              head,
              chunk,
              m_tagBase + static_cast<int>(head.index),
              [](void* arg) {
                  auto* at = static_cast<Head*>(arg);
                  at->owner->OnReduced(*at);
              });
    }
}

void
NvlsCollective::JoinMulticasts(Head& head)
{
    // The head multicasts what it has reduced; the others get ready for what will come.
    const uint64_t limit = head.index == m_rank ? head.reducesDone : head.multicastsDone + SLOTS;
    while (head.multicastsJoined < limit && ChunkBytes(head.index, head.multicastsJoined) > 0)
    {
        const uint64_t chunk = head.multicastsJoined++;
        Issue(InNetworkOp::Multicast,
              head,
              chunk,
              m_tagBase + MULTICAST_TAGS + static_cast<int>(head.index),
              [](void* arg) {
                  auto* at = static_cast<Head*>(arg);
                  at->owner->OnMulticast(*at);
              });
    }
}

void
NvlsCollective::OnReduced(Head& head)
{
    ++head.reducesDone;
    --m_left;
    JoinReduces(head);
    if (head.index == m_rank)
    {
        JoinMulticasts(head);
    }
    CheckDone();
}

void
NvlsCollective::OnMulticast(Head& head)
{
    ++head.multicastsDone;
    --m_left;
    JoinMulticasts(head);
    CheckDone();
}

void
NvlsCollective::CheckDone()
{
    if (m_left == 0)
    {
        const auto done = std::move(m_done);
        done(); // may delete this
    }
}

std::string
NvlsCollective::DescribeWait() const
{
    for (const auto& head : m_heads)
    {
        if (head.reducesDone < head.reducesJoined || head.multicastsDone < head.multicastsJoined)
        {
            return "waits for NVLS with head rank " +
                   std::to_string(m_execution.group->ranks[head.index]) + " (" +
                   std::to_string(head.reducesDone) + " chunks reduced, " +
                   std::to_string(head.multicastsDone) + " multicast)";
        }
    }
    return "is done";
}

} // namespace AstraSim
