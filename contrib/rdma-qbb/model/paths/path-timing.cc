/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "path-timing.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace ns3
{

namespace
{

__extension__ using Wide = unsigned __int128;

constexpr Wide PS_BITS_PER_BYTE = 8'000'000'000'000;

} // namespace

int64_t
SerializationPs(uint64_t wireBytes, uint64_t rateBps)
{
    const Wide time = (wireBytes * PS_BITS_PER_BYTE + rateBps - 1) / rateBps;
    return time < static_cast<Wide>(CLOCK_END_PS) ? static_cast<int64_t>(time) : CLOCK_END_PS;
}

int64_t
OneWayPs(const PathInfo& path, uint32_t wireBytes)
{
    int64_t time = path.delayPs;
    for (const PathHop& hop : path.hops)
    {
        time = AddPs(time, SerializationPs(wireBytes, hop.rateBps));
    }
    return time;
}

int64_t
BaseRttPs(const PathInfo& there, const PathInfo& back, const FrameSizes& sizes)
{
    return AddPs(OneWayPs(there, sizes.DataWireBytes(sizes.mtuPayload)),
                 OneWayPs(back, sizes.ackWireBytes));
}

int64_t
AckWaitPs(const PathInfo& back, const FrameSizes& sizes)
{
    return OneWayPs(back, sizes.DataWireBytes(sizes.mtuPayload)) - back.delayPs;
}

uint64_t
BdpBytes(uint64_t bottleneckBps, int64_t rttPs)
{
    return static_cast<uint64_t>(Wide{bottleneckBps} * static_cast<uint64_t>(rttPs) /
                                 PS_BITS_PER_BYTE);
}

uint64_t
MessageWireBytes(uint64_t bytes, const FrameSizes& sizes)
{
    const uint64_t full = bytes / sizes.mtuPayload;
    const uint32_t rest = bytes % sizes.mtuPayload;
    return full * sizes.DataWireBytes(sizes.mtuPayload) + (rest ? sizes.DataWireBytes(rest) : 0);
}

int64_t
IdleDeliveryPs(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes, int64_t framePeriodPs)
{
    const uint64_t frames = (bytes + sizes.mtuPayload - 1) / sizes.mtuPayload;
    if (frames == 0)
    {
        return 0;
    }
    const uint32_t lastPayload = bytes - (frames - 1) * sizes.mtuPayload;
    const uint32_t fullWire = sizes.DataWireBytes(sizes.mtuPayload);
    const uint32_t lastWire = sizes.DataWireBytes(lastPayload);

    // Equal frames leave a row of links one slowest link's time apart; the last frame, which may be
    // shorter, catches up with the one before it and then waits for it at each link.
    int64_t firstFull = 0;           // the first full frame's last bit, at the far end of the link
    int64_t slowest = framePeriodPs; // between full frames on the link
    int64_t beforeLast = 0;          // when the link has sent the frame before the last
    // The last frame's last bit, at the far end of the link.
    int64_t last = TimesPs(framePeriodPs, frames - 1);
    for (const PathHop& hop : path.hops)
    {
        const int64_t full = SerializationPs(fullWire, hop.rateBps);
        slowest = std::max(slowest, full);
        beforeLast = frames > 1 ? AddPs(AddPs(firstFull, full), TimesPs(slowest, frames - 2)) : 0;
        firstFull = AddPs(firstFull, AddPs(full, hop.delayPs));
        last = AddPs(std::max(last, beforeLast),
                     AddPs(SerializationPs(lastWire, hop.rateBps), hop.delayPs));
    }
    return last;
}

int64_t
IdleFctPs(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes)
{
    return AddPs(IdleDeliveryPs(path, bytes, sizes), OneWayPs(path, sizes.ackWireBytes));
}

} // namespace ns3
