/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MSCCL_WALK_H
#define MSCCL_WALK_H

#include "msccl-program.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Goes through the steps of a program, each after the steps that it waits for.
 */
class MscclWalk
{
  public:
    /// @param program borrowed
    explicit MscclWalk(const MscclProgram& program)
        : m_program(program)
    {
        for (const auto& blocks : program.gpus)
        {
            m_next.emplace_back(blocks.size());
        }
    }

    /**
     * Carry out steps from the first ones on, as far as possible.
     * @param carryOut takes GPU, block and number of a step, and returns whether it has carried the
     * step out; if not, a message is missing, and it is called again after other steps
     */
    template <typename CarryOut>
    void Run(CarryOut carryOut)
    {
        for (std::vector<uint32_t>& next : m_next)
        {
            std::ranges::fill(next, 0);
        }
        for (bool moved = true; moved;)
        {
            moved = false;
            for (uint32_t gpu = 0; gpu < m_next.size(); ++gpu)
            {
                for (uint32_t block = 0; block < m_next[gpu].size(); ++block)
                {
                    while (IsFree(gpu, block) && carryOut(gpu, block, m_next[gpu][block]))
                    {
                        ++m_next[gpu][block];
                        moved = true;
                    }
                }
            }
        }
    }

    /// @return how many steps of a block were carried out
    uint32_t GetDone(uint32_t gpu, uint32_t block) const
    {
        return m_next[gpu][block];
    }

  private:
    /// @return whether a block has a next step, and the step of another block before it is done
    bool IsFree(uint32_t gpu, uint32_t block) const
    {
        const auto& steps = m_program.gpus[gpu][block].steps;
        const uint32_t next = m_next[gpu][block];
        return next < steps.size() &&
               !(steps[next].block && m_next[gpu][*steps[next].block] <= steps[next].blockStep);
    }

    const MscclProgram& m_program;
    std::vector<std::vector<uint32_t>> m_next; ///< by GPU and block
};

} // namespace AstraSim

#endif /* MSCCL_WALK_H */
