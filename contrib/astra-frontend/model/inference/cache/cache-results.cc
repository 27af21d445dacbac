/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cache-results.h"

#include "ns3/columns.h"

#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace AstraSim
{

namespace
{

constexpr std::array<const char*, TIERS> TIER_NAMES = {"host", "nvme", "remote"};

struct CacheRow
{
    std::optional<uint32_t> instance{};
    std::optional<uint32_t> replica{};
    const char* memory{};
    std::optional<uint64_t> blocks{};
    std::optional<uint64_t> used{};
    std::optional<uint64_t> hits{};
    std::optional<uint64_t> readBytes{};
    std::optional<uint64_t> written{};
    std::optional<uint64_t> writtenBytes{};
    std::optional<uint64_t> evicted{};
};

const ns3::Columns<CacheRow>&
CacheColumns()
{
    using Of = const CacheRow&;
    static const ns3::Columns<CacheRow> columns{
        {"instance",
         "that asked for blocks; empty: the pool that all share",
         [](Of each) { return each.instance; }},
        {"replica", "of the instance", [](Of each) { return each.replica; }},
        {"memory",
         "``gpu``, ``host``, ``nvme`` or ``remote``; ``none``: blocks that were computed",
         [](Of each) { return std::string(each.memory); }},
        {"blocks", "its capacity; empty: no limit", [](Of each) { return each.blocks; }},
        {"used_blocks", "blocks that it has at the end", [](Of each) { return each.used; }},
        {"hit_blocks",
         "blocks of prompts that were read from it. The rows of a replica add up to the whole "
         "blocks of its prompts, but for a last one that ends with the prompt",
         [](Of each) { return each.hits; }},
        {"read_bytes", "of these, on all ranks", [](Of each) { return each.readBytes; }},
        {"written_blocks", "blocks that GPUs wrote to it", [](Of each) { return each.written; }},
        {"written_bytes", "of these, from all ranks", [](Of each) { return each.writtenBytes; }},
        {"evicted_blocks",
         "blocks that made room for others",
         [](Of each) { return each.evicted; }},
    };
    return columns;
}

uint64_t
Sum(const std::array<uint64_t, TIERS>& each)
{
    return std::accumulate(each.begin(), each.end(), uint64_t{0});
}

} // namespace

void
CacheHits::Add(const TieredCache& cache)
{
    asked += cache.GetAsked();
    gpu += cache.GetGpuHits();
    for (std::size_t tier = 0; tier < TIERS; ++tier)
    {
        tiers[tier] += cache.GetTotals(static_cast<Tier>(tier)).hits;
    }
}

std::string
CacheHits::Describe(const ServingConfig& config) const
{
    const InstancePool& pool = *config.FindPrompting();
    const std::array<bool, TIERS> has = {pool.hostCache.blocks > 0,
                                         pool.nvmeCache.blocks > 0,
                                         !config.remoteCache.ranks.empty()};
    const auto share = [this](uint64_t blocks) {
        return asked > 0 ? 100 * static_cast<double>(blocks) / static_cast<double>(asked) : 0;
    };
    std::string text = fmt::format("blocks of prompts came from: GPU {:.1f}%", share(gpu));
    for (std::size_t tier = 0; tier < TIERS; ++tier)
    {
        text += has[tier] ? fmt::format(", {} {:.1f}%", TIER_NAMES[tier], share(tiers[tier])) : "";
    }
    return text + fmt::format("; computed {:.1f}%\n", share(asked - gpu - Sum(tiers)));
}

CacheTable::CacheTable(RunObserver& observer)
    : m_observer(observer)
{
    observer.WorkloadResult("caches", CacheColumns().GetHeader());
}

void
CacheTable::Add(uint32_t instance,
                uint32_t replica,
                const InstancePool& pool,
                const TieredCache& cache)
{
    const auto write = [this](const CacheRow& row) {
        m_observer.WorkloadResult("caches", CacheColumns().RowOf(row));
    };
    const bool isLimited = pool.blocks != UINT32_MAX;
    CacheHits hits;
    hits.Add(cache);
    write({.instance = instance,
           .replica = replica,
           .memory = "gpu",
           .blocks = isLimited ? std::optional(pool.blocks) : std::nullopt,
           .hits = hits.gpu});
    for (std::size_t i = 0; i < TIERS; ++i)
    {
        const auto tier = static_cast<Tier>(i);
        if (!cache.HasTier(tier))
        {
            continue;
        }
        const TierTotals& totals = cache.GetTotals(tier);
        CacheRow row{.instance = instance,
                     .replica = replica,
                     .memory = TIER_NAMES[i],
                     .hits = totals.hits,
                     .readBytes = totals.readBytes,
                     .written = totals.written,
                     .writtenBytes = totals.writtenBytes};
        if (const CacheTier* own = cache.GetTier(tier))
        {
            row.blocks = own->GetCapacity();
            row.used = own->GetUsed();
            row.evicted = own->GetEvicted();
        }
        write(row);
    }
    write({.instance = instance,
           .replica = replica,
           .memory = "none",
           .hits = hits.asked - hits.gpu - Sum(hits.tiers)});
}

void
CacheTable::Add(const RemoteCache& remote)
{
    const CacheTier& tier = remote.GetTier();
    m_observer.WorkloadResult("caches",
                              CacheColumns().RowOf({.memory = "remote",
                                                    .blocks = tier.GetCapacity(),
                                                    .used = tier.GetUsed(),
                                                    .evicted = tier.GetEvicted()}));
}

std::string
DescribeCacheColumns()
{
    return CacheColumns().ToCsv();
}

} // namespace AstraSim
