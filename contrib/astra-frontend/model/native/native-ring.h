/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_RING_H
#define NATIVE_RING_H

#include "native-schedule.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief ASTRA-sim's ring: every rank sends to the next and receives from the one before.
 *
 * AllReduce is a ReduceScatter of n-1 steps and an AllGather of n-1. AllToAll passes the blocks on
 * from rank to rank, one message per block and hop: n(n-1)/2 messages per rank.
 */
class NativeRing : public NativeSchedule
{
  public:
    using NativeSchedule::NativeSchedule;

    uint32_t StepCount(uint32_t rank, uint32_t lane) const override;
    NativeStep Step(uint32_t rank, uint32_t lane, uint32_t step) const override;
    std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t lane, uint32_t step) const override;
};

} // namespace AstraSim

#endif /* NATIVE_RING_H */
