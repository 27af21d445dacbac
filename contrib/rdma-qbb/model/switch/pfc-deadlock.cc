/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-deadlock.h"

#include "switch-node.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace ns3
{

namespace
{

constexpr uint8_t PRIORITIES = QbbNetDevice::PRIORITIES;

/// Bytes of each switch in queues that may be stuck, by ingress port and priority.
using LeftBytes = std::unordered_map<uint32_t, std::vector<uint64_t>>;

/// @return every queue that holds frames and is paused by a switch
std::vector<PfcWait>
FindWaits(std::span<SwitchNode* const> switches)
{
    std::unordered_map<const QbbNetDevice*, uint32_t> nodeOf;
    for (uint32_t node = 0; node < switches.size(); ++node)
    {
        for (uint16_t port = 0; switches[node] && port < switches[node]->GetPortCount(); ++port)
        {
            nodeOf.emplace(&switches[node]->GetPort(port), node);
        }
    }
    std::vector<PfcWait> waits;
    for (const auto& [device, node] : nodeOf)
    {
        const auto peer = nodeOf.find(PeekPointer(device->GetPeer()));
        if (peer == nodeOf.end())
        {
            continue;
        }
        for (uint8_t priority = 1; priority < PRIORITIES; ++priority)
        {
            const bool paused =
                (device->GetPausedMask() & peer->first->GetPausingMask()) >> priority & 1;
            if (paused && device->GetQueueBytes(priority) > 0)
            {
                waits.push_back({node,
                                 device->GetPort(),
                                 priority,
                                 device->GetQueueBytes(priority),
                                 peer->second,
                                 peer->first->GetPort()});
            }
        }
    }
    // The map is ordered by addresses; the answer is not to be.
    std::sort(waits.begin(), waits.end(), [](const PfcWait& a, const PfcWait& b) {
        return std::tie(a.node, a.port, a.priority) < std::tie(b.node, b.port, b.priority);
    });
    return waits;
}

LeftBytes
CountLeft(std::span<SwitchNode* const> switches, const std::vector<PfcWait>& stuck)
{
    LeftBytes left;
    for (const PfcWait& wait : stuck)
    {
        const SwitchNode& node = *switches[wait.node];
        auto& bytes = left[wait.node];
        bytes.resize(std::size_t{node.GetPortCount()} * PRIORITIES);
        node.GetPort(wait.port).ForEachQueued(wait.priority, [&](const QbbFrame& frame) {
            if (frame.inPort < node.GetPortCount())
            {
                bytes[frame.inPort * PRIORITIES + wait.priority] += frame.wireBytes;
            }
        });
    }
    return left;
}

bool
IsStuck(std::span<SwitchNode* const> switches, const PfcWait& wait, const LeftBytes& left)
{
    const auto bytes = left.find(wait.pausedBy);
    return bytes != left.end() && switches[wait.pausedBy]->GetMmu()->StaysPaused(wait.pausedPort,
                                                                                 wait.priority,
                                                                                 bytes->second);
}

/// @return a stuck queue of the switch that pauses @p wait, with frames that came by that port
std::size_t
NextOf(std::span<SwitchNode* const> switches,
       const PfcWait& wait,
       const std::vector<PfcWait>& stuck)
{
    const auto next = std::find_if(stuck.begin(), stuck.end(), [&](const PfcWait& other) {
        bool holds = false;
        if (other.node == wait.pausedBy && other.priority == wait.priority)
        {
            switches[other.node]
                ->GetPort(other.port)
                .ForEachQueued(other.priority, [&](const QbbFrame& frame) {
                    holds = holds || frame.inPort == wait.pausedPort;
                });
        }
        return holds;
    });
    return static_cast<std::size_t>(next - stuck.begin());
}

} // namespace

std::vector<PfcWait>
FindPfcDeadlock(std::span<SwitchNode* const> switches)
{
    std::vector<PfcWait> stuck = FindWaits(switches);
    for (std::size_t before = stuck.size() + 1; stuck.size() < before;)
    {
        before = stuck.size();
        const LeftBytes left = CountLeft(switches, stuck);
        std::erase_if(stuck, [&](const PfcWait& wait) { return !IsStuck(switches, wait, left); });
    }
    if (stuck.empty())
    {
        return {};
    }
    // Every one has a next one among them: walk until one comes again.
    std::vector<std::size_t> walk{0};
    for (;;)
    {
        const std::size_t next = NextOf(switches, stuck[walk.back()], stuck);
        const auto seen = std::find(walk.begin(), walk.end(), next);
        if (seen != walk.end())
        {
            std::vector<PfcWait> circle;
            for (auto at = seen; at != walk.end(); ++at)
            {
                circle.push_back(stuck[*at]);
            }
            return circle;
        }
        walk.push_back(next);
    }
}

} // namespace ns3
