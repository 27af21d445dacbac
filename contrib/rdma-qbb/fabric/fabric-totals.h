/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_TOTALS_H
#define FABRIC_TOTALS_H

#include "carried-traffic.h"

#include <cstdint>

namespace ns3
{

struct FabricParts;

/**
 * @ingroup rdma-qbb
 * @brief The traffic that a fabric has carried, and the books of its conservation law.
 *
 * Its packets are frames, PFC's not included.
 */
struct FabricTotals : CarriedTraffic
{
    uint64_t dataPayloadSent{0};     ///< RDMA payload bytes put into frames
    uint64_t dataPayloadReceived{0}; ///< RDMA payload bytes that arrived at their hosts
    uint64_t payloadLost{0};         ///< RDMA payload bytes lost on wires or dropped in switches
    uint64_t payloadTaken{0};        ///< payload bytes that switches have added up or copied
    uint64_t payloadMade{0};         ///< payload bytes of the sums and copies they have sent
    uint64_t bufferDrops{0};         ///< frames for which a switch had no room
    uint64_t routeDrops{0};          ///< frames without a path
    uint64_t wireLosses{0};          ///< frames lost on wires
    uint64_t flushed{0};             ///< frames dropped with a queue: link down, PFC watchdog
    uint64_t framesInUse{0};         ///< frames that are somewhere in the fabric

    /// @return the sums over all nodes, of all processes, as of now; but for
    /// the counts that RdmaFabric::GetTotals() adds of its PFC watchdog
    static FabricTotals Of(const FabricParts& fabric);

    /// Add the counts of another process.
    FabricTotals& operator+=(const FabricTotals& other);

    /// @return whether each payload byte has come to its end, once no frame is under way
    bool ConservesPayload() const
    {
        return framesInUse == 0 &&
               dataPayloadSent + payloadMade == dataPayloadReceived + payloadLost + payloadTaken;
    }

  private:
    void AddPorts(const FabricParts& fabric);
    void AddSwitches(const FabricParts& fabric);
    void AddHosts(const FabricParts& fabric);
};

} // namespace ns3

#endif /* FABRIC_TOTALS_H */
