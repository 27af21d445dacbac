/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PATTERN_BYTES_H
#define PATTERN_BYTES_H

#include "part-pattern.h"

#include "ns3/qbb-bytes.h"

#include <vector>

namespace AstraSim
{

/// As TimedOperation, with an operation of its own.
struct OwnedOperation
{
    PartOperation operation;
    std::vector<TimePs> starts;
};

/// As PartPattern, with operations of its own.
using OwnedPattern = std::vector<OwnedOperation>;

/**
 * @name Between copies of one process
 * Patterns and outcomes as bytes; both sides are the same program, so numbers are as they lie in
 * memory.
 * @{
 */
/// Equal for patterns with the same outcome: numbers that serve records only are left out.
ns3::QbbBytes ToBytes(const PartPattern& pattern);
OwnedPattern PatternFromBytes(const ns3::QbbBytes& bytes);
ns3::QbbBytes ToBytes(const PartOutcome& outcome);
PartOutcome OutcomeFromBytes(const ns3::QbbBytes& bytes);
/** @} */

} // namespace AstraSim

#endif /* PATTERN_BYTES_H */
