/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef KV_CACHE_WORKLOAD_H
#define KV_CACHE_WORKLOAD_H

#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/workload.h"

#include "ns3/rank-network.h"

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/// One inference request, with a key-value cache that moves from a prefill to a decode instance.
struct KvRequest
{
    TimePs arrival{0};
    uint64_t tokens{0}; ///< of the prompt
};

/**
 * @ingroup astra-frontend
 * @brief The content of a KV-cache file.
 *
 * A file of `key value...` lines after the word KV_CACHE:
 *
 * @code
 * KV_CACHE
 * prefill 0-7            # ranks; lists and ranges: 0,2,4-7
 * decode 8-15
 * ranks_per_instance 2   # each holds an equal share of the cache
 * layers 80
 * kv_heads 8
 * head_dim 128
 * bytes_per_element 2
 * prefill_ns_per_token 5000
 * requests 1000          # Poisson arrivals...
 * rate 20                # ...per second
 * prompt_tokens 2048
 * seed 1
 * trace arrivals.txt     # or instead of requests, rate: lines of `seconds tokens`
 * @endcode
 */
struct KvCacheConfig
{
    std::string file;
    std::vector<uint32_t> prefill; ///< ranks of the job
    std::vector<uint32_t> decode;
    uint32_t ranksPerInstance{1};
    uint64_t layers{0};
    uint64_t heads{0};
    uint64_t headDimension{0};
    uint64_t bytesPerElement{2};
    TimePs prefillPerToken{0};
    std::vector<KvRequest> requests; ///< by arrival

    /// @return bytes of keys and values of a prompt
    uint64_t BytesOf(uint64_t tokens) const
    {
        return 2 * layers * heads * headDimension * bytesPerElement * tokens;
    }
};

/// @param path the file @return its contents @throw ns3::InputError
KvCacheConfig ReadKvCacheConfig(const std::string& path);

/// @copydoc ReadKvCacheConfig @param text the file's text @param name its name in errors
KvCacheConfig ReadKvCacheConfig(std::istream& text, const std::string& name);

/// @return the keys, as Rows::ToCsv() has them
std::string DescribeKvCacheKeys();

/// @return the columns of its requests.csv, as Columns::ToCsv() has them
std::string DescribeTransferColumns();

/**
 * @ingroup astra-frontend
 * @brief Transfers of key-value caches between prefill and decode instances.
 *
 * Requests go to the instances in turn; an instance computes one prompt at a time, then sends the
 * cache while it computes the next. Each request and, at the end, percentiles of the transfer times
 * become lines of RunObserver::WorkloadResult().
 */
class KvCacheWorkload : public Workload
{
  public:
    explicit KvCacheWorkload(KvCacheConfig config);
    ~KvCacheWorkload() override;

    void Bind(const std::vector<int>& ranks) override;
    std::unique_ptr<RankWorkload> CreateRank(uint32_t rank, Sys& sys) override;
    uint64_t GetCollectiveCount() const override;

    const KvCacheConfig& GetConfig() const
    {
        return m_config;
    }

    /// @return bytes that each rank of an instance sends for request @p request
    uint64_t ShareOf(uint32_t request) const;

    /// @return the instances of a request: index in the set
    uint32_t PrefillOf(uint32_t request) const;
    uint32_t DecodeOf(uint32_t request) const;

    /// @return the network's rank of the @p share-th rank of an instance
    int PrefillRank(uint32_t instance, uint32_t share) const;
    int DecodeRank(uint32_t instance, uint32_t share) const;

    /// The @p request's prompt is computed on one rank, which sends its share now.
    void Sent(uint32_t request, TimePs now);

    /// One share of @p request has arrived.
    void Arrived(uint32_t request, TimePs now, RunObserver& observer);

  private:
    /// A request's transfer; times of all its shares.
    struct Transfer
    {
        TimePs start{-1};
        TimePs end{0};
        uint32_t arrived{0};
    };

    void Report(uint32_t request, RunObserver& observer);
    void ReportPercentiles(RunObserver& observer) const;

    KvCacheConfig m_config;
    std::vector<int> m_ranks;
    std::vector<Transfer> m_transfers;
    uint32_t m_done{0};
};

} // namespace AstraSim

#endif /* KV_CACHE_WORKLOAD_H */
