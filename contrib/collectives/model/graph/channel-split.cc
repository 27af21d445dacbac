/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "channel-split.h"

#include "collectives/model/collective/divide-up.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

constexpr uint64_t MIN_TRAFFIC = 32768; ///< bytes of traffic that are worth a channel

} // namespace

ChannelSplit::ChannelSplit(CollectiveOp op,
                           NcclProtocol protocol,
                           uint32_t ranks,
                           uint64_t bytes,
                           uint32_t channels)
    : m_total(bytes),
      m_first(bytes)
{
    if (channels < 2 || bytes == 0)
    {
        return;
    }
    // AllGather and ReduceScatter divide every rank's block in the same way.
    const bool inBlocks = op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
    const uint64_t blocks = inBlocks ? ranks : 1;
    const uint64_t weight = protocol == NcclProtocol::Ll ? 4 : 1;
    const uint64_t trafficPerByte = weight * (op == CollectiveOp::AllReduce ? 2 : blocks);
    const uint64_t blockCell = RoundUp(DivideUp(MIN_TRAFFIC, trafficPerByte), NCCL_ALIGNMENT);
    const uint64_t trafficPerCell = blockCell * trafficPerByte;
    const uint64_t cellBytes = blockCell * blocks;

    const uint64_t traffic = std::max(MIN_TRAFFIC, bytes * trafficPerByte / blocks);
    const uint64_t trafficPerChannel = RoundUp(traffic / channels, NCCL_ALIGNMENT);
    const uint64_t cells = DivideUp(bytes, cellBytes);
    uint64_t perChannel =
        std::clamp(DivideUp(trafficPerChannel, trafficPerCell), uint64_t{1}, cells);
    m_first = std::min(bytes, perChannel * cellBytes);
    uint64_t used = DivideUp(cells, perChannel);
    if (used > channels)
    {
        // Rounding left a cell too many: the last channel takes it.
        used = channels;
        perChannel = (cells - perChannel) / (channels - 1);
    }
    m_middle = perChannel * cellBytes;
    m_channels = static_cast<uint32_t>(used);
}

} // namespace AstraSim
