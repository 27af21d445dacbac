/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_SYMMETRY_H
#define RANK_SYMMETRY_H

#include "astra-frontend/model/network/topology-shapes.h"
#include "astra-frontend/model/workload/layer-workload.h"
#include "collectives/model/gpu/machine-model.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * Find ranks of which each stands exactly for all others of its pipeline stage.
 *
 * That is so if, in every stage, the groups of each kind lie on the servers alike, and the messages
 * to the next stage either all stay within servers or all leave them: then every rank of a stage
 * does the same at the same time, where the time of a collective depends on its group's shape only.
 *
 * @param workload placed on ranks 0 to its number of ranks
 * @param shapes of the topology whose links the groups take; null: the machine's numbers say all
 * @return the first rank of every stage; none if ranks differ
 */
std::vector<uint32_t> FindRepresentatives(const LayerWorkload& workload,
                                          uint32_t ranks,
                                          const MachineModel& machine,
                                          const TopologyShapes* shapes = nullptr);

} // namespace AstraSim

#endif /* RANK_SYMMETRY_H */
