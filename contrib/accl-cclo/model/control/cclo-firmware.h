/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_FIRMWARE_H
#define CCLO_FIRMWARE_H

#include "cclo-processor.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief The control plane: the routines by which its processor carries out calls.
 *
 * Follows the firmware of Xilinx/ACCL@723d8ec. One routine per operation, a coroutine that awaits
 * the events that the processor polls for; trees and rings wait in place, as there.
 *
 * doc/accl-cclo.rst lists where the firmware has defects that this model does not have.
 */
class CcloFirmware : public CcloProcessor
{
  public:
    static TypeId GetTypeId();

  private:
    /// Elements cut into as many parts as there are ranks, the last ones smaller or empty.
    struct RingParts
    {
        uint64_t elements;
        uint32_t bulk; ///< elements of a part but for the last ones

        uint32_t CountOf(uint32_t part) const
        {
            const uint64_t begin = uint64_t{bulk} * part;
            return begin >= elements
                       ? 0
                       : static_cast<uint32_t>(std::min<uint64_t>(bulk, elements - begin));
        }
    };

    CcloTask Dispatch(CcloCall call) override;

    // --- operations
    CcloTask Copy(CcloCall call);
    CcloTask Combine(CcloCall call);
    CcloTask Send(CcloCall call);
    CcloTask SendEager(CcloCall call);
    CcloTask Recv(CcloCall call);
    CcloTask RecvEager(CcloCall call);
    CcloTask Broadcast(CcloCall call);
    CcloTask BroadcastEager(CcloCall call);
    CcloTask BroadcastFlat(CcloCall call);
    CcloTask BroadcastTree(CcloCall call);
    CcloTask Scatter(CcloCall call);
    CcloTask ScatterEager(CcloCall call);
    CcloTask ScatterRoot(CcloCall call);
    /// Write a part, at a multiple of @p partBytes, to each rank that says where, up to step @p
    /// end.
    CcloTask WriteToReady(CcloCall call, uint64_t partBytes, uint32_t end, uint32_t pending);
    CcloTask Gather(CcloCall call);
    CcloTask GatherRing(CcloCall call);
    CcloTask GatherRingRoot(CcloCall call);
    CcloTask GatherFlatRoot(CcloCall call);
    CcloTask AllGather(CcloCall call);
    CcloTask AllGatherRing(CcloCall call);
    /// Store the parts from the rank before and relay them, until the result holds all parts.
    /// @param position the part that this rank sent last
    CcloTask GatherRounds(CcloCall call, RingParts parts, uint32_t position);
    CcloTask AllGatherWrites(CcloCall call);
    CcloTask Reduce(CcloCall call);
    CcloTask ReduceRing(CcloCall call);
    CcloTask ReduceFlatRoot(CcloCall call);
    CcloTask ReduceTree(CcloCall call);
    CcloTask ReduceScatter(CcloCall call);
    CcloTask ReduceScatterRing(CcloCall call);
    /// Send a part; then add the own parts to the arriving ones and relay the sums; store the last
    /// sum.
    /// @param position the part that this rank sends first
    /// @param resultStride where the last sum goes from the call's result on; none: to it
    CcloTask ReduceRounds(CcloCall call,
                          RingParts parts,
                          uint32_t position,
                          std::optional<int64_t> resultStride);
    CcloTask AllReduce(CcloCall call);
    CcloTask AllReduceRing(CcloCall call);
    CcloTask AllReduceSegmentGather(CcloCall call, RingParts parts);
    CcloTask AllToAll(CcloCall call);
    CcloTask Barrier(CcloCall call);
};

} // namespace ns3

#endif /* CCLO_FIRMWARE_H */
