/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "varying-operations.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

namespace AstraSim
{

void
VaryingOperations::Ended(const void* shape, const std::vector<TimePs>& ends)
{
    m_last[shape].ends = ends;
}

std::vector<TimePs>
VaryingOperations::GapsOf(const void* shape, const std::vector<TimePs>& starts, TimePs near)
{
    Last& last = m_last[shape];
    std::vector<TimePs> gaps;
    for (std::size_t rank = 0; rank < last.ends.size(); ++rank)
    {
        gaps.push_back(starts[rank] - last.ends[rank]);
    }
    const bool follows = std::all_of(gaps.begin(), gaps.end(), [](TimePs gap) { return gap >= 0; });
    const bool same = std::equal(gaps.begin(),
                                 gaps.end(),
                                 last.gaps.begin(),
                                 last.gaps.end(),
                                 [near](TimePs a, TimePs b) { return std::abs(a - b) <= near; });
    last.gaps = gaps;
    return follows && same ? gaps : std::vector<TimePs>();
}

std::vector<TimePs>
VaryingOperations::ExpectGaps(const void* shape,
                              const std::vector<TimePs>& starts,
                              TimePs near) const
{
    const auto found = m_last.find(shape);
    if (found == m_last.end())
    {
        return {};
    }
    const auto& [ends, gaps] = found->second;
    for (std::size_t rank = 0; rank < gaps.size(); ++rank)
    {
        const bool isKnown = starts[rank] != NO_TIME;
        if (isKnown && std::abs(starts[rank] - ends[rank] - gaps[rank]) > near)
        {
            return {};
        }
    }
    return gaps;
}

uint64_t
VaryingOperations::ClassOf(const std::vector<TimePs>& gaps)
{
    constexpr TimePs NANOSECOND = 1000;
    TimePs sum = 0;
    for (const TimePs gap : gaps)
    {
        sum += gap / NANOSECOND;
    }
    const auto mean = gaps.empty() ? 0 : static_cast<uint64_t>(sum) / gaps.size();
    return gaps.empty() ? UINT64_MAX : static_cast<uint64_t>(std::bit_width(mean));
}

} // namespace AstraSim
