/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAIR_BYTES_H
#define PAIR_BYTES_H

#include "collectives/model/gpu/machine-model.h"

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

/// @return bytes of the pair that has most, a rank's own share counted
uint64_t MostPairBytes(const CollectiveRequest& request, uint32_t ranks);

/**
 * @return the channel of the connection between a pair, which chooses among a GPU's NIC ports
 *
 * It goes by the distance in ranks and in nodes, so that a rank's sends and its receives spread
 * over the channels, within a rail too. (The receiver alone would bring all that it receives to one
 * port.)
 */
uint32_t PairChannel(const GroupShape& shape, uint32_t from, uint32_t to);

} // namespace AstraSim

#endif /* PAIR_BYTES_H */
