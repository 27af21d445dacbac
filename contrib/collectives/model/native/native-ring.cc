/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-graph.h"

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
class NativeRing : public NativeGraph
{
  public:
    explicit NativeRing(const CollectiveTask& task)
        : NativeGraph(task, 1)
    {
    }

    uint32_t GetStepCount(uint32_t, uint32_t) const override
    {
        const uint32_t n = GetRanks();
        switch (m_op)
        {
        case CollectiveOp::AllReduce:
            return 2 * (n - 1);
        case CollectiveOp::AllToAll:
            return n * (n - 1) / 2;
        default:
            return n - 1;
        }
    }

    FlowStep GetStep(uint32_t, uint32_t, uint32_t step) const override
    {
        return Exchange(0, Reduces(step / (GetRanks() - 1)));
    }

    uint64_t GetBytes(uint32_t, uint32_t, uint64_t) const override
    {
        return BytesOf(1);
    }

    std::vector<uint32_t> GetBlocks(uint32_t rank, uint32_t, uint64_t message) const override
    {
        const uint32_t n = GetRanks();
        auto step = static_cast<uint32_t>(message);
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

  protected:
    Lane GetLane(uint32_t rank, uint32_t, bool outbound) const override
    {
        Lane lane;
        lane.peer = (rank + (outbound ? 1 : GetRanks() - 1)) % GetRanks();
        lane.messages = GetStepCount(rank, 0);
        return lane;
    }
};

const CollectiveAlgorithm NATIVE_RING("native-ring", NativeRules<NativeRing>());

} // namespace

} // namespace AstraSim
