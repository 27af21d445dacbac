/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_HALVING_DOUBLING_H
#define NATIVE_HALVING_DOUBLING_H

#include "native-schedule.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Recursive halving and doubling: log2(n) exchanges with partners 1, 2, 4, ... ranks away.
 *
 * In each step of a ReduceScatter a rank sends half of its remaining data; an AllGather does the
 * same backwards; an AllToAll exchanges half of the buffer in each step. The number of ranks is a
 * power of two.
 */
class NativeHalvingDoubling : public NativeSchedule
{
  public:
    /// @throw ns3::InputError if @p ranks is no power of two
    NativeHalvingDoubling(uint32_t ranks, const CollectiveRequest& request);

    uint32_t StepCount(uint32_t rank, uint32_t lane) const override;
    NativeStep Step(uint32_t rank, uint32_t lane, uint32_t step) const override;
    std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t lane, uint32_t step) const override;

  private:
    /// @return whether the step belongs to a ReduceScatter; else to an AllGather
    bool Halves(uint32_t step) const;
    /// @return which bit of the rank number the partner differs in
    uint32_t BitOf(uint32_t step) const;

    uint32_t m_bits;
};

} // namespace AstraSim

#endif /* NATIVE_HALVING_DOUBLING_H */
