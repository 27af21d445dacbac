/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PORT_COUNTERS_H
#define QBB_PORT_COUNTERS_H

#include "qbb-frame.h"

#include <cstdint>

namespace ns3
{

/// Counters of a port.
struct QbbPortCounters
{
    int64_t busyPs{0};          ///< time spent sending
    uint64_t txFrames{0};       ///< frames begun, PFC not included
    uint64_t txBytes{0};        ///< their bytes on the wire
    uint64_t rxFrames{0};       ///< frames received whole, PFC not included
    uint64_t lostFrames{0};     ///< lost on this port's outgoing wire: errors, cuts
    uint64_t flushedFrames{0};  ///< dropped from its queues: link down, PFC watchdog
    uint64_t lostPayload{0};    ///< RDMA payload bytes in lost and flushed frames
    uint64_t pfcSent{0};        ///< PFC frames sent, pause and resume
    uint64_t pfcBytes{0};       ///< their bytes on the wire
    uint64_t replayedFrames{0}; ///< frames that the link sent again
    uint64_t replayedBytes{0};  ///< their bytes on the wire
    uint64_t orderedSets{0};    ///< sent to the far end, for the link itself
    uint64_t pausesReceived{0}; ///< transitions of a priority into pause
    int64_t pausedPs{0}; ///< time spent with at least one priority paused, up to the last change

    /// @return all bytes sent
    uint64_t GetWireBytes() const
    {
        return txBytes + pfcBytes + replayedBytes + orderedSets * QbbFrame::ORDERED_SET_BYTES;
    }
};

} // namespace ns3

#endif /* QBB_PORT_COUNTERS_H */
