/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAIR_BYTES_H
#define PAIR_BYTES_H

#include "ns3/collective-types.h"

#include <cstdint>

namespace AstraSim
{

/// @return whether NCCL carries @p op out as sends and receives between pairs of ranks
bool IsPairwise(CollectiveOp op);

/**
 * @return bytes that one rank sends to another in a pairwise collective
 * @param ranks of the group
 * @param src index of the sender in the group
 * @param dst index of the receiver in the group
 */
uint64_t PairBytes(const CollectiveRequest& request, uint32_t ranks, uint32_t src, uint32_t dst);

} // namespace AstraSim

#endif /* PAIR_BYTES_H */
