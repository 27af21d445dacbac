/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REQUEST_CLASS_H
#define REQUEST_CLASS_H

#include "ns3/rank-network.h"

#include <cstdint>
#include <optional>
#include <string>

namespace AstraSim
{

/// Limits on the times of a good answer; none where they are not given.
struct ServingLimits
{
    std::optional<TimePs> firstToken;
    std::optional<TimePs> perToken;
    std::optional<TimePs> endToEnd;

    bool Any() const
    {
        return firstToken || perToken || endToEnd;
    }
};

/// A class of requests with limits of its own, such as chats, or batches that nobody waits for.
struct RequestClass
{
    std::string name{};
    double share{0};                  ///< of the requests that are drawn, relative to other classes
    std::optional<uint32_t> priority; ///< of its requests, in place of the trace's
    ServingLimits limits;
    uint64_t maxRunning{UINT64_MAX}; ///< requests that instances have at a time
    uint64_t maxQueued{UINT64_MAX};  ///< requests that wait for their first step
    uint64_t tooLong{0};             ///< its requests that fit in no instance
};

/// The requests that a deployment takes on; others are refused or dropped.
struct AdmissionLimits
{
    uint64_t maxQueued{UINT64_MAX};            ///< requests that wait for their first step
    std::optional<TimePs> predictedFirstToken; ///< refused if the prediction is longer
    std::optional<TimePs> wait;                ///< for the first step; dropped after it
};

} // namespace AstraSim

#endif /* REQUEST_CLASS_H */
