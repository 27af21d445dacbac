/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TIERED_CACHE_H
#define TIERED_CACHE_H

#include "cache-load.h"
#include "cache-tier.h"
#include "remote-cache.h"

#include "ns3/sequence.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace AstraSim
{

/// Memories below the GPU's, the fastest first.
enum class Tier : uint8_t
{
    Host,
    Nvme,
    Remote,
};

constexpr std::size_t TIERS = 3;

/// Sums over a run of one replica and tier, in blocks and bytes of all its ranks.
struct TierTotals
{
    uint64_t hits{0};
    uint64_t readBytes{0};
    uint64_t written{0};
    uint64_t writtenBytes{0};
};

/**
 * @ingroup astra-frontend
 * @brief The blocks of a replica outside its GPUs: in its host's memory, on its host's NVMe drives,
 * and in a remote pool.
 *
 * A block that a GPU has filled is written to all tiers (write-through, as LMCache and SGLang's
 * HiCache do it); each evicts the least recently used one. A prompt begins after the blocks at its
 * beginning that some tier has: each is read from the fastest one. Host and drives have a link of
 * each GPU, for each direction, on which transfers follow one another; a transfer takes a latency
 * and its bytes at the link's rate. Nothing waits for writes.
 */
class TieredCache
{
  public:
    /**
     * @param config borrowed
     * @param ranks of the replica
     * @param remote borrowed; null: there is none
     */
    TieredCache(const ServingConfig& config, std::vector<CacheRank> ranks, RemoteCache* remote);

    /// @return the blocks from the @p first to before the @p end of @p sequence that some tier has,
    /// without a gap
    uint64_t Count(const Sequence& sequence, uint64_t first, uint64_t end, TimePs now) const;

    /**
     * A sequence of @p asked blocks begins, of which GPUs have @p first and tiers the next @p
     * count.
     * @return their transfer; null if there are none
     */
    std::shared_ptr<CacheLoad> Load(Sequence& sequence,
                                    uint64_t first,
                                    uint64_t count,
                                    uint64_t asked,
                                    TimePs now);

    /// A GPU has filled blocks with @p contents.
    void Write(const std::vector<uint64_t>& contents, TimePs now);

    const std::vector<CacheRank>& GetRanks() const
    {
        return m_ranks;
    }

    /// @return the tier of this replica alone; null: there is none
    const CacheTier* GetTier(Tier tier) const;

    bool HasTier(Tier tier) const
    {
        return tier == Tier::Remote ? m_remote != nullptr : GetTier(tier) != nullptr;
    }

    const TierTotals& GetTotals(Tier tier) const
    {
        return m_totals[static_cast<std::size_t>(tier)];
    }

    /// @return blocks that sequences asked for, and those of them that a GPU had
    uint64_t GetAsked() const
    {
        return m_asked;
    }

    uint64_t GetGpuHits() const
    {
        return m_gpuHits;
    }

  private:
    /// A tier on the host, and its link to each GPU.
    struct Local
    {
        Tier tier;
        const LocalTierConfig& config;
        CacheTier blocks;
        TimePs readsUntil{0};
        TimePs writesUntil{0};
    };

    std::optional<Tier> Find(uint64_t content, TimePs now) const;
    uint64_t ContentOf(const Sequence& sequence, uint64_t block) const;
    /// @return time of a layer of @p blocks blocks on a link
    double LayerTime(const Local& local, uint64_t blocks) const;
    uint64_t BytesOf(uint64_t blocks) const;

    const ServingConfig& m_config;
    const InstancePool& m_pool;
    std::vector<CacheRank> m_ranks;
    uint32_t m_stageLayers{0}; ///< of the stage with most
    uint64_t m_layerBytes;     ///< of a block on a rank
    std::vector<Local> m_locals;
    RemoteCache* m_remote;
    std::array<TierTotals, TIERS> m_totals;
    uint64_t m_asked{0};
    uint64_t m_gpuHits{0};
};

} // namespace AstraSim

#endif /* TIERED_CACHE_H */
