/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-schedule.h"

namespace AstraSim
{

namespace
{

/**
 * ASTRA-sim's ring: every rank sends to the next and receives from the one before.
 *
 * AllReduce is a ReduceScatter of n-1 steps and an AllGather of n-1. AllToAll passes the blocks on
 * from rank to rank, one message per block and hop: n(n-1)/2 messages per rank.
 */
class NativeRing : public NativeSchedule
{
  public:
    using NativeSchedule::NativeSchedule;

    uint32_t StepCount(uint32_t, uint32_t) const override
    {
        switch (m_op)
        {
        case CollectiveOp::AllReduce:
            return 2 * (m_ranks - 1);
        case CollectiveOp::AllToAll:
            return m_ranks * (m_ranks - 1) / 2;
        default:
            return m_ranks - 1;
        }
    }

    NativeStep Step(uint32_t rank, uint32_t, uint32_t step) const override
    {
        NativeStep result;
        result.sendTo = static_cast<int>((rank + 1) % m_ranks);
        result.receiveFrom = static_cast<int>((rank + m_ranks - 1) % m_ranks);
        result.sendBytes = BytesOf(1);
        result.receiveBytes = result.sendBytes;
        result.reduces = m_op == CollectiveOp::ReduceScatter ||
                         (m_op == CollectiveOp::AllReduce && step < m_ranks - 1);
        return result;
    }

    std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t, uint32_t step) const override
    {
        const uint32_t n = m_ranks;
        if (m_op == CollectiveOp::AllToAll)
        {
            // In round t, a rank passes on the blocks that started t ranks before it, without its
            // own.
            uint32_t round = 0;
            while (step >= n - 1 - round)
            {
                step -= n - 1 - round;
                ++round;
            }
            const uint32_t source = (rank + n - round) % n;
            return {source * n + (rank + 1 + step) % n};
        }
        // A ReduceScatter leaves rank r with block r, an AllReduce's with block r+1.
        const uint32_t shift = m_op == CollectiveOp::ReduceScatter ? n - 1 : 0;
        return {(rank + shift + 2 * n - step) % n};
    }
};

const NativeSchedule::Kind RING("ring",
                                false,
                                [](uint32_t ranks, const CollectiveRequest& request, int) {
                                    return std::make_unique<NativeRing>(ranks, request);
                                });

} // namespace

} // namespace AstraSim
