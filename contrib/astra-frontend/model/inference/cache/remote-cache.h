/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REMOTE_CACHE_H
#define REMOTE_CACHE_H

#include "astra-frontend/model/inference/input/serving-config.h"
#include "cache-load.h"
#include "cache-tier.h"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace AstraSim
{

class Sys;

/**
 * @ingroup astra-frontend
 * @brief A pool of blocks in the memory of other servers, which all instances write to and read
 * from (Mooncake's store, LMCache's remote back end).
 *
 * Ranks that serve nothing hold it. Their NICs carry the blocks as messages: a block's content
 * chooses its holder, and neighbouring ranks of an instance have neighbouring holders, so that all
 * NICs are used. A read waits for a latency (the look-up in the store), and then each holder sends
 * what it has, a group of layers in each message. A block can be read when all ranks have written
 * their parts; those that keep copies of the same heads write none.
 */
class RemoteCache
{
  public:
    /// @param config borrowed @param sys the system layer of a rank of the job @param position
    /// layer of the workload that messages belong to
    RemoteCache(const ServingConfig& config,
                std::function<Sys&(uint32_t jobRank)> sys,
                uint32_t position);

    const CacheTier& GetTier() const
    {
        return m_tier;
    }

    /// @return whether the block can be read
    bool Has(uint64_t content, TimePs now) const
    {
        return m_tier.Has(content, now);
    }

    /// Read blocks that are here. @param load is told of messages @return bytes
    uint64_t Read(const std::shared_ptr<CacheLoad>& load,
                  std::span<const CacheRank> ranks,
                  std::span<const uint64_t> contents);

    /// Write those that are not here. @return blocks and bytes
    std::pair<uint64_t, uint64_t> Write(std::span<const CacheRank> ranks,
                                        std::span<const uint64_t> contents);

    /// Call @p idle as soon as nothing is under way.
    void WhenIdle(std::function<void()> idle);

  private:
    /// Messages that write some blocks.
    struct Writing
    {
        std::vector<uint64_t> contents;
        uint32_t messages{0};
    };

    /// Something that waits for time to pass.
    struct Delayed
    {
        RemoteCache* cache;
        std::function<void()> act;
        std::list<Delayed>::iterator place;
    };

    /// @return blocks by the holder of the part of a shard
    std::map<uint32_t, uint64_t> CountByHolder(std::span<const uint64_t> contents,
                                               uint32_t shard) const;
    void Send(uint32_t from, uint32_t to, uint64_t bytes, std::function<void(TimePs now)> arrived);
    void After(TimePs delay, std::function<void()> act);
    static void Passed(void* delayed);

    const ServingConfig& m_config;
    const RemoteCacheConfig& m_remote;
    std::function<Sys&(uint32_t)> m_sys;
    uint32_t m_position;
    uint64_t m_layerBytes;
    CacheTier m_tier;
    std::list<Delayed> m_delayed;
    uint32_t m_nextTag{0};
    uint64_t m_underWay{0}; ///< messages
    std::function<void()> m_idle;
};

} // namespace AstraSim

#endif /* REMOTE_CACHE_H */
