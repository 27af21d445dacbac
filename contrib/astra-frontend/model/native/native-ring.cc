/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-ring.h"

namespace AstraSim
{

uint32_t
NativeRing::StepCount(uint32_t, uint32_t) const
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

NativeStep
NativeRing::Step(uint32_t rank, uint32_t, uint32_t step) const
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

std::vector<uint32_t>
NativeRing::BlocksSent(uint32_t rank, uint32_t, uint32_t step) const
{
    const uint32_t n = m_ranks;
    if (m_op == CollectiveOp::AllToAll)
    {
        // In round t, a rank passes on the blocks that started t ranks before it, without its own.
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

} // namespace AstraSim
