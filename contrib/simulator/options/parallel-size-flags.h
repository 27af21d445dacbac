/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PARALLEL_SIZE_FLAGS_H
#define PARALLEL_SIZE_FLAGS_H

#include "programs/frame/program-flags.h"

namespace AstraSim
{

struct ParallelSizes;

/// Add --tp, --ep and --pp, which micro lines need. @param sizes outlive the flags
void AddParallelSizes(ProgramFlags& flags, ParallelSizes& sizes);

} // namespace AstraSim

#endif /* PARALLEL_SIZE_FLAGS_H */
