/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_TRIGGERS_H
#define FLOW_TRIGGERS_H

#include "flow-record.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Starts flows when other flows end, as the triggers of htsim's connection matrices do.
 *
 * A trigger starts all of its flows at its n-th activation (htsim's barrier of count n; its oneshot
 * is n = 1), or the next of its flows at each activation (htsim's multishot).
 *
 * @code
 * for (const FlowRecord& flow : triggers.Activate(ended.whenSent))
 * {
 *     Start(flow);
 * }
 * @endcode
 */
class FlowTriggers
{
  public:
    /// @return number of a new trigger, from 1, that starts all of its flows at the first
    /// activation
    uint32_t Add();

    /// The trigger starts all of its flows at once. @param activations that it waits for, 1 or more
    void StartAllAfter(uint32_t trigger, uint64_t activations)
    {
        m_triggers[trigger - 1].left = activations;
    }

    /// The trigger starts one flow at each activation.
    void StartOneByOne(uint32_t trigger)
    {
        m_triggers[trigger - 1].isOneByOne = true;
    }

    /// Let a trigger start a flow, after those added before.
    void AddFlow(uint32_t trigger, const FlowRecord& flow)
    {
        m_triggers[trigger - 1].flows.push_back(flow);
    }

    /**
     * A flow has ended.
     * @param trigger that it activates; 0: none
     * @return the flows that start now; valid until a flow is added
     */
    std::span<const FlowRecord> Activate(uint32_t trigger);

    /// @return the flows that the trigger has not started
    std::span<const FlowRecord> GetWaiting(uint32_t trigger) const
    {
        const Trigger& waiting = m_triggers[trigger - 1];
        return std::span(waiting.flows).subspan(waiting.started);
    }

    /// @return number of triggers
    uint32_t GetCount() const
    {
        return static_cast<uint32_t>(m_triggers.size());
    }

  private:
    struct Trigger
    {
        bool isOneByOne{false};
        uint64_t left{1};       ///< activations until all flows start
        std::size_t started{0}; ///< flows
        std::vector<FlowRecord> flows;
    };

    std::vector<Trigger> m_triggers;
};

} // namespace ns3

#endif /* FLOW_TRIGGERS_H */
