/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_CHOICE_H
#define COLLECTIVE_CHOICE_H

#include "rank-network.h"

#include <cstdint>
#include <string>

namespace AstraSim
{

/// Choices for a collective; they become columns of collectives.csv.
struct CollectiveChoice
{
    std::string algorithm; ///< "Ring", "Tree", "NVLS", ... or a native's name
    std::string protocol;  ///< "LL", "LL128", "Simple", or "-"
    uint32_t channels{1};
    uint64_t flows{0};   ///< flows of the whole group
    TimePs predicted{0}; ///< the cost model's own estimate; 0 where there is none
    TimePs hidden{0};    ///< part of its time, at its end, that no rank waits for
    std::string by{};    ///< the row of a tuner's table that chose; empty: the cost model, or rules
};

} // namespace AstraSim

#endif /* COLLECTIVE_CHOICE_H */
