/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "channel-graph.h"

namespace AstraSim
{

uint64_t
StepBytes(NcclProtocol protocol, uint64_t simple)
{
    switch (protocol)
    {
    case NcclProtocol::Ll:
        return 32768; // of 64 KiB, half of them flags
    case NcclProtocol::Ll128:
        return 576000; // of 614400 bytes, 120 of each 128
    default:
        return simple;
    }
}

uint64_t
CutChunk(uint64_t chunk,
         std::initializer_list<ChunkRule> rules,
         uint64_t channelBytes,
         uint64_t depth)
{
    for (const ChunkRule& rule : rules)
    {
        while (chunk > rule.least && channelBytes / chunk < depth * rule.perDepth)
        {
            chunk /= 2;
        }
    }
    return chunk;
}

namespace
{

ChannelSplit
SplitOf(const CollectiveRequest& request, const GroupShape& shape, const ChannelLayout& layout)
{
    return {request.op, layout.protocol, shape.GetRanks(), request.bytes, layout.channels};
}

} // namespace

ChannelGraph::ChannelGraph(const CollectiveRequest& request,
                           const GroupShape& shape,
                           const ChannelLayout& layout,
                           uint32_t lanesPerChannel,
                           uint32_t slots)
    : FlowGraph(shape.GetRanks(),
                shape.GetRanks() > 1
                    ? lanesPerChannel * SplitOf(request, shape, layout).GetChannels()
                    : 0,
                slots),
      m_shape(shape),
      m_layout(layout),
      m_split(SplitOf(request, shape, layout))
{
    SetHoldsSlots(true);
}

Lane
ChannelGraph::Connect(uint32_t peer, uint32_t channel, ConnType type)
{
    Lane lane;
    lane.peer = peer;
    lane.channel = channel;
    lane.tag = static_cast<uint8_t>(channel);
    lane.type = type;
    return lane;
}

} // namespace AstraSim
