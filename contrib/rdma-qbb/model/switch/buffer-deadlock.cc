/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "buffer-deadlock.h"

#include "switch-node.h"

#include "ns3/link-credits.h"
#include "ns3/qbb-processes.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace ns3
{

namespace
{

constexpr uint8_t PRIORITIES = QbbNetDevice::PRIORITIES;

/// A queue that waits, and the origin of its frames.
struct WaitingQueue
{
    BufferWait wait;
    std::vector<uint64_t> bytesFrom; ///< by ingress port
};

using WaitingQueues = std::vector<WaitingQueue>;

/// Bytes of each switch in queues that may be stuck, by ingress port and priority.
using LeftBytes = std::unordered_map<uint32_t, std::vector<SwitchMmu::BytesByPriority>>;

/// Switches, of which other processes may run some (QbbProcesses).
struct Switches
{
    std::span<SwitchNode* const> all; ///< by node id
    const std::function<bool(uint32_t)>& isHere;

    /// Run f(node id, switch) for those of this process.
    template <typename Function>
    void ForEachHere(Function f) const
    {
        for (uint32_t node = 0; node < all.size(); ++node)
        {
            if (all[node] && isHere(node))
            {
                f(node, *all[node]);
            }
        }
    }
};

uint64_t
PortKey(uint32_t node, uint16_t port)
{
    return uint64_t{node} << 16 | port;
}

/// @return the priorities that each port pauses at the far end, by PortKey(); those that pause none
/// are left out
std::unordered_map<uint64_t, uint8_t>
FindPausing(const Switches& switches)
{
    struct Pausing
    {
        uint64_t key;
        uint8_t mask;
    };

    std::vector<Pausing> own;
    switches.ForEachHere([&](uint32_t node, const SwitchNode& each) {
        for (uint16_t port = 0; port < each.GetPortCount(); ++port)
        {
            if (const uint8_t mask = each.GetPort(port).GetPausingMask())
            {
                own.push_back({PortKey(node, port), mask});
            }
        }
    });
    std::unordered_map<uint64_t, uint8_t> pausing;
    for (const std::vector<Pausing>& each : ValuesOfAllProcesses(own))
    {
        for (const Pausing& port : each)
        {
            pausing[port.key] = port.mask;
        }
    }
    return pausing;
}

std::vector<uint64_t>
CountBytesFrom(const SwitchNode& node, const QbbNetDevice& port, uint8_t priority)
{
    std::vector<uint64_t> bytesFrom(node.GetPortCount());
    port.ForEachQueued(priority, [&](const QbbFrame& frame) {
        if (frame.inPort < bytesFrom.size())
        {
            bytesFrom[frame.inPort] += frame.wireBytes;
        }
    });
    return bytesFrom;
}

/// @return priorities of a port that wait for credit
uint8_t
FindShort(const QbbNetDevice& port)
{
    const LinkCredits* credits = port.GetCredits();
    return credits ? credits->GetShortMask() : 0;
}

/// @return every queue of this process that holds frames and is held back by a switch
WaitingQueues
FindWaitsHere(const Switches& switches)
{
    std::unordered_map<const QbbNetDevice*, uint32_t> nodeOf;
    for (uint32_t node = 0; node < switches.all.size(); ++node)
    {
        const SwitchNode* each = switches.all[node];
        for (uint16_t port = 0; each && port < each->GetPortCount(); ++port)
        {
            nodeOf.emplace(&each->GetPort(port), node);
        }
    }
    const auto pausing = FindPausing(switches);
    WaitingQueues queues;
    switches.ForEachHere([&](uint32_t node, const SwitchNode& each) {
        for (uint16_t port = 0; port < each.GetPortCount(); ++port)
        {
            const QbbNetDevice& device = each.GetPort(port);
            const auto peer = nodeOf.find(PeekPointer(device.GetPeer()));
            if (peer == nodeOf.end())
            {
                continue;
            }
            const uint16_t peerPort = peer->first->GetPort();
            const auto mask = pausing.find(PortKey(peer->second, peerPort));
            const int paused = mask == pausing.end() ? 0 : device.GetPausedMask() & mask->second;
            const uint8_t isShort = FindShort(device);
            for (uint8_t priority = 1; priority < PRIORITIES; ++priority)
            {
                const uint64_t bytes = device.GetQueueBytes(priority);
                if (((paused | isShort) >> priority & 1) && bytes > 0)
                {
                    const bool needsCredit = isShort >> priority & 1;
                    queues.push_back(
                        {{node, port, priority, bytes, peer->second, peerPort, needsCredit},
                         CountBytesFrom(each, device, priority)});
                }
            }
        }
    });
    return queues;
}

/// @return the same of all processes, by node, port and priority
WaitingQueues
FindWaits(const Switches& switches)
{
    QbbBytes bytes;
    for (const WaitingQueue& queue : FindWaitsHere(switches))
    {
        PutValue(bytes, queue.wait);
        PutValues(bytes, queue.bytesFrom);
    }
    WaitingQueues queues;
    for (const QbbBytes& each : FromAllProcesses(bytes))
    {
        QbbByteReader reader(each);
        while (!reader.IsAtEnd())
        {
            const auto wait = reader.Get<BufferWait>();
            queues.push_back({wait, reader.GetValues<std::vector<uint64_t>>()});
        }
    }
    std::ranges::sort(queues, {}, [](const WaitingQueue& queue) {
        return std::tuple(queue.wait.node, queue.wait.port, queue.wait.priority);
    });
    return queues;
}

LeftBytes
CountLeft(const WaitingQueues& stuck)
{
    LeftBytes left;
    for (const auto& [wait, bytesFrom] : stuck)
    {
        auto& bytes = left[wait.node];
        bytes.resize(bytesFrom.size());
        for (std::size_t port = 0; port < bytesFrom.size(); ++port)
        {
            bytes[port][wait.priority] += bytesFrom[port];
        }
    }
    return left;
}

/// @return whether a switch would hold a queue back although its buffer had those bytes alone
bool
StaysHeld(const SwitchNode& node,
          const BufferWait& wait,
          const std::vector<SwitchMmu::BytesByPriority>& left)
{
    if (!wait.needsCredit)
    {
        return node.GetMmu()->StaysPaused(wait.pausedPort, wait.priority, left);
    }
    const LinkCredits* credits = node.GetPort(wait.pausedPort).GetCredits();
    return credits && !credits->HasRoomBeside(left[wait.pausedPort][wait.priority]);
}

/// Remove from @p stuck the queues that could send if all queues outside of @p stuck were empty.
void
DropFree(const Switches& switches, WaitingQueues& stuck)
{
    const LeftBytes left = CountLeft(stuck);
    std::vector<uint8_t> isFree(stuck.size());
    for (std::size_t i = 0; i < stuck.size(); ++i)
    {
        const BufferWait& wait = stuck[i].wait;
        if (!switches.isHere(wait.pausedBy))
        {
            continue;
        }
        const auto bytes = left.find(wait.pausedBy);
        isFree[i] =
            bytes == left.end() || !StaysHeld(*switches.all[wait.pausedBy], wait, bytes->second);
    }
    for (const std::vector<uint8_t>& others : ValuesOfAllProcesses(isFree))
    {
        for (std::size_t i = 0; i < isFree.size(); ++i)
        {
            isFree[i] |= others[i];
        }
    }
    std::size_t next = 0;
    std::erase_if(stuck, [&](const WaitingQueue&) { return isFree[next++]; });
}

/// @return a stuck queue of the switch that pauses @p wait, with frames that came by that port
std::size_t
NextOf(const BufferWait& wait, const WaitingQueues& stuck)
{
    const auto next = std::ranges::find_if(stuck, [&](const WaitingQueue& other) {
        return other.wait.node == wait.pausedBy && other.wait.priority == wait.priority &&
               other.bytesFrom[wait.pausedPort] > 0;
    });
    return static_cast<std::size_t>(next - stuck.begin());
}

} // namespace

std::vector<BufferWait>
FindBufferDeadlock(std::span<SwitchNode* const> switches,
                   const std::function<bool(uint32_t)>& isHere)
{
    const Switches all{switches, isHere};
    WaitingQueues stuck = FindWaits(all);
    for (std::size_t before = stuck.size() + 1; stuck.size() < before;)
    {
        before = stuck.size();
        DropFree(all, stuck);
    }
    if (stuck.empty())
    {
        return {};
    }
    // Every one has a next one among them: walk until one comes again.
    std::vector<std::size_t> walk{0};
    for (;;)
    {
        const std::size_t next = NextOf(stuck[walk.back()].wait, stuck);
        const auto seen = std::ranges::find(walk, next);
        if (seen != walk.end())
        {
            std::vector<BufferWait> circle;
            for (auto at = seen; at != walk.end(); ++at)
            {
                circle.push_back(stuck[*at].wait);
            }
            return circle;
        }
        walk.push_back(next);
    }
}

} // namespace ns3
