/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ENGINE_OF_WORKLOADS_H
#define ENGINE_OF_WORKLOADS_H

#include "astra-frontend/model/system/rank-list.h"
#include "collectives/model/gpu/gpu-table.h"
#include "collectives/model/nccl/nccl-options.h"

#include <string>
#include <vector>

namespace AstraSim
{

/**
 * Takes the inference engine that workloads name (key all_reduce of an INFERENCE file), unless the
 * user names one (AS_ENGINE_ALLREDUCE). A run has one: jobs that disagree have NCCL's AllReduce.
 * @param options the user's
 * @param warnings gets a line where an engine that a workload names has no effect
 * @return the options with the engine
 * @throw ns3::InputError if there is no such engine
 */
NcclOptions WithEngineOf(const std::vector<JobPlacement>& jobs,
                         NcclOptions options,
                         const GpuProfile& gpu,
                         std::vector<std::string>& warnings);

} // namespace AstraSim

#endif /* ENGINE_OF_WORKLOADS_H */
