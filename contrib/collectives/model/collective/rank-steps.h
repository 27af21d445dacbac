/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_STEPS_H
#define RANK_STEPS_H

#include "step-order.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace AstraSim
{

class FlowExecutor;

/// A step that a rank has begun.
struct RankStep : FlowStep
{
    FlowExecutor* owner{nullptr};
    uint32_t sequence{0};
    uint64_t bytesOut{0};
    uint64_t bytesIn{0};
    uint64_t messageOut{0}; ///< its number in the outbound lane
    uint64_t messageIn{0};
    bool isUnderWay{false};
};

/// One rank's way through a StepOrder.
class RankSteps
{
  public:
    /// @param order outlives the object
    RankSteps(const StepOrder& order, uint32_t rank);

    /// @return the next step of a sequence, which has begun now; null if none may begin. Borrowed
    /// until End()
    RankStep* Begin(uint32_t sequence);

    void End(RankStep& step);

    uint32_t GetSequences() const
    {
        return static_cast<uint32_t>(m_sequences.size());
    }

    bool HaveEnded() const
    {
        return m_left == 0;
    }

    /// @return all steps that were ever under way at a time
    const std::deque<RankStep>& GetAll() const
    {
        return m_steps;
    }

  private:
    struct Sequence
    {
        uint32_t steps;
        uint32_t begun{0};
        uint32_t ended{0};
    };

    const StepOrder& m_order;
    uint32_t m_rank;
    uint64_t m_left{0}; ///< steps that have not ended
    std::vector<Sequence> m_sequences;
    std::deque<RankStep> m_steps;
    std::vector<RankStep*> m_free; ///< of m_steps
};

} // namespace AstraSim

#endif /* RANK_STEPS_H */
