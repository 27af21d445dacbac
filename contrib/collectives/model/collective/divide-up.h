/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DIVIDE_UP_H
#define DIVIDE_UP_H

#include <cstdint>
#include <utility>

namespace AstraSim
{

/// NCCL cuts buffers at multiples of so many bytes (src/enqueue.cc, src/device).
inline constexpr uint64_t NCCL_ALIGNMENT = 16;

/// @return how many parts of @p part hold @p whole; @p part is not 0
constexpr uint64_t
DivideUp(uint64_t whole, uint64_t part)
{
    return (whole + part - 1) / part;
}

/// @return the first multiple of @p unit that is not below @p value
constexpr uint64_t
RoundUp(uint64_t value, uint64_t unit)
{
    return DivideUp(value, unit) * unit;
}

/**
 * A buffer of one block for each rank. Blocks are equal to a byte; the first ones have the byte
 * that the others lack.
 * @return first byte and bytes of block @p block
 */
constexpr std::pair<uint64_t, uint64_t>
BlockRange(uint64_t bytes, uint64_t blocks, uint64_t block)
{
    const uint64_t least = bytes / blocks;
    const uint64_t left = bytes % blocks;
    return {block * least + (block < left ? block : left), least + (block < left ? 1 : 0)};
}

} // namespace AstraSim

#endif /* DIVIDE_UP_H */
