/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "port-load.h"

#include "ns3/switch-node.h"

#include <algorithm>

namespace ns3
{

uint16_t
LeastLoadedPort(std::span<const uint16_t> ports,
                uint8_t priority,
                const SwitchNode& node,
                int64_t nowPs,
                uint32_t first)
{
    constexpr int64_t PAUSED = INT64_MAX / 4;
    constexpr int64_t DOWN = INT64_MAX / 2;
    const auto count = static_cast<uint32_t>(ports.size());
    int64_t leastPs = INT64_MAX;
    uint16_t chosen = ports.front();
    uint32_t at = first % count;
    for (uint32_t i = 0; i < count; ++i)
    {
        const QbbNetDevice& device = node.GetPort(ports[at]);
        int64_t loadPs = std::max<int64_t>(device.GetBusyUntilPs() - nowPs, 0) +
                         device.GetTxTimePs(static_cast<uint32_t>(device.GetQueueBytes()));
        if (device.GetHeldMask() >> priority & 1)
        {
            loadPs += PAUSED;
        }
        if (!device.IsLinkUp())
        {
            loadPs += DOWN; // routes follow later; its own ports a switch sees at once
        }
        if (loadPs < leastPs)
        {
            leastPs = loadPs;
            chosen = ports[at];
        }
        at = at + 1 == count ? 0 : at + 1;
    }
    return chosen;
}

} // namespace ns3
