/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_PERF_H
#define COLLECTIVE_PERF_H

#include "simulator/options/collective-perf-options.h"

namespace AstraSim
{

/**
 * Simulate a test of nccl-tests and print its table.
 * @return the exit status: 0, or 1 if the test cannot finish
 * @throw ns3::InputError for a mistake in an input
 */
int RunCollectivePerf(const CollectivePerfOptions& options);

} // namespace AstraSim

#endif /* COLLECTIVE_PERF_H */
