/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "remote-cache.h"

#include "astra-frontend/model/system/sys.h"
#include "cache-layout.h"
#include "collectives/model/collective/traffic-purpose.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// Tags of the pool's messages; those of caches that move have a higher bit.
constexpr uint32_t REMOTE_TAG = 1U << 28;

/// @return a number in which all bits of @p content count (the finalizer of MurmurHash3)
uint64_t
Mix(uint64_t content)
{
    content = (content ^ (content >> 33)) * 0xff51afd7ed558ccdULL;
    content = (content ^ (content >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return content ^ (content >> 33);
}

uint64_t
LayerBytesOf(const ServingConfig& config)
{
    const InstancePool& pool = *config.FindPrompting();
    return HeadsPerRank(config.kvHeads, pool.tp) * config.kvBytes * pool.blockTokens;
}

} // namespace

RemoteCache::RemoteCache(const ServingConfig& config,
                         std::function<Sys&(uint32_t)> sys,
                         uint32_t position)
    : m_config(config),
      m_remote(config.remoteCache),
      m_sys(std::move(sys)),
      m_position(position),
      m_layerBytes(LayerBytesOf(config)),
      m_tier(m_remote.blocks)
{
}

std::map<uint32_t, uint64_t>
RemoteCache::CountByHolder(std::span<const uint64_t> contents, uint32_t shard) const
{
    std::map<uint32_t, uint64_t> blocks;
    for (const uint64_t content : contents)
    {
        ++blocks[m_remote.ranks[(Mix(content) + shard) % m_remote.ranks.size()]];
    }
    return blocks;
}

uint64_t
RemoteCache::Read(const std::shared_ptr<CacheLoad>& load,
                  std::span<const CacheRank> ranks,
                  std::span<const uint64_t> contents)
{
    for (const uint64_t content : contents)
    {
        m_tier.Use(content);
    }
    uint64_t sum = 0;
    std::vector<std::function<void()>> messages;
    for (const CacheRank& rank : ranks)
    {
        for (const auto& [holder, blocks] : CountByHolder(contents, rank.shard))
        {
            for (uint32_t first = rank.firstLayer; first < rank.endLayer;)
            {
                const uint32_t end = std::min(rank.endLayer, first + m_config.layersPerMessage);
                const uint64_t bytes = blocks * (end - first) * m_layerBytes;
                sum += bytes;
                load->Expect(rank.place, first, end);
                ++m_underWay;
                messages.emplace_back([this, load, rank, holder = holder, first, end, bytes] {
                    Send(holder,
                         rank.jobRank,
                         bytes,
                         [load, place = rank.place, first, end](TimePs) {
                             load->Arrived(place, first, end);
                         });
                });
                first = end;
            }
        }
    }
    // Layer by layer, whoever holds them.
    After(m_remote.latency, [messages = std::move(messages)] {
        for (const auto& send : messages)
        {
            send();
        }
    });
    return sum;
}

std::pair<uint64_t, uint64_t>
RemoteCache::Write(std::span<const CacheRank> ranks, std::span<const uint64_t> contents)
{
    const auto writing = std::make_shared<Writing>();
    writing->contents = m_tier.Admit(contents);
    uint64_t sum = 0;
    for (const CacheRank& rank : ranks)
    {
        if (rank.isCopy)
        {
            continue;
        }
        for (const auto& [holder, blocks] : CountByHolder(writing->contents, rank.shard))
        {
            const uint64_t bytes = blocks * (rank.endLayer - rank.firstLayer) * m_layerBytes;
            sum += bytes;
            ++writing->messages;
            ++m_underWay;
            Send(rank.jobRank, holder, bytes, [this, writing](TimePs now) {
                if (--writing->messages == 0)
                {
                    m_tier.Complete(writing->contents, now);
                }
            });
        }
    }
    return {writing->contents.size(), sum};
}

void
RemoteCache::Send(uint32_t from,
                  uint32_t to,
                  uint64_t bytes,
                  std::function<void(TimePs now)> arrived)
{
    Sys& sender = m_sys(from);
    Sys& receiver = m_sys(to);
    const uint32_t tag = REMOTE_TAG | (m_nextTag++ & (REMOTE_TAG - 1));
    receiver.ReceiveMessage(sender.get_rank(),
                            bytes,
                            tag,
                            [this, &receiver, arrived = std::move(arrived)](TimePs) {
                                arrived(receiver.Now());
                                if (--m_underWay == 0 && m_idle)
                                {
                                    m_idle();
                                }
                            });
    sender.SendMessage(receiver.get_rank(),
                       bytes,
                       tag,
                       {m_position, 0, TrainingPhase::Forward},
                       {},
                       KV_CACHE_PURPOSE);
}

void
RemoteCache::WhenIdle(std::function<void()> idle)
{
    if (m_underWay == 0)
    {
        idle();
        return;
    }
    m_idle = std::move(idle);
}

void
RemoteCache::After(TimePs delay, std::function<void()> act)
{
    if (delay == 0)
    {
        act();
        return;
    }
    Delayed& delayed = m_delayed.emplace_front(Delayed{this, std::move(act), {}});
    delayed.place = m_delayed.begin();
    m_sys(m_remote.ranks.front()).Schedule(delay, &RemoteCache::Passed, &delayed);
}

void
RemoteCache::Passed(void* argument)
{
    auto& delayed = *static_cast<Delayed*>(argument);
    const auto act = std::move(delayed.act);
    delayed.cache->m_delayed.erase(delayed.place);
    act();
}

} // namespace AstraSim
