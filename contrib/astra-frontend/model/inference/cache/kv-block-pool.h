/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef KV_BLOCK_POOL_H
#define KV_BLOCK_POOL_H

#include "ns3/rank-network.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The blocks of a replica's cache, their users, and their order of reuse.
 *
 * A block of tokens that other requests may also begin with has its content for a name, by which
 * sequences share it. A block without users counts as free, but keeps its content until its memory
 * is needed; the block that has been unused for longest goes first (vLLM's prefix caching).
 *
 * Blocks have no numbers here. The pool counts those in use; the others are free. m_named has each
 * content with its users. A content without users is also in m_idle, in the order of its last use,
 * and its block is one of the free ones. So Take() takes blocks without a content first, and
 * forgets the oldest of m_idle only when fewer blocks are free than m_idle has contents.
 */
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

    /// @return whether a block of @p content is here
    bool Has(uint64_t content) const
    {
        return m_named.contains(content);
    }

    /// @return whether nobody uses the block of @p content, which is here
    bool IsIdle(uint64_t content) const
    {
        return m_named.at(content).users == 0;
    }

    /// Take @p count blocks, which must be free.
    void Take(uint64_t count, TimePs now)
    {
        assert(count <= GetFree());
        Use(count, now);
        while (m_idle.size() > GetFree())
        {
            m_named.erase(m_idle.front());
            m_idle.pop_front();
        }
    }

    void GiveBack(uint64_t count, TimePs now)
    {
        assert(count <= m_used);
        Integrate(now);
        m_used -= count;
    }

    /// Use the block of @p content, which is here.
    void Share(uint64_t content, TimePs now)
    {
        Named& named = m_named.at(content);
        if (named.users++ == 0)
        {
            m_idle.erase(named.idle);
            Use(1, now);
        }
    }

    /// Name a block that its user has filled with @p content. If one of that name exists, the user
    /// shares that one from now on, and its own becomes free.
    void Name(uint64_t content, TimePs now)
    {
        if (Has(content))
        {
            GiveBack(1, now);
            Share(content, now);
            return;
        }
        m_named[content].users = 1;
    }

    /// A user gives up its share of the block of @p content.
    void Leave(uint64_t content, TimePs now)
    {
        Named& named = m_named.at(content);
        assert(named.users > 0);
        if (--named.users == 0)
        {
            GiveBack(1, now);
            named.idle = m_idle.insert(m_idle.end(), content);
        }
    }

    /// The contents of blocks that nobody uses are lost.
    void ForgetIdle()
    {
        for (const uint64_t content : m_idle)
        {
            m_named.erase(content);
        }
        m_idle.clear();
    }

    /// @return blocks in use, on average over time from 0 to @p now
    double GetMean(TimePs now) const
    {
        const double sum =
            m_blockTime + static_cast<double>(m_used) * static_cast<double>(now - m_since);
        return now > 0 ? sum / static_cast<double>(now) : 0;
    }

  private:
    struct Named
    {
        uint64_t users{0};
        std::list<uint64_t>::iterator idle; ///< in m_idle, if it has no users
    };

    void Use(uint64_t count, TimePs now)
    {
        Integrate(now);
        m_used += count;
        m_peak = std::max(m_peak, m_used);
    }

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
    std::unordered_map<uint64_t, Named> m_named; ///< by content
    std::list<uint64_t> m_idle;                  ///< contents, longest unused first
};

} // namespace AstraSim

#endif /* KV_BLOCK_POOL_H */
