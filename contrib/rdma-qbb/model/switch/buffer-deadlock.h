/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BUFFER_DEADLOCK_H
#define BUFFER_DEADLOCK_H

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ns3
{

class SwitchNode;

/// One queue that waits: the far end of its port pauses it, or has no room for another frame.
struct BufferWait
{
    uint32_t node;       ///< of the queue: index into the switches given
    uint16_t port;       ///< its port
    uint8_t priority;    ///< its priority
    uint64_t bytes;      ///< that it holds
    uint32_t pausedBy;   ///< the one that holds it back: index into the switches given
    uint16_t pausedPort; ///< that switch's port
    bool needsCredit;    ///< whether it waits for credit (LinkCredits), not for the end of a pause
};

/**
 * Find queues that wait for each other in a circle (a cyclic buffer dependency that has come true).
 *
 * A paused queue is stuck if the switch that pauses it would go on doing so even after all of its
 * frames had left but those in stuck queues. So is one without credit, if those frames alone leave
 * no room for another in the buffer of its link. The largest set of queues of which that is true
 * can move no more by itself, with any arrivals; each of its members waits for another of them, so
 * it holds a circle. A queue that a host pauses is not stuck: the host may end that.
 *
 * @param switches by node id; null where a node is no switch
 * @param isHere whether this process runs a node; all processes of the run search together
 * @return one circle, each queue held back by the switch of the next; empty if there is no deadlock
 */
std::vector<BufferWait> FindBufferDeadlock(
    std::span<SwitchNode* const> switches,
    const std::function<bool(uint32_t)>& isHere = [](uint32_t) { return true; });

} // namespace ns3

#endif /* BUFFER_DEADLOCK_H */
