/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-schedule.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/**
 * Every rank exchanges with every other directly, up to a window of them at a time.
 *
 * AllReduce is a direct ReduceScatter followed by a direct AllGather.
 */
class NativeDirect : public NativeSchedule
{
  public:
    /// @param window exchanges under way at a time; -1 for all
    NativeDirect(uint32_t ranks, const CollectiveRequest& request, int window)
        : NativeSchedule(ranks, request),
          m_window(window < 0 ? ranks - 1 : std::min(static_cast<uint32_t>(window), ranks - 1))
    {
    }

    uint32_t Window() const override
    {
        return m_window;
    }

    uint32_t StepCount(uint32_t, uint32_t) const override
    {
        return (m_op == CollectiveOp::AllReduce ? 2 : 1) * (m_ranks - 1);
    }

    NativeStep Step(uint32_t rank, uint32_t, uint32_t step) const override
    {
        const uint32_t distance = step % (m_ranks - 1) + 1;
        NativeStep result;
        result.sendTo = static_cast<int>((rank + distance) % m_ranks);
        result.receiveFrom = static_cast<int>((rank + m_ranks - distance) % m_ranks);
        result.sendBytes = BytesOf(1);
        result.receiveBytes = result.sendBytes;
        result.reduces = Reduces(step);
        result.afterAll = step == m_ranks - 1;
        return result;
    }

    std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t, uint32_t step) const override
    {
        const uint32_t target = (rank + step % (m_ranks - 1) + 1) % m_ranks;
        if (m_op == CollectiveOp::AllToAll)
        {
            return {rank * m_ranks + target};
        }
        return {Reduces(step) ? target : rank};
    }

  private:
    bool Reduces(uint32_t step) const
    {
        return m_op == CollectiveOp::ReduceScatter ||
               (m_op == CollectiveOp::AllReduce && step < m_ranks - 1);
    }

    uint32_t m_window;
};

const NativeSchedule::Kind DIRECT("direct",
                                  true,
                                  [](uint32_t ranks, const CollectiveRequest& request, int window) {
                                      return std::make_unique<NativeDirect>(ranks, request, window);
                                  });

} // namespace

} // namespace AstraSim
