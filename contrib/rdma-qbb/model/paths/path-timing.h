/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PATH_TIMING_H
#define PATH_TIMING_H

#include "fabric-routes.h"

#include <cstdint>

namespace ns3
{

/**
 * @file
 * Times of frames and messages on an idle path of store-and-forward links: the closed forms
 * that window and rate are set from, and that simulations are checked against. Times are integers
 * in picoseconds, with the same rounding as QbbNetDevice (a frame's time on a link is rounded up).
 */

/// Sizes on the wire.
struct FrameSizes
{
    uint32_t mtuPayload{1000}; ///< payload bytes of a full frame
    uint32_t dataOverhead{82}; ///< bytes of a data frame besides its payload, with preamble and gap
    uint32_t ackWireBytes{84}; ///< bytes an acknowledgement occupies
    uint32_t minWireBytes{84}; ///< least bytes that any frame occupies

    /// @return bytes that a data frame with that payload occupies
    uint32_t DataWireBytes(uint32_t payload) const
    {
        return payload + dataOverhead < minWireBytes ? minWireBytes : payload + dataOverhead;
    }
};

/// @return time that bytes occupy a link, rounded up
int64_t SerializationPs(uint64_t wireBytes, uint64_t rateBps);

/// @return time from the first bit of a frame at the source to its last bit at the destination
int64_t OneWayPs(const PathInfo& path, uint32_t wireBytes);

/// @return round trip of one full data frame and its acknowledgement
int64_t BaseRttPs(const PathInfo& there, const PathInfo& back, const FrameSizes& sizes);

/// @return most that an acknowledgement on its way back waits where nothing queues: each link may
/// just have begun a full frame of data in its direction
int64_t AckWaitPs(const PathInfo& back, const FrameSizes& sizes);

/// @return bottleneck rate times base RTT, in bytes, rounded down
uint64_t BdpBytes(uint64_t bottleneckBps, int64_t rttPs);

/// @return bytes that a message occupies on a link, all frames' headers included
uint64_t MessageWireBytes(uint64_t bytes, const FrameSizes& sizes);

/**
 * Exact time from the first bit sent to the last bit received of a message that nothing delays: its
 * frames follow each other without gaps, and each link forwards a frame when it has all of it.
 * @param framePeriodPs least time from the start of a full frame to that of the next, where a rate
 * limit spaces them at the source
 */
int64_t IdleDeliveryPs(const PathInfo& path,
                       uint64_t bytes,
                       const FrameSizes& sizes,
                       int64_t framePeriodPs = 0);

/// Exact time until the sender has the acknowledgement of a message's last frame on an idle path.
int64_t IdleFctPs(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes);

} // namespace ns3

#endif /* PATH_TIMING_H */
