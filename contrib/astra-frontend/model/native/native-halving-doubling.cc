/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-schedule.h"

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
 * power of two.
 */
class NativeHalvingDoubling : public NativeSchedule
{
  public:
    /// @throw ns3::InputError if @p ranks is no power of two
    NativeHalvingDoubling(uint32_t ranks, const CollectiveRequest& request)
        : NativeSchedule(ranks, request),
          m_bits(static_cast<uint32_t>(std::countr_zero(ranks)))
    {
        if (!std::has_single_bit(ranks))
        {
            throw ns3::InputError("system configuration",
                                  0,
                                  "halvingDoubling runs on " + std::to_string(ranks) + " ranks",
                                  "a power of two");
        }
    }

    uint32_t StepCount(uint32_t, uint32_t) const override
    {
        return m_op == CollectiveOp::AllReduce ? 2 * m_bits : m_bits;
    }

    NativeStep Step(uint32_t rank, uint32_t, uint32_t step) const override
    {
        NativeStep result;
        const uint32_t bit = BitOf(step);
        result.sendTo = static_cast<int>(rank ^ (1U << bit));
        result.receiveFrom = result.sendTo;
        // Before halving by bit k a rank holds the n / 2^k blocks that agree with it in the bits
        // below.
        const uint64_t blocks =
            m_op == CollectiveOp::AllToAll ? m_ranks / 2 : uint64_t{m_ranks} >> (bit + 1);
        result.sendBytes = BytesOf(blocks);
        result.receiveBytes = result.sendBytes;
        result.reduces = Halves(step);
        return result;
    }

    std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t, uint32_t step) const override
    {
        const uint32_t bit = BitOf(step);
        const uint32_t below = (1U << bit) - 1;
        std::vector<uint32_t> blocks;
        if (m_op == CollectiveOp::AllToAll)
        {
            // Blocks here agree with this rank in the receiver's bits below and the sender's bits
            // above.
            for (uint32_t source = 0; source < m_ranks; ++source)
            {
                for (uint32_t target = 0; target < m_ranks; ++target)
                {
                    const bool isHere =
                        ((target ^ rank) & below) == 0 && ((source ^ rank) & ~below) == 0;
                    if (isHere && ((target ^ rank) >> bit & 1U) != 0)
                    {
                        blocks.push_back(source * m_ranks + target);
                    }
                }
            }
            return blocks;
        }
        const uint32_t wanted = Halves(step) ? rank ^ (1U << bit) : rank;
        const uint32_t mask = below | (1U << bit);
        for (uint32_t block = 0; block < m_ranks; ++block)
        {
            if (((block ^ wanted) & mask) == 0)
            {
                blocks.push_back(block);
            }
        }
        return blocks;
    }

  private:
    /// @return whether the step belongs to a ReduceScatter; else to an AllGather
    bool Halves(uint32_t step) const
    {
        return m_op == CollectiveOp::ReduceScatter ||
               (m_op == CollectiveOp::AllReduce && step < m_bits);
    }

    /// @return which bit of the rank number the partner differs in
    uint32_t BitOf(uint32_t step) const
    {
        if (m_op == CollectiveOp::AllToAll || Halves(step))
        {
            return step;
        }
        return m_bits - 1 - (m_op == CollectiveOp::AllReduce ? step - m_bits : step);
    }

    uint32_t m_bits;
};

const NativeSchedule::Kind HALVING_DOUBLING(
    "halvingDoubling",
    false,
    [](uint32_t ranks, const CollectiveRequest& request, int) {
        return std::make_unique<NativeHalvingDoubling>(ranks, request);
    });

} // namespace

} // namespace AstraSim
