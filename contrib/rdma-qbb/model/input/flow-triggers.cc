/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-triggers.h"

namespace ns3
{

uint32_t
FlowTriggers::Add()
{
    m_triggers.emplace_back();
    return static_cast<uint32_t>(m_triggers.size());
}

std::span<const FlowRecord>
FlowTriggers::Activate(uint32_t number)
{
    if (number == 0)
    {
        return {};
    }
    const std::span<const FlowRecord> waiting = GetWaiting(number);
    Trigger& trigger = m_triggers[number - 1];
    std::size_t starting = 0;
    if (trigger.isOneByOne)
    {
        starting = waiting.empty() ? 0 : 1;
    }
    else if (trigger.left > 0 && --trigger.left == 0)
    {
        starting = waiting.size();
    }
    trigger.started += starting;
    return waiting.first(starting);
}

} // namespace ns3
