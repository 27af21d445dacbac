/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_OPTIONS_H
#define IDLE_OPTIONS_H

#include "astra-frontend/model/system/system-config.h"
#include "astra-frontend/model/system/workload.h"
#include "rdma-qbb/model/input/idle-keys.h"
#include "simulator/options/run-options.h"

#include "ns3/fabric-conf.h"

#include <string>
#include <vector>

namespace AstraSim
{

/**
 * Call it when the configuration is in force (FabricConf::Apply()).
 * @param attributes defaults that flags and the environment give
 * @return a warning for each key of `--set` and each attribute that changes nothing on the run's
 * network, or with what flags and the other keys say
 */
std::vector<std::string> DescribeIdleKeys(const ns3::FabricConf& conf,
                                          const std::vector<ns3::GivenAttribute>& attributes,
                                          const RunOptions& options);

/// @return a warning for each of --tp, --ep and --pp that a workload does not follow, as its file
/// says what its groups are
std::vector<std::string> DescribeIdleSizes(const Workload& workload, const ParallelSizes& given);

/// @return a warning for each flag about chunks of collectives where NCCL's algorithms have none
std::vector<std::string> DescribeIdleFlags(const SystemConfig& system, const RunOptions& options);

/// @return a warning for each flag and key of a system file that this workload leaves without
/// effect: of remote memory, from which it loads nothing, of rooflines, as it says times itself,
/// and of GPUs that differ, on which it has no kernels
std::vector<std::string> DescribeIdleFlags(const Workload& workload,
                                           const SystemConfig& system,
                                           const RunOptions& options);

} // namespace AstraSim

#endif /* IDLE_OPTIONS_H */
