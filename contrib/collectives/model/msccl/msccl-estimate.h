/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MSCCL_ESTIMATE_H
#define MSCCL_ESTIMATE_H

#include "msccl-program.h"

#include "ns3/collective-algorithm.h"

namespace AstraSim
{

/**
 * @param program that carries out the collective of @p task
 * @return how long it takes, in picoseconds, if each thread block has its link to itself: the last
 * step's end, and no less than a GPU's links need for all that it sends
 */
TimePs EstimateMscclTime(const MscclProgram& program, const CollectiveTask& task);

} // namespace AstraSim

#endif /* MSCCL_ESTIMATE_H */
