/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "private-links.h"

#include "astra-frontend/model/system/sys.h"
#include "collectives/model/collective/traffic-purpose.h"
#include "serving-instance.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr uint64_t MOST_PAIRS = 200'000; ///< of ranks; a path takes some microseconds

/// @return pairs of ranks that send to each other
uint64_t
CountPairs(const ServingConfig& config)
{
    uint64_t pairs = 0;
    for (const InstancePool& pool : config.pools)
    {
        const uint64_t stage = uint64_t{pool.tp} * pool.dp;
        pairs += pool.ranks.size() * (stage + 2 * config.remoteCache.ranks.size());
    }
    if (config.IsDisaggregated())
    {
        pairs += config.Find(InstanceRole::Prefill)->ranks.size() *
                 config.Find(InstanceRole::Decode)->ranks.size();
    }
    return pairs;
}

} // namespace

PrivateLinks::PrivateLinks(const ServingConfig& config,
                           const std::vector<std::unique_ptr<ServingInstance>>& instances,
                           SysOf sysOf)
    : m_sysOf(std::move(sysOf))
{
    m_isKnown = CountPairs(config) <= MOST_PAIRS;
    for (const auto& instance : instances)
    {
        ClaimGroups(*instance);
        ClaimPipelines(*instance);
        ClaimPool(config, *instance);
        for (const auto& other : instances)
        {
            if (instance->GetPool().role == InstanceRole::Prefill &&
                other->GetPool().role == InstanceRole::Decode)
            {
                ClaimCaches(*instance, *other);
            }
        }
    }
}

bool
PrivateLinks::Belong(std::span<const uint32_t> links, uint32_t instance, uint32_t stage) const
{
    const uint32_t owner = OwnerOf(instance, stage);
    return m_isKnown && std::ranges::all_of(links, [this, owner](uint32_t link) {
               return link < m_owners.size() && m_owners[link] == owner;
           });
}

void
PrivateLinks::Claim(uint32_t from, uint32_t to, uint32_t channel, uint32_t owner)
{
    if (from == to || !m_isKnown)
    {
        return;
    }
    const auto links = m_sysOf(from).get_network().FindLinks(m_sysOf(to).get_rank(), channel);
    m_isKnown = links.has_value();
    for (const uint32_t link : links.value_or(std::vector<uint32_t>()))
    {
        m_owners.resize(std::max<std::size_t>(m_owners.size(), link + 1), NOBODY);
        const uint32_t before = std::exchange(m_owners[link], owner);
        if (before != owner && before != NOBODY)
        {
            m_meeting.insert({before, owner});
            m_owners[link] = SEVERAL;
        }
    }
}

void
PrivateLinks::ClaimGroups(const ServingInstance& instance)
{
    const uint32_t perStage = instance.CountPlacesPerStage();
    for (uint32_t place = 0; place < instance.CountRanks(); ++place)
    {
        const uint32_t stage = instance.StageAt(place);
        for (uint32_t other = stage * perStage; other < (stage + 1) * perStage; ++other)
        {
            Claim(instance.JobRankAt(place),
                  instance.JobRankAt(other),
                  0,
                  OwnerOf(instance.GetNumber(), stage));
        }
    }
}

void
PrivateLinks::ClaimPipelines(const ServingInstance& instance)
{
    const uint32_t perStage = instance.CountPlacesPerStage();
    for (uint32_t place = perStage; place < instance.CountRanks(); ++place)
    {
        Claim(instance.JobRankAt(place - perStage), instance.JobRankAt(place), 0, SEVERAL);
    }
}

void
PrivateLinks::ClaimPool(const ServingConfig& config, const ServingInstance& instance)
{
    for (uint32_t place = 0; place < instance.CountRanks(); ++place)
    {
        for (const uint32_t holder : config.remoteCache.ranks)
        {
            Claim(instance.JobRankAt(place), holder, KV_CACHE_PURPOSE, SEVERAL);
            Claim(holder, instance.JobRankAt(place), KV_CACHE_PURPOSE, SEVERAL);
        }
        for (const uint32_t store : config.weightsStore)
        {
            Claim(store, instance.JobRankAt(place), 0, SEVERAL);
        }
    }
}

void
PrivateLinks::ClaimCaches(const ServingInstance& from, const ServingInstance& to)
{
    for (uint32_t source = 0; source < from.CountRanks(); ++source)
    {
        for (uint32_t target = 0; target < to.CountRanks(); ++target)
        {
            Claim(from.JobRankAt(source), to.JobRankAt(target), KV_CACHE_PURPOSE, SEVERAL);
        }
    }
}

} // namespace AstraSim
