/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_SAMPLE_H
#define RANK_SAMPLE_H

#include "collective-types.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace AstraSim
{

/// The ranks that are simulated, where each stands for all that do the same at the same time.
class RankSample
{
  public:
    /// Every rank is simulated.
    RankSample() = default;

    /// @param ranks of the network; empty: every rank
    explicit RankSample(const std::vector<int>& ranks)
    {
        for (const int rank : ranks)
        {
            m_has.resize(std::max(m_has.size(), static_cast<std::size_t>(rank) + 1), false);
            m_has[static_cast<std::size_t>(rank)] = true;
        }
    }

    /// @return whether the rank is simulated
    bool Has(int rank) const
    {
        const auto index = static_cast<std::size_t>(rank);
        return m_has.empty() || (index < m_has.size() && m_has[index]);
    }

    /// @return how many ranks of a group are simulated
    uint32_t CountIn(const CommGroup& group) const
    {
        if (m_has.empty())
        {
            return static_cast<uint32_t>(group.ranks.size());
        }
        return static_cast<uint32_t>(
            std::ranges::count_if(group.ranks, [this](int rank) { return Has(rank); }));
    }

  private:
    std::vector<bool> m_has; ///< empty: every rank
};

} // namespace AstraSim

#endif /* RANK_SAMPLE_H */
