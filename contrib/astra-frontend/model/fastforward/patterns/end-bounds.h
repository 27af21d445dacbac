/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef END_BOUNDS_H
#define END_BOUNDS_H

#include "part-pattern.h"

#include <optional>
#include <span>
#include <vector>

namespace AstraSim
{

/// When the ranks of a collective began and when they ended, by rank.
struct StartsAndEnds
{
    std::span<const TimePs> starts;
    std::span<const TimePs> ends;
};

/**
 * @ingroup astra-frontend
 * @brief Bounds on the ends of a collective's ranks, derived from known outcomes of the same
 * collective with other starts.
 *
 * A collective that is alone on its links is a timed event graph: each event comes a fixed time
 * after the last event that it waits for. So rank j ends at the maximum over all ranks i of (start
 * of i + T[i, j]), with times T that depend on the collective alone (F. Baccelli, G. Cohen, G.
 * Olsder and J. Quadrat, Synchronization and Linearity, Wiley 1992, chapter 2). Each known outcome
 * k tells of T that
 *
 * - T[i, j] <= end k of j - start k of i. With the least of these, the maximum above is the latest
 *   end of j: the greatest solution of the inequalities, their residuation.
 * - no rank ends earlier if all begin as late or later: if all begin at least d later than in k,
 *   they end at least d later.
 *
 * Where messages share links by more than turns, as with congestion control that reduces rates,
 * that holds nearly or not at all: Contradict() tells.
 */
class EndBounds
{
  public:
    /**
     * @param known outcomes, at least one
     * @param starts by rank
     */
    EndBounds(const std::vector<StartsAndEnds>& known, std::span<const TimePs> starts);

    /// @return the middle between the bounds, if it is off by @p tolerance at most
    std::optional<std::vector<TimePs>> Within(TimePs tolerance) const;

    /// @return whether one of the ends that did come is outside by more than @p tolerance
    bool Contradict(std::span<const TimePs> ends, TimePs tolerance) const;

  private:
    std::vector<TimePs> m_earliest; ///< by rank
    std::vector<TimePs> m_latest;
};

} // namespace AstraSim

#endif /* END_BOUNDS_H */
