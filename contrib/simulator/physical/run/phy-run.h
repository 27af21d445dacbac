/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PHY_RUN_H
#define PHY_RUN_H

#include "phy-options.h"

namespace AstraSim
{

/**
 * @brief One rank's part of a run with real traffic; SimAI_phynet is a thin shell around it.
 *
 * Called between MPI_Init and MPI_Finalize, by every rank. Rank 0 writes the results.
 *
 * @param options of the run
 * @return exit status, the same on every rank: 0 if the workload finished everywhere. If it is not
 * 0, other ranks may be gone, and MPI_Finalize would wait for them.
 */
int RunPhysical(const PhyOptions& options);

} // namespace AstraSim

#endif /* PHY_RUN_H */
