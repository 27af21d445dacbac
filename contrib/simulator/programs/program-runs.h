/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROGRAM_RUNS_H
#define PROGRAM_RUNS_H

#include "collectives/model/gpu/machine-model.h"
#include "simulator/options/analytical-options.h"
#include "simulator/options/collective-perf-options.h"
#include "simulator/options/run-options.h"
#include "simulator/options/simccl-options.h"

#include "ns3/cluster-topology.h"

#include <optional>
#include <string>

namespace AstraSim
{

/**
 * @file
 * The runs of the programs, from options to results. Each returns the exit status, 0 if all that it
 * is asked for finished, or 1, and throws ns3::InputError for a mistake in an input.
 */

/// SimAI_simulator: results go to the output directory as they come; run.json says whether the run
/// finished.
int RunSimulation(const RunOptions& options);

/**
 * Simulate the iterations of a workload apart from each other (--separate-passes).
 *
 * Each iteration is a run of its own in a process of its own, on an idle network, with random
 * numbers of its own (ns-3's run number counts up), and leaves whole results in `output/pass-0`,
 * `pass-1`, ...; `passes.csv` has a row for each. So a run that was ended early goes on with the
 * iterations that it lacks (--resume); its results are those of an undisturbed run.
 *
 * SIGINT, SIGTERM and SIGHUP end the iteration under way, and with it the run.
 *
 * @param options with separatePasses
 * @return the exit status of the iteration that did not finish, if there is one
 */
int RunIterations(const RunOptions& options);

/// @return the columns of passes.csv, as Columns::ToCsv() has them
std::string DescribePassColumns();

/// SimAI_analytical: the workload with the cost of each collective as a whole.
int RunAnalytical(const AnalyticalOptions& options);

/**
 * @return the machine that topology and flags describe; a flag wins over the topology
 * @param[out] topology as its file has it; nothing without one
 * @throw ns3::InputError for a type nobody knows
 */
MachineModel MakeMachine(const AnalyticalOptions& options,
                         std::optional<ns3::ClusterTopology>* topology);

/// collective-perf: simulate a test of nccl-tests and print its table.
int RunCollectivePerf(const CollectivePerfOptions& options);

/// SimCCL: NCCL's choice and its flows, without a network. Writes ncclFlowModel_detailed_flows.csv
/// and, for one small collective, ncclFlowModel_flows.dot.
int RunSimCcl(const SimCclOptions& options);

} // namespace AstraSim

#endif /* PROGRAM_RUNS_H */
