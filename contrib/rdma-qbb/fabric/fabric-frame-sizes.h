/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_FRAME_SIZES_H
#define FABRIC_FRAME_SIZES_H

#include "ns3/path-timing.h"

namespace ns3
{

class RdmaHw;

/// Sizes of the frames that a fabric's hosts send.
struct FabricFrameSizes
{
    FrameSizes network; ///< through network switches
    FrameSizes nvlink;  ///< through NVSwitches

    /// @return the sizes of a host that is set up
    static FabricFrameSizes Of(const RdmaHw& host);

    /// @return the sizes that hosts made now would have
    static FabricFrameSizes OfDefaults();
};

} // namespace ns3

#endif /* FABRIC_FRAME_SIZES_H */
