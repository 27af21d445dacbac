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

/**
 * @name Between copies of one process
 * Patterns and outcomes as bytes; both sides are the same program, so numbers are as they lie in
 * memory.
 * @{
 */
std::string ToBytes(const PartPattern& pattern);
std::vector<OwnedOperation> PatternFromBytes(const std::string& bytes);
std::string ToBytes(const PartOutcome& outcome);
PartOutcome OutcomeFromBytes(const std::string& bytes);
/** @} */

} // namespace AstraSim

#endif /* PATTERN_BYTES_H */
