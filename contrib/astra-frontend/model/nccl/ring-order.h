/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RING_ORDER_H
#define RING_ORDER_H

#include "machine-model.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * The order in which a channel's ring visits the ranks of a group.
 *
 * Nodes come in the group's order. Channel c enters the first node at its GPU c and leaves by GPU
 * c + 1 after all others, in descending order (NCCL's rings on NVSwitch machines). With @p crossNic
 * every other node is walked the other way round, so that a crossing stays on one rail (NCCL
 * alternates rings for the same reason).
 *
 * @return indices in the group
 */
std::vector<uint32_t> RingOrder(const GroupShape& shape, uint32_t channel, bool crossNic);

} // namespace AstraSim

#endif /* RING_ORDER_H */
