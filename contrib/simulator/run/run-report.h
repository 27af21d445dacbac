/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_REPORT_H
#define RUN_REPORT_H

#include "programs/frame/run-record.h"
#include "simulator/back-ends/fast-forward-backend.h"
#include "simulator/inputs/run-inputs.h"

namespace AstraSim
{

/// Note workloads, topology, configuration and options of a simulation.
/// @throw ns3::InputError if a file cannot be read
void RecordInputs(RunRecord& record, const RunOptions& options, const RunInputs& inputs);

/// Note how much was simulated before reuse gave up and the run began anew.
void RecordGivingUp(RunRecord& record,
                    const FastForwardBackend& forward,
                    const RunOptions& options);

/// Note how much traffic was simulated and how much reused.
void RecordReuse(RunRecord& record, FastForwardBackend& forward, const RunOptions& options);

} // namespace AstraSim

#endif /* RUN_REPORT_H */
