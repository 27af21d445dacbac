/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef VARYING_OPERATIONS_H
#define VARYING_OPERATIONS_H

#include "part-pattern.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief How ranks follow up a collective with the next one like it.
 *
 * A rank's gap is the time from its end of a collective to its start of the next one. While each
 * rank keeps its gap, the simulation of one can go on with the next.
 */
class VaryingOperations
{
  public:
    /// All ranks of a collective have ended. @param shape tells its group and what it is
    void Ended(const void* shape, const std::vector<TimePs>& ends);

    /**
     * All ranks have begun the next one like it.
     *
     * @param near by how much a gap may differ from the one before
     * @return the gaps by rank, where they were the same the last time; else nothing
     */
    std::vector<TimePs> GapsOf(const void* shape, const std::vector<TimePs>& starts, TimePs near);

    /**
     * Some of the ranks have begun the next one like it.
     *
     * @param starts by rank; NO_TIME if not yet
     * @return the gaps before the last one, if those that are known are the same; else nothing
     */
    std::vector<TimePs> ExpectGaps(const void* shape,
                                   const std::vector<TimePs>& starts,
                                   TimePs near) const;

    /// @return what tells gaps apart that make a difference: their mean, within a factor of two
    static uint64_t ClassOf(const std::vector<TimePs>& gaps);

  private:
    /// The last collective of a shape.
    struct Last
    {
        std::vector<TimePs> ends;
        std::vector<TimePs> gaps; ///< before it
    };

    boost::unordered_flat_map<const void*, Last> m_last;
};

} // namespace AstraSim

#endif /* VARYING_OPERATIONS_H */
