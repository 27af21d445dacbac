/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STEP_ORDER_H
#define STEP_ORDER_H

#include "flow-graph.h"

#include <cstdint>

namespace AstraSim
{

/// The next message of a lane out of a rank, that of a lane into it, or both.
struct FlowStep
{
    uint32_t outbound{Lane::NONE};
    uint32_t inbound{Lane::NONE};
    bool reduces{false};  ///< adds the received data to local data
    bool afterAll{false}; ///< begins when all earlier steps of the sequence have ended
};

/**
 * @ingroup collectives
 * @brief The order of a rank's messages as ASTRA-sim's algorithms have it.
 *
 * A rank works through one or several sequences of steps side by side. Of a sequence, up to
 * GetWindow() steps are under way, which begin in order and end in any. A step ends when its
 * message has been received and has gone through the memory bus to the rank's memory; one without a
 * message to receive ends at once. Messages of lanes with tag i are those of sequence i; none of
 * them is empty.
 */
class StepOrder
{
  public:
    virtual ~StepOrder() = default;

    virtual uint32_t GetSequences() const
    {
        return 1;
    }

    /// @return steps of a sequence that may be under way at a time
    virtual uint32_t GetWindow() const
    {
        return 1;
    }

    virtual uint32_t GetStepCount(uint32_t rank, uint32_t sequence) const = 0;
    virtual FlowStep GetStep(uint32_t rank, uint32_t sequence, uint32_t step) const = 0;
};

} // namespace AstraSim

#endif /* STEP_ORDER_H */
