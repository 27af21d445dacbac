/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-graph.h"

#include "ns3/input-error.h"

#include <bit>

namespace AstraSim
{

namespace
{

/**
 * Recursive halving and doubling: log2(n) exchanges with partners 1, 2, 4, ... ranks away.
 *
 * In each step of a ReduceScatter a rank sends half of its remaining data; an AllGather does the
 * same backwards; an AllToAll exchanges half of the buffer in each step. The number of ranks is a
 * power of two. Lane k goes to the partner that differs in bit k.
 */
class NativeHalvingDoubling : public NativeGraph
{
  public:
    /// @throw ns3::InputError if the number of ranks is no power of two
    explicit NativeHalvingDoubling(const CollectiveTask& task)
        : NativeGraph(task, static_cast<uint32_t>(std::countr_zero(task.servers.size())))
    {
        if (!std::has_single_bit(GetRanks()))
        {
            throw ns3::InputError("system configuration",
                                  0,
                                  "halvingDoubling runs on " + std::to_string(GetRanks()) +
                                      " ranks",
                                  "a power of two");
        }
    }

    uint32_t GetStepCount(uint32_t, uint32_t) const override
    {
        return MessagesPerLane() * GetLaneCount();
    }

    FlowStep GetStep(uint32_t, uint32_t, uint32_t step) const override
    {
        const uint32_t bits = GetLaneCount();
        const bool halves = Reduces(step / bits);
        const bool rises = halves || m_op == CollectiveOp::AllToAll;
        return Exchange(rises ? step : bits - 1 - step % bits, halves);
    }

    uint64_t GetBytes(uint32_t, uint32_t bit, uint64_t) const override
    {
        // Before halving by bit k a rank holds the n / 2^k blocks that agree with it in the bits
        // below.
        return BytesOf(m_op == CollectiveOp::AllToAll ? GetRanks() / 2
                                                      : uint64_t{GetRanks()} >> (bit + 1));
    }

    std::vector<uint32_t> GetBlocks(uint32_t rank, uint32_t bit, uint64_t message) const override
    {
        const uint32_t below = (1U << bit) - 1;
        std::vector<uint32_t> blocks;
        if (m_op == CollectiveOp::AllToAll)
        {
            // Blocks here agree with this rank in the receiver's bits below and the sender's bits
            // above.
            for (uint32_t source = 0; source < GetRanks(); ++source)
            {
                for (uint32_t target = 0; target < GetRanks(); ++target)
                {
                    const bool isHere =
                        ((target ^ rank) & below) == 0 && ((source ^ rank) & ~below) == 0;
                    if (isHere && ((target ^ rank) >> bit & 1U) != 0)
                    {
                        blocks.push_back(source * GetRanks() + target);
                    }
                }
            }
            return blocks;
        }
        const uint32_t wanted = Reduces(message) ? rank ^ (1U << bit) : rank;
        const uint32_t mask = below | (1U << bit);
        for (uint32_t block = 0; block < GetRanks(); ++block)
        {
            if (((block ^ wanted) & mask) == 0)
            {
                blocks.push_back(block);
            }
        }
        return blocks;
    }

  protected:
    Lane GetLane(uint32_t rank, uint32_t bit, bool) const override
    {
        Lane lane;
        lane.peer = rank ^ (1U << bit);
        lane.messages = MessagesPerLane();
        return lane;
    }
};

const CollectiveAlgorithm HALVING_DOUBLING("native-halvingDoubling",
                                           NativeRules<NativeHalvingDoubling>());

} // namespace

} // namespace AstraSim
