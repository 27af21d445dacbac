/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMCCL_JOBS_H
#define SIMCCL_JOBS_H

#include "collectives/model/gpu/gpu-table.h"
#include "collectives/model/gpu/machine-model.h"
#include "simulator/options/simccl-options.h"

#include "ns3/cluster-topology.h"
#include "ns3/collective-implementation.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/// A machine, and how many GPUs there are.
struct SimCclCluster
{
    MachineModel machine;
    uint64_t gpus{0};
    std::optional<ns3::ClusterTopology> topology{}; ///< that the machine was read from
};

/// A collective to show.
struct SimCclJob
{
    CommGroup group;
    CollectiveRequest request;
};

/// @return the machine of the topology, or of the flags @throw ns3::InputError for a wrong one
SimCclCluster FindSimCclCluster(const SimCclOptions& options, const GpuTable& gpus);

/// @return the collective of the flags, or each different one of the workload
/// @throw ns3::InputError for a mistake in either
std::vector<SimCclJob> SimCclJobs(const SimCclOptions& options,
                                  uint64_t gpus,
                                  uint32_t gpusPerServer);

} // namespace AstraSim

#endif /* SIMCCL_JOBS_H */
