/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UNUSED_NETWORK_H
#define UNUSED_NETWORK_H

#include "shared-network.h"

#include <functional>
#include <memory>

namespace AstraSim
{

/// A network on which nothing has happened yet, with a clock of its own.
struct UnusedNetwork
{
    std::shared_ptr<SharedNetwork> ranks;
    /// Simulate until nothing is left. @return false if it was interrupted
    std::function<bool()> run;
    std::function<void()> interrupt; ///< have run() return soon; may be called from any thread
    /// @return the most by which ends up to now may differ from those of packets
    std::function<TimePs()> doubtPs{[] { return TimePs{0}; }};
    std::function<uint64_t()> packetHops{[] { return 0; }}; ///< that packets would have had so far
};

} // namespace AstraSim

#endif /* UNUSED_NETWORK_H */
