/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SEQ_RANGES_H
#define SEQ_RANGES_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A set of byte offsets kept as ranges: the bitmap of selective repeat, run-length coded.
 *
 * Losses are few, so the ranges are few, with frames of any size.
 */
class SeqRanges
{
  public:
    /// Add [begin, end).
    void Add(uint64_t begin, uint64_t end)
    {
        // Ranges that touch or overlap the new one melt into it.
        const auto first = std::ranges::lower_bound(m_ranges, begin, {}, &Range::end);
        auto last = first;
        for (; last != m_ranges.end() && last->begin <= end; ++last)
        {
            begin = std::min(begin, last->begin);
            end = std::max(end, last->end);
        }
        if (first == last)
        {
            m_ranges.insert(first, Range{begin, end});
            return;
        }
        *first = Range{begin, end};
        m_ranges.erase(first + 1, last);
    }

    /// Forget everything below @p offset.
    void TrimBelow(uint64_t offset)
    {
        const auto keep = std::ranges::upper_bound(m_ranges, offset, {}, &Range::end);
        m_ranges.erase(m_ranges.begin(), keep);
        if (!m_ranges.empty())
        {
            m_ranges.front().begin = std::max(m_ranges.front().begin, offset);
        }
    }

    /// @return the first offset at or above @p offset that is not in the set
    [[nodiscard]] uint64_t FirstMissing(uint64_t offset) const
    {
        const auto range = std::ranges::upper_bound(m_ranges, offset, {}, &Range::end);
        return range != m_ranges.end() && range->begin <= offset ? range->end : offset;
    }

    /// @return whether nothing is in the set
    [[nodiscard]] bool IsEmpty() const
    {
        return m_ranges.empty();
    }

    /// @return begin of the lowest range; the set is not empty
    [[nodiscard]] uint64_t LowestBegin() const
    {
        return m_ranges.front().begin;
    }

    /// @return begin of the highest range; the set is not empty
    [[nodiscard]] uint64_t HighestBegin() const
    {
        return m_ranges.back().begin;
    }

  private:
    struct Range
    {
        uint64_t begin;
        uint64_t end;
    };

    std::vector<Range> m_ranges; ///< ascending, neither overlapping nor touching
};

} // namespace ns3

#endif /* SEQ_RANGES_H */
