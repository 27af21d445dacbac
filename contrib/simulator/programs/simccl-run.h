/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMCCL_RUN_H
#define SIMCCL_RUN_H

#include "simulator/options/simccl-options.h"

namespace AstraSim
{

/**
 * @brief Shows what NCCL would do for collectives, without a network: its choice and its flows.
 * Writes ncclFlowModel_detailed_flows.csv and, for one small collective, ncclFlowModel_flows.dot.
 * SimCCL is a thin shell around it.
 * @throw ns3::InputError for a mistake in an input
 */
void RunSimCcl(const SimCclOptions& options);

} // namespace AstraSim

#endif /* SIMCCL_RUN_H */
