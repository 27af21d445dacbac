/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef KV_BLOCK_POOL_H
#define KV_BLOCK_POOL_H

#include "ns3/astra-network-api.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace AstraSim
{

/// The blocks of a replica's cache: how many are free, and how many have been in use for how long.
class KvBlockPool
{
  public:
    explicit KvBlockPool(uint64_t blocks)
        : m_blocks(blocks)
    {
    }

    uint64_t GetFree() const
    {
        return m_blocks - m_used;
    }

    uint64_t GetUsed() const
    {
        return m_used;
    }

    uint64_t GetPeak() const
    {
        return m_peak;
    }

    /// Take @p count blocks, which must be free.
    void Take(uint64_t count, TimePs now)
    {
        assert(count <= GetFree());
        Integrate(now);
        m_used += count;
        m_peak = std::max(m_peak, m_used);
    }

    void GiveBack(uint64_t count, TimePs now)
    {
        assert(count <= m_used);
        Integrate(now);
        m_used -= count;
    }

    /// @return blocks in use, on average over time from 0 to @p now
    double GetMean(TimePs now) const
    {
        const double sum =
            m_blockTime + static_cast<double>(m_used) * static_cast<double>(now - m_since);
        return now > 0 ? sum / static_cast<double>(now) : 0;
    }

  private:
    void Integrate(TimePs now)
    {
        m_blockTime += static_cast<double>(m_used) * static_cast<double>(now - m_since);
        m_since = now;
    }

    uint64_t m_blocks;
    uint64_t m_used{0};
    uint64_t m_peak{0};
    double m_blockTime{0};
    TimePs m_since{0};
};

} // namespace AstraSim

#endif /* KV_BLOCK_POOL_H */
