/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef THREAD_REPORT_H
#define THREAD_REPORT_H

#include "run-record.h"

#include <string>

namespace AstraSim
{

/// @return the use of a run's threads and the causes of their waiting, in words; empty for one
/// thread
std::string DescribeThreads();

/// Say in run.json how many threads there were, and how well they were used; nothing
/// of a network that is not divided.
void RecordThreads(RunRecord& record);

} // namespace AstraSim

#endif /* THREAD_REPORT_H */
