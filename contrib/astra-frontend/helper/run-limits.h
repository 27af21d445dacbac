/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_LIMITS_H
#define RUN_LIMITS_H

#include "ns3/rank-network.h"

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace AstraSim
{

/// What a run may take; nothing: any amount. A run that takes more stops in an orderly way.
struct RunLimits
{
    std::optional<double> seconds;       ///< of wall time, --max-time
    std::optional<uint64_t> memoryBytes; ///< resident, --max-memory
    std::optional<TimePs> simulated;     ///< of simulated time, --max-sim-time
};

/// The limits as flags give them.
struct LimitFlags
{
    std::string time;
    std::string memory;
    std::string simulated;

    /// Add --max-time, --max-memory and --max-sim-time. The object outlives the description.
    void AddTo(boost::program_options::options_description& description);

    /// @return the limits @throw ns3::InputError naming the flag that is wrong
    RunLimits Read() const;
};

} // namespace AstraSim

#endif /* RUN_LIMITS_H */
