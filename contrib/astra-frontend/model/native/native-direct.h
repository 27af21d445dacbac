/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_DIRECT_H
#define NATIVE_DIRECT_H

#include "native-schedule.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Every rank exchanges with every other directly, up to a window of them at a time.
 *
 * AllReduce is a direct ReduceScatter followed by a direct AllGather.
 */
class NativeDirect : public NativeSchedule
{
  public:
    /// @param window exchanges under way at a time; -1 for all
    NativeDirect(uint32_t ranks, const CollectiveRequest& request, int window);

    uint32_t Window() const override;
    uint32_t StepCount(uint32_t rank, uint32_t lane) const override;
    NativeStep Step(uint32_t rank, uint32_t lane, uint32_t step) const override;
    std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t lane, uint32_t step) const override;

  private:
    bool Reduces(uint32_t step) const;

    uint32_t m_window;
};

} // namespace AstraSim

#endif /* NATIVE_DIRECT_H */
