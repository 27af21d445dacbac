/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PATTERN_BYTES_H
#define PATTERN_BYTES_H

#include "part-pattern.h"

#include <string>
#include <vector>

namespace AstraSim
{

/// As TimedOperation, with an operation of its own.
struct OwnedOperation
{
    PartOperation operation;
    std::vector<TimePs> starts;
};

/// What is to be simulated.
struct OwnedPattern
{
    std::vector<OwnedOperation> operations;
    Repetition repetition;
};

/**
 * @name Between copies of one process
 * Patterns and outcomes as bytes; both sides are the same program, so numbers are as they lie in
 * memory.
 * @{
 */
/// Its first byte says whether the repetition goes on.
std::string ToBytes(const PartPattern& pattern, const Repetition& repetition);
OwnedPattern PatternFromBytes(const std::string& bytes);
std::string ToBytes(const PartRound& round);
PartRound RoundFromBytes(const std::string& bytes);
/** @} */

} // namespace AstraSim

#endif /* PATTERN_BYTES_H */
