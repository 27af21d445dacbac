/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "end-bounds.h"

#include <algorithm>
#include <cstddef>

namespace AstraSim
{

EndBounds::EndBounds(const std::vector<StartsAndEnds>& known, std::span<const TimePs> starts)
    : m_earliest(starts.size(), INT64_MIN),
      m_latest(starts.size(), INT64_MIN)
{
    const std::size_t ranks = starts.size();
    for (const auto& [before, ends] : known)
    {
        TimePs later = INT64_MAX;
        for (std::size_t rank = 0; rank < ranks; ++rank)
        {
            later = std::min(later, starts[rank] - before[rank]);
        }
        for (std::size_t rank = 0; rank < ranks; ++rank)
        {
            m_earliest[rank] = std::max(m_earliest[rank], ends[rank] + later);
        }
    }
    for (std::size_t from = 0; from < ranks; ++from)
    {
        for (std::size_t rank = 0; rank < ranks; ++rank)
        {
            TimePs most = INT64_MAX; // bound on the time between their start and end
            for (const auto& [before, ends] : known)
            {
                most = std::min(most, ends[rank] - before[from]);
            }
            m_latest[rank] = std::max(m_latest[rank], starts[from] + most);
        }
    }
}

std::optional<std::vector<TimePs>>
EndBounds::Within(TimePs tolerance) const
{
    std::vector<TimePs> ends;
    for (std::size_t rank = 0; rank < m_latest.size(); ++rank)
    {
        const TimePs apart = m_latest[rank] - m_earliest[rank];
        // Known ends may contradict each other by as much, as they are not exact, either.
        if (apart > 2 * tolerance || apart < -2 * tolerance)
        {
            return std::nullopt;
        }
        ends.push_back(m_earliest[rank] + apart / 2);
    }
    return ends;
}

bool
EndBounds::Contradict(std::span<const TimePs> ends, TimePs tolerance) const
{
    for (std::size_t rank = 0; rank < ends.size(); ++rank)
    {
        if (ends[rank] > m_latest[rank] + tolerance || ends[rank] < m_earliest[rank] - tolerance)
        {
            return true;
        }
    }
    return false;
}

} // namespace AstraSim
