/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_FILE_H
#define WORKLOAD_FILE_H

#include "astra-frontend/model/system/remote-memory.h"
#include "astra-frontend/model/system/workload.h"
#include "layer-table.h"

#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/// Options of the command line that add to a workload file.
struct WorkloadOptions
{
    ParallelSizes sizes;         ///< --tp --ep --pp, for files that do not say
    uint32_t passes{1};          ///< of text workloads
    std::string communicators{}; ///< --comm-group-configuration; empty for none
    RemoteMemoryConfig memory{}; ///< --remote-memory-configuration
    /// Whether the weight gradients' collectives of text workloads come at the end of a pass, and
    /// ranks wait for each, as the analytical program's overlap ratios mean it.
    bool waitsForGradients{false};
};

/// @return the files of a workload that are there: PATH.0.et, PATH.1.et, ..., or else PATH
std::vector<std::string> WorkloadFiles(const std::string& path);

/// @return whether a path is the prefix of Chakra traces: PATH.0.et exists
bool IsChakraPrefix(const std::string& path);

/// @return whether the ranks of a workload share a scheduler, as those that serve requests do;
/// false for a file that is not there
bool RanksShareScheduler(const std::string& path);

/// A key of a file, and its place.
struct NamedEngine
{
    std::string name; ///< empty: the file names none
    std::size_t line{0};
};

/// @return the inference engine whose AllReduce an INFERENCE file names; none of other workloads
NamedEngine AllReduceOf(const std::string& path);

/**
 * Opens a workload of any kind: SimAI text, ASTRA-sim 1.0 text, micro lines, a KV-cache file, an
 * INFERENCE file, a GOAL schedule, a WorkloadFormat, or the prefix of Chakra traces (if PATH.0.et
 * exists).
 * @throw ns3::InputError
 */
std::unique_ptr<Workload> OpenWorkload(const std::string& path, const WorkloadOptions& options);

} // namespace AstraSim

#endif /* WORKLOAD_FILE_H */
