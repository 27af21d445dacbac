/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_RECORD_H
#define FLOW_RECORD_H

#include <cstddef>
#include <cstdint>

namespace ns3
{

/// A message from one host to another.
struct FlowRecord
{
    /// Destination port of flows without one in their line.
    static constexpr uint16_t DEFAULT_DPORT = 100;

    uint32_t src;     ///< host number (not node id)
    uint32_t dst;     ///< host number (not node id)
    uint8_t priority; ///< priority group, 1..7
    uint16_t dport;   ///< UDP destination port
    uint64_t bytes;   ///< message size
    int64_t startPs;  ///< from the start of the simulation; of no meaning if a trigger starts it
    std::size_t line; ///< where it stands in the file
    uint32_t whenSent{0}; ///< trigger (FlowTriggers) activated by the last acknowledgement; 0: none
    uint32_t whenDelivered{0}; ///< trigger activated by the receiver's last byte; 0: none
};

} // namespace ns3

#endif /* FLOW_RECORD_H */
