/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CACHE_RESULTS_H
#define CACHE_RESULTS_H

#include "astra-frontend/model/system/run-observer.h"
#include "tiered-cache.h"

#include <cstdint>
#include <string>

namespace AstraSim
{

/// Where the blocks of prompts were, of all replicas together.
struct CacheHits
{
    uint64_t asked{0};
    uint64_t gpu{0};
    std::array<uint64_t, TIERS> tiers{};

    void Add(const TieredCache& cache);

    /// @return "host 12.3%, ..." for people; the tiers that exist
    std::string Describe(const ServingConfig& config) const;
};

/// Writes caches.csv: for each replica a row for each of its memories and one for the blocks that
/// none of them had; then a row for the remote pool.
class CacheTable
{
  public:
    explicit CacheTable(RunObserver& observer);

    void Add(uint32_t instance,
             uint32_t replica,
             const InstancePool& pool,
             const TieredCache& cache);
    void Add(const RemoteCache& remote);

  private:
    RunObserver& m_observer;
};

/// @return the columns of caches.csv, as Columns::ToCsv() has them
std::string DescribeCacheColumns();

} // namespace AstraSim

#endif /* CACHE_RESULTS_H */
