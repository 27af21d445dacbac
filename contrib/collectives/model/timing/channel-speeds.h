/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHANNEL_SPEEDS_H
#define CHANNEL_SPEEDS_H

#include "ns3/gpu-model.h"

#include <cstdint>

namespace AstraSim
{

/// Passes of the copy loop of a channel's block; see LaneTimes.
struct BlockPasses
{
    uint64_t bytes{0}; ///< of data in one pass; 0: a block never waits for itself
    uint32_t hiddenBytes{0};
    bool waitsEach{false};
    bool areWhole{false};
};

/// Times of messages between nodes besides those of the links.
struct NetTimes
{
    TimePs latency{0};       ///< per step
    uint32_t slotTrips{1};   ///< see NetworkKind
    SlowStarts slowStarts{}; ///< see LaneTimes
};

/// Times of the blocks that serve one of NCCL's channels.
struct ChannelSpeeds
{
    double channelGBps{0};  ///< of a channel per direction, protocol overhead included
    double blockGBps{0};    ///< data that a block passes on with Simple; 0: no limit between nodes
    TimePs baseLatency{0};  ///< once per collective
    TimePs intraLatency{0}; ///< per step within a node
    NetTimes net{};
    BlockPasses passes{};
};

} // namespace AstraSim

#endif /* CHANNEL_SPEEDS_H */
