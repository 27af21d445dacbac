/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_AGREEMENT_H
#define RANK_AGREEMENT_H

#include "rank-communicator.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Why no rank goes on.
struct Refusal
{
    std::string text; ///< for people: the rank, if not all have the same reason, and the cause
    int exitStatus;
};

/**
 * Do something on every rank that may fail on some, before their messages begin.
 * @param step throws on failure
 * @return the error of the first rank that failed; the same on all ranks
 */
std::optional<Refusal> Agree(const RankCommunicator& ranks, const std::function<void()>& step);

/**
 * Compare the inputs of all ranks.
 * @param facts name and value of each
 * @return how the first rank that has something else than rank 0 differs; the same on all ranks
 */
std::optional<Refusal> FindMismatch(const RankCommunicator& ranks,
                                    const std::vector<std::pair<std::string, std::string>>& facts);

/// @return the name of this host
std::string HostName();

} // namespace AstraSim

#endif /* RANK_AGREEMENT_H */
