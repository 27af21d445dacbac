/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PORT_LOAD_H
#define PORT_LOAD_H

#include <cstdint>
#include <span>

namespace ns3
{

class SwitchNode;

/**
 * Find the port that a frame would leave by first: the one with the least work before it, which is
 * the rest of the frame being sent and all that waits in its queues, in time at its rate. A
 * paused port comes after all that may send, one with its link
 * down after all others.
 *
 * @param ports one or more ports of @p node
 * @param priority the frame's queue
 * @param node the switch
 * @param nowPs current time
 * @param first index into @p ports where the search begins: among equals the first found wins
 * @return one of @p ports
 */
uint16_t LeastLoadedPort(std::span<const uint16_t> ports,
                         uint8_t priority,
                         const SwitchNode& node,
                         int64_t nowPs,
                         uint32_t first);

} // namespace ns3

#endif /* PORT_LOAD_H */
