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
/// Equal for patterns of which the same comes, numbers that only records tell left out; its first
/// byte says whether the repetition goes on.
ns3::QbbBytes ToBytes(const PartPattern& pattern, const Repetition& repetition);
OwnedPattern PatternFromBytes(const ns3::QbbBytes& bytes);
ns3::QbbBytes ToBytes(const PartRound& round);
PartRound RoundFromBytes(const ns3::QbbBytes& bytes);
/** @} */

} // namespace AstraSim

#endif /* PATTERN_BYTES_H */
