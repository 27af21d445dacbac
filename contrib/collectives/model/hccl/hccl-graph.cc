/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "hccl-graph.h"

#include "collectives/model/collective/divide-up.h"
#include "collectives/model/graph/pair-bytes.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

// Lanes are numbered by phase: m_first has the first lane of each. A lane is a Distance, so many
// servers and places from the sender to the receiver, the same for all ranks; GetLane() finds the
// peer from it. CountMessages() and GetBytes() are formulas over the ranks' blocks, one for each
// kind of phase: a ring has one lane with a message for each step, NHR has a lane for each
// distance, a mesh a lane to each other place. A message needs all lanes of earlier phases. Within
// its phase, a ring's message also needs those before it on the ring, and NHR's the lanes of
// earlier distances (GetSources, GetNeeds).

HcclGraph::HcclGraph(const CollectiveRequest& request, HcclPlan plan)
    : FlowGraph(plan.layout.GetRanks(), 0, 2),
      m_request(request),
      m_plan(std::move(plan)),
      m_first{0}
{
    for (const HcclPhase& phase : m_plan.phases)
    {
        m_first.push_back(m_first.back() + CountLanes(phase.kind));
    }
    SetLaneCount(m_first.back());
}

uint32_t
HcclGraph::CountLanes(HcclKind kind) const
{
    const uint32_t otherServers = m_plan.layout.GetServers() - 1;
    const uint32_t otherPlaces = m_plan.layout.GetPlaces() - 1;
    switch (kind)
    {
    case HcclKind::RingReduce:
    case HcclKind::RingGather:
        return 1;
    case HcclKind::NhrReduce:
    case HcclKind::NhrGather:
        return DoublingSteps(m_plan.layout.GetServers());
    case HcclKind::PipelineReduce:
    case HcclKind::PipelineGather:
        return otherPlaces + 1;
    case HcclKind::RootNet:
    case HcclKind::CollectNet:
    case HcclKind::NetExchange:
        return otherServers;
    default:
        return otherPlaces;
    }
}

uint32_t
HcclGraph::PhaseOf(uint32_t lane) const
{
    const auto after = std::ranges::upper_bound(m_first, lane);
    return static_cast<uint32_t>(after - m_first.begin()) - 1;
}

// The ring of a pipeline is the last lane of a reduction, which waits for the others, and the first
// of a gathering, which the others wait for.
bool
HcclGraph::IsRingLane(uint32_t lane) const
{
    const uint32_t phase = PhaseOf(lane);
    return lane == (m_plan.phases[phase].kind == HcclKind::PipelineReduce ? m_first[phase + 1] - 1
                                                                          : m_first[phase]);
}

HcclGraph::Distance
HcclGraph::DistanceOf(uint32_t lane) const
{
    const uint32_t phase = PhaseOf(lane);
    const uint32_t number = lane - m_first[phase];
    const uint32_t servers = m_plan.layout.GetServers();
    const HcclKind kind = m_plan.phases[phase].kind;
    switch (kind)
    {
    case HcclKind::RingReduce:
    case HcclKind::RingGather:
        return {1, 0};
    case HcclKind::NhrReduce:
        return {servers - (1U << number), 0};
    case HcclKind::NhrGather:
        return {1U << (CountLanes(kind) - 1 - number), 0};
    case HcclKind::PipelineReduce:
    case HcclKind::PipelineGather:
        return IsRingLane(lane)
                   ? Distance{1, 0}
                   : Distance{0, number + (kind == HcclKind::PipelineReduce ? 1U : 0U)};
    case HcclKind::RootNet:
    case HcclKind::CollectNet:
    case HcclKind::NetExchange:
        return {number + 1, 0};
    default:
        return {0, number + 1};
    }
}

Lane
HcclGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const HcclLayout& layout = m_plan.layout;
    const Distance way = DistanceOf(index);
    const auto along = [outbound](uint32_t from, uint32_t distance, uint32_t count) {
        return (from + (outbound ? distance : count - distance)) % count;
    };
    Lane lane;
    lane.peer = layout.RankAt(along(layout.ServerOf(rank), way.servers, layout.GetServers()),
                              along(layout.PlaceOf(rank), way.places, layout.GetPlaces()));
    lane.channel = index;
    lane.tag = static_cast<uint8_t>(PhaseOf(index));
    lane.messages = CountMessages(outbound ? rank : lane.peer, index);
    return lane;
}

uint64_t
HcclGraph::CountMessages(uint32_t sender, uint32_t lane) const
{
    const HcclLayout& layout = m_plan.layout;
    const HcclKind kind = m_plan.phases[PhaseOf(lane)].kind;
    const auto root = static_cast<uint32_t>(m_request.root);
    const Distance way = DistanceOf(lane);
    const bool isWithRoot = layout.ServerOf(sender) == layout.ServerOf(root);
    switch (kind)
    {
    case HcclKind::RingReduce:
    case HcclKind::RingGather:
        return layout.GetServers() - 1;
    case HcclKind::PipelineReduce:
    case HcclKind::PipelineGather:
        return layout.GetServers() - (IsRingLane(lane) ? 1 : 0);
    case HcclKind::RootMesh:
        return sender == root ? 1 : 0;
    case HcclKind::RootNet:
        return isWithRoot ? 1 : 0;
    case HcclKind::CollectNet:
        return (layout.ServerOf(sender) + way.servers) % layout.GetServers() ==
                       layout.ServerOf(root)
                   ? 1
                   : 0;
    case HcclKind::CollectMesh:
        return isWithRoot && (layout.PlaceOf(sender) + way.places) % layout.GetPlaces() ==
                                 layout.PlaceOf(root)
                   ? 1
                   : 0;
    case HcclKind::NetExchange:
        // AllToAllV has a message on every lane, also an empty one: to find the empty ones takes
        // long.
        return IsExchange(m_request.op) || GetBytes(sender, lane, 0) > 0 ? 1 : 0;
    default:
        return 1;
    }
}

uint64_t
HcclGraph::BlockAt(uint32_t server, uint32_t place) const
{
    return BlockRange(m_request.bytes, GetRanks(), m_plan.layout.RankAt(server, place)).second;
}

uint64_t
HcclGraph::BlocksOfPlace(uint32_t place) const
{
    uint64_t bytes = 0;
    for (uint32_t server = 0; server < m_plan.layout.GetServers(); ++server)
    {
        bytes += BlockAt(server, place);
    }
    return bytes;
}

uint64_t
HcclGraph::BlocksOfServer(uint32_t server) const
{
    uint64_t bytes = 0;
    for (uint32_t place = 0; place < m_plan.layout.GetPlaces(); ++place)
    {
        bytes += BlockAt(server, place);
    }
    return bytes;
}

uint64_t
HcclGraph::NetPart(const HcclPhase& phase, uint32_t server, uint32_t place) const
{
    return phase.wide ? BlocksOfServer(server) : BlockAt(server, place);
}

uint64_t
HcclGraph::MeshBytes(const HcclPhase& phase, uint32_t server, uint32_t place) const
{
    return phase.wide ? BlocksOfPlace(place) : BlockAt(server, place);
}

uint32_t
HcclGraph::ServerBefore(uint32_t server, uint64_t steps) const
{
    const uint32_t servers = m_plan.layout.GetServers();
    return static_cast<uint32_t>((server + servers - steps % servers) % servers);
}

// In a gathering, a rank has the parts of servers at multiples of twice the distance before it, and
// sends on those that the receiver still lacks. A reduction goes the same ways back.
uint64_t
HcclGraph::NhrBytes(uint32_t rank, uint32_t lane) const
{
    const HcclPhase& phase = m_plan.phases[PhaseOf(lane)];
    const uint32_t servers = m_plan.layout.GetServers();
    const uint32_t ahead = DistanceOf(lane).servers;
    const bool reduces = phase.kind == HcclKind::NhrReduce;
    const uint32_t distance = reduces ? servers - ahead : ahead;
    const uint32_t parts = (servers - 1 + distance) / (2 * distance);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < parts; ++i)
    {
        const uint64_t back = (reduces ? distance : 0) + i * 2 * distance;
        bytes += NetPart(phase,
                         ServerBefore(m_plan.layout.ServerOf(rank), back),
                         m_plan.layout.PlaceOf(rank));
    }
    return bytes;
}

uint64_t
HcclGraph::ExchangeBytes(uint32_t from, uint32_t to, HcclKind kind) const
{
    const HcclLayout& layout = m_plan.layout;
    uint64_t bytes = 0;
    if (kind == HcclKind::MeshExchange)
    {
        for (uint32_t server = 0; server < layout.GetServers(); ++server)
        {
            const uint32_t end = layout.RankAt(server, layout.PlaceOf(to));
            bytes += PairBytes(m_request, GetRanks(), from, end);
        }
        return bytes;
    }
    for (uint32_t place = 0; place < layout.GetPlaces(); ++place)
    {
        const uint32_t origin = layout.RankAt(layout.ServerOf(from), place);
        bytes += PairBytes(m_request, GetRanks(), origin, to);
    }
    return bytes;
}

uint64_t
HcclGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const HcclLayout& layout = m_plan.layout;
    const HcclPhase& phase = m_plan.phases[PhaseOf(outbound)];
    const uint32_t server = layout.ServerOf(rank);
    const uint32_t place = layout.PlaceOf(rank);
    const Distance way = DistanceOf(outbound);
    const uint32_t toServer = (server + way.servers) % layout.GetServers();
    const uint32_t toPlace = (place + way.places) % layout.GetPlaces();
    switch (phase.kind)
    {
    case HcclKind::MeshReduce:
        return MeshBytes(phase, server, toPlace);
    case HcclKind::MeshGather:
        return MeshBytes(phase, server, place);
    case HcclKind::RingReduce:
        return NetPart(phase, ServerBefore(server, message + 1), place);
    case HcclKind::RingGather:
        return NetPart(phase, ServerBefore(server, message), place);
    case HcclKind::NhrReduce:
    case HcclKind::NhrGather:
        return NhrBytes(rank, outbound);
    case HcclKind::PipelineReduce:
        return BlockAt(ServerBefore(server, message + 1), toPlace);
    case HcclKind::PipelineGather:
        return BlockAt(ServerBefore(server, message), place);
    case HcclKind::RootMesh:
        return BlocksOfPlace(toPlace);
    case HcclKind::RootNet:
        return BlockAt(toServer, place);
    case HcclKind::CollectNet:
        return BlockAt(server, place);
    case HcclKind::CollectMesh:
        return BlocksOfPlace(place);
    default:
        return ExchangeBytes(rank, layout.RankAt(toServer, toPlace), phase.kind);
    }
}

LaneRange
HcclGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const uint32_t phase = PhaseOf(outbound);
    switch (m_plan.phases[phase].kind)
    {
    case HcclKind::RingReduce:
    case HcclKind::RingGather:
        return Lanes(0, outbound + 1);
    case HcclKind::NhrReduce:
    case HcclKind::NhrGather:
    case HcclKind::NetExchange:
        return Lanes(0, outbound);
    case HcclKind::PipelineReduce:
        return Lanes(0, IsRingLane(outbound) ? outbound + 1 : m_first[phase]);
    case HcclKind::PipelineGather:
        return Lanes(0, m_first[phase] + 1);
    default:
        return Lanes(0, m_first[phase]);
    }
}

LaneRange
HcclGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const uint32_t first = m_first[PhaseOf(inbound)];
    return Lanes(first, GetLaneCount() - first);
}

uint64_t
HcclGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    if (IsExchange(m_request.op))
    {
        return 1; // lanes have a message each
    }
    const uint32_t phase = PhaseOf(outbound);
    if (PhaseOf(inbound) < phase)
    {
        return GetInbound(rank, inbound).messages;
    }
    switch (m_plan.phases[phase].kind)
    {
    case HcclKind::RingReduce:
    case HcclKind::RingGather:
    case HcclKind::PipelineGather:
        return message;
    case HcclKind::PipelineReduce:
        return message + (inbound == outbound ? 0 : 1);
    default: // over distances that double
        return GetInbound(rank, inbound).messages;
    }
}

} // namespace AstraSim
