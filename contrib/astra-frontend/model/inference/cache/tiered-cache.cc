/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tiered-cache.h"

#include "cache-layout.h"

#include <algorithm>

namespace AstraSim
{

TieredCache::TieredCache(const ServingConfig& config,
                         std::vector<CacheRank> ranks,
                         RemoteCache* remote)
    : m_config(config),
      m_pool(*config.FindPrompting()),
      m_ranks(std::move(ranks)),
      m_layerBytes(HeadsPerRank(config.kvHeads, m_pool.tp) * config.kvBytes * m_pool.blockTokens),
      m_remote(remote)
{
    for (const CacheRank& rank : m_ranks)
    {
        m_stageLayers = std::max(m_stageLayers, rank.endLayer - rank.firstLayer);
    }
    for (const auto& [tier, local] :
         {std::pair(Tier::Host, &m_pool.hostCache), std::pair(Tier::Nvme, &m_pool.nvmeCache)})
    {
        if (local->blocks > 0)
        {
            m_locals.push_back({tier, *local, CacheTier(local->blocks)});
        }
    }
}

uint64_t
TieredCache::ContentOf(const Sequence& sequence, uint64_t block) const
{
    return *sequence.request->ContentOf(block, m_pool.blockTokens);
}

uint64_t
TieredCache::BytesOf(uint64_t blocks) const
{
    uint64_t bytes = 0;
    for (const CacheRank& rank : m_ranks)
    {
        bytes += blocks * m_layerBytes * (rank.endLayer - rank.firstLayer);
    }
    return bytes;
}

double
TieredCache::LayerTime(const Local& local, uint64_t blocks) const
{
    constexpr double PS_PER_BYTE = 1e3; // at 1 GB/s
    return static_cast<double>(blocks * m_layerBytes) * PS_PER_BYTE / local.config.gbps;
}

const CacheTier*
TieredCache::GetTier(Tier tier) const
{
    const auto found = std::ranges::find(m_locals, tier, &Local::tier);
    return found == m_locals.end() ? nullptr : &found->blocks;
}

std::optional<Tier>
TieredCache::Find(uint64_t content, TimePs now) const
{
    for (const Local& local : m_locals)
    {
        if (local.blocks.Has(content, now))
        {
            return local.tier;
        }
    }
    return m_remote && m_remote->Has(content, now) ? std::optional(Tier::Remote) : std::nullopt;
}

uint64_t
TieredCache::Count(const Sequence& sequence, uint64_t first, uint64_t end, TimePs now) const
{
    uint64_t block = first;
    while (block < end)
    {
        const auto content = sequence.request->ContentOf(block, m_pool.blockTokens);
        if (!content || !Find(*content, now))
        {
            break;
        }
        ++block;
    }
    return block - std::min(first, block);
}

std::shared_ptr<CacheLoad>
TieredCache::Load(Sequence& sequence, uint64_t first, uint64_t count, uint64_t asked, TimePs now)
{
    m_asked += asked;
    m_gpuHits += first;
    if (count == 0)
    {
        return nullptr;
    }
    std::array<uint64_t, TIERS> blocks{};
    std::vector<uint64_t> remote;
    for (uint64_t block = first; block < first + count; ++block)
    {
        const uint64_t content = ContentOf(sequence, block);
        const Tier tier = *Find(content, now);
        ++blocks[static_cast<std::size_t>(tier)];
        if (tier == Tier::Remote)
        {
            remote.push_back(content);
        }
        for (Local& local : m_locals)
        {
            if (local.tier == tier)
            {
                local.blocks.Use(content);
            }
        }
    }
    auto load = std::make_shared<CacheLoad>(m_ranks, m_config.layers);
    for (Local& local : m_locals)
    {
        const uint64_t own = blocks[static_cast<std::size_t>(local.tier)];
        if (own > 0)
        {
            const TimePs begin = std::max(now, local.readsUntil);
            const double layer = LayerTime(local, own);
            local.readsUntil = ns3::AddPs(begin, ns3::RoundToPs(layer * m_stageLayers));
            load->AddLink(ns3::AddPs(begin, local.config.latency), layer);
            m_totals[static_cast<std::size_t>(local.tier)].readBytes += BytesOf(own);
        }
    }
    if (!remote.empty())
    {
        m_totals[static_cast<std::size_t>(Tier::Remote)].readBytes +=
            m_remote->Read(load, m_ranks, remote);
    }
    for (std::size_t tier = 0; tier < TIERS; ++tier)
    {
        m_totals[tier].hits += blocks[tier];
        if (sequence.scheduled < 0)
        {
            sequence.tierTokens[tier] = static_cast<uint32_t>(blocks[tier] * m_pool.blockTokens);
        }
    }
    return load;
}

void
TieredCache::Write(const std::vector<uint64_t>& contents, TimePs now)
{
    for (Local& local : m_locals)
    {
        const std::vector<uint64_t> missing = local.blocks.Admit(contents);
        const TimePs begin = std::max(now, local.writesUntil);
        const double time = LayerTime(local, missing.size()) * m_stageLayers;
        local.writesUntil = ns3::AddPs(begin, ns3::RoundToPs(time));
        local.blocks.Complete(missing, ns3::AddPs(local.writesUntil, local.config.latency));
        TierTotals& totals = m_totals[static_cast<std::size_t>(local.tier)];
        totals.written += missing.size();
        totals.writtenBytes += BytesOf(missing.size());
    }
    if (m_remote)
    {
        TierTotals& totals = m_totals[static_cast<std::size_t>(Tier::Remote)];
        const auto [blocks, bytes] = m_remote->Write(m_ranks, contents);
        totals.written += blocks;
        totals.writtenBytes += bytes;
    }
}

} // namespace AstraSim
