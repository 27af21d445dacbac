/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef AUTOSCALE_CONFIG_H
#define AUTOSCALE_CONFIG_H

#include "ns3/rank-network.h"

#include <cstdint>

namespace AstraSim
{

/// How the number of a pool's instances follows the load.
struct AutoscaleConfig
{
    enum class Metric : uint8_t
    {
        None,        ///< all instances serve all the time
        Concurrency, ///< requests of an instance
        Queue,       ///< of those, the ones that wait
        KvUse,       ///< share of the cache's blocks in use
    };

    static constexpr TimePs SECOND = 1'000'000'000'000;

    Metric metric{Metric::None};
    double target{0};             ///< of each instance
    uint32_t least{1};            ///< instances that always serve
    TimePs interval{15 * SECOND}; ///< between decisions
    TimePs window{300 * SECOND};  ///< in which no instance may have been wanted before it stops
    TimePs startup{0};            ///< of an instance, besides the transfer of its weights
    uint64_t weightBytes{0};      ///< of each rank, which come from the store; 0: none do

    bool IsGiven() const
    {
        return metric != Metric::None;
    }
};

} // namespace AstraSim

#endif /* AUTOSCALE_CONFIG_H */
