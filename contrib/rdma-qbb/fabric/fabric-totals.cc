/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-totals.h"

#include "fabric-parts.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <set>

namespace ns3
{

namespace
{

uint64_t
CountFramesInUse(const FabricParts& fabric)
{
    std::set<const QbbFramePool*> pools;
    uint64_t frames = 0;
    for (const auto& devices : fabric.devices)
    {
        for (const QbbNetDevice* device : devices)
        {
            const QbbFramePool& pool = device->GetPool();
            frames += pools.insert(&pool).second ? pool.GetInUse() : 0;
        }
    }
    return frames;
}

} // namespace

FabricTotals&
FabricTotals::operator+=(const FabricTotals& other)
{
    CarriedTraffic::operator+=(other);
    dataPayloadSent += other.dataPayloadSent;
    dataPayloadReceived += other.dataPayloadReceived;
    payloadLost += other.payloadLost;
    payloadTaken += other.payloadTaken;
    payloadMade += other.payloadMade;
    bufferDrops += other.bufferDrops;
    routeDrops += other.routeDrops;
    wireLosses += other.wireLosses;
    flushed += other.flushed;
    framesInUse += other.framesInUse;
    return *this;
}

void
FabricTotals::AddPorts(const FabricParts& fabric)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (uint32_t node = 0; node < fabric.devices.size(); ++node)
    {
        for (const QbbNetDevice* device : fabric.devices[node])
        {
            const QbbPortCounters counters = device->GetCounters(nowPs);
            // Losses on a wire count in the process that has its frames, which may be the far
            // end's.
            wireLosses += counters.lostFrames;
            payloadLost += counters.lostPayload;
            if (!fabric.IsHere(node))
            {
                continue;
            }
            packetHops += counters.rxFrames;
            packets += counters.txFrames;
            flushed += counters.flushedFrames;
            pauses += counters.pausesReceived;
            pausedPs += counters.pausedPs;
            replays += counters.replayedFrames;
        }
    }
}

void
FabricTotals::AddSwitches(const FabricParts& fabric)
{
    for (const SwitchNode* node : fabric.switches)
    {
        if (node)
        {
            bufferDrops += node->GetBufferDrops();
            losslessDrops += node->GetLosslessDrops();
            routeDrops += node->GetRouteDrops();
            marks += node->GetMarks();
            trims += node->GetTrims();
            payloadLost += node->GetDroppedPayload();
        }
    }
    for (const auto& engine : fabric.inNetwork)
    {
        payloadTaken += engine->GetPayload().taken;
        payloadMade += engine->GetPayload().made;
    }
}

void
FabricTotals::AddHosts(const FabricParts& fabric)
{
    for (const RdmaDriver* driver : fabric.drivers)
    {
        const RdmaHwCounters counters = driver->GetHw().GetCounters();
        dataPayloadSent += counters.sentPayload;
        dataPayloadReceived += counters.receivedPayload;
        timeouts += counters.timeouts;
        retransmittedBytes += counters.retransmitted;
        nacks += counters.nacksSent;
        cnps += counters.cnpsReceived;
        outOfOrderPackets += counters.outOfOrderFrames;
        reorderBytes = std::max(reorderBytes, counters.reorderBytes);
    }
}

FabricTotals
FabricTotals::Of(const FabricParts& fabric)
{
    FabricTotals here;
    here.AddPorts(fabric);
    here.AddSwitches(fabric);
    here.AddHosts(fabric);
    here.drops = here.bufferDrops + here.routeDrops + here.wireLosses + here.flushed;
    here.framesInUse = CountFramesInUse(fabric);
    FabricTotals all;
    for (const FabricTotals& each : ValueOfAllProcesses(here))
    {
        all += each;
    }
    return all;
}

} // namespace ns3
