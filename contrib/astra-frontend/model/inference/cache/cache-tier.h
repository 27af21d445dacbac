/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CACHE_TIER_H
#define CACHE_TIER_H

#include "ns3/rank-network.h"

#include <cassert>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Blocks of caches in a memory other than the GPU's, by their content.
 *
 * The least recently used block goes first. A block that is being written takes its place at once,
 * and can be read when all of it is there.
 */
class CacheTier
{
  public:
    explicit CacheTier(uint64_t blocks)
        : m_capacity(blocks)
    {
        assert(blocks > 0);
    }

    /// @return whether the block of @p content can be read
    bool Has(uint64_t content, TimePs now) const
    {
        const auto found = m_blocks.find(content);
        return found != m_blocks.end() && found->second.readyAt <= now;
    }

    /// Make the block of @p content, which is here, the most recently used one.
    void Use(uint64_t content)
    {
        m_order.splice(m_order.end(), m_order, m_blocks.at(content).place);
    }

    /// Take blocks, one after the other: each becomes the most recently used one.
    /// @return those that were not here, and are to be written
    std::vector<uint64_t> Admit(std::span<const uint64_t> contents)
    {
        std::vector<uint64_t> missing;
        for (const uint64_t content : contents)
        {
            if (m_blocks.contains(content))
            {
                Use(content);
                continue;
            }
            if (m_blocks.size() == m_capacity)
            {
                m_blocks.erase(m_order.front());
                m_order.pop_front();
                ++m_evicted;
            }
            m_blocks[content] = {INT64_MAX, m_order.insert(m_order.end(), content)};
            missing.push_back(content);
        }
        return missing;
    }

    /// Blocks can be read from @p readyAt on, if they have not been evicted since Admit().
    void Complete(std::span<const uint64_t> contents, TimePs readyAt)
    {
        for (const uint64_t content : contents)
        {
            const auto found = m_blocks.find(content);
            if (found != m_blocks.end())
            {
                found->second.readyAt = readyAt;
            }
        }
    }

    uint64_t GetCapacity() const
    {
        return m_capacity;
    }

    uint64_t GetUsed() const
    {
        return m_blocks.size();
    }

    uint64_t GetEvicted() const
    {
        return m_evicted;
    }

  private:
    struct Block
    {
        TimePs readyAt;
        std::list<uint64_t>::iterator place;
    };

    uint64_t m_capacity;
    uint64_t m_evicted{0};
    std::unordered_map<uint64_t, Block> m_blocks; ///< by content
    std::list<uint64_t> m_order;                  ///< contents, the least recently used one first
};

} // namespace AstraSim

#endif /* CACHE_TIER_H */
