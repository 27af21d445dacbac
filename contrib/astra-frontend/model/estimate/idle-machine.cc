/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-machine.h"

#include "astra-frontend/model/network/topology-of-machine.h"
#include "collectives/model/graph/chain-graph.h"
#include "collectives/model/graph/pair-bytes.h"

#include "ns3/clock-range.h"
#include "ns3/event-loop.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

// How it works. Without a topology, a group's ranks are renumbered so that its servers come first:
// its collective needs a network of these servers only. A FlowLevelFabric then carries out the
// plan's graph as it would in a simulation with flows. If the graph has too many
// messages, GetTime() draws a straight line through two runs on fewer servers, and TimeOfBytes(),
// within each of these, one through two runs with fewer bytes. The plan stays the same: chunks,
// channels and latencies are those of the whole collective.

namespace AstraSim
{

namespace
{

/// That a ring or tree is cut to. A tree of two servers is none, so half as many are two levels.
constexpr uint32_t FEWEST_SERVERS = 8;
/// Fewest messages of a pair that show how the time grows with the bytes: the first ones begin
/// together, and meet as later ones do not.
constexpr uint64_t MESSAGES_OF_PAIR = 8;
/// Factor on the limit of messages where these are no pairs': a ring or tree needs more until its
/// pipeline is full, and each costs less, as it meets few others.
constexpr uint64_t PIPELINE = 5;
/// Divisor of the limit for messages of pairs, which meet each other.
constexpr uint64_t MEETING = 4;

using Growth = CollectiveAlgorithm::Growth;

Growth
GrowthOf(const CollectiveOffer& offer)
{
    return offer.algorithm->GetRules().growth;
}

/// @return the fewest messages of all pairs of a group that show how the time grows with the bytes
uint64_t
FewestOfPairs(const CommGroup& group)
{
    const uint64_t ranks = group.ranks.size();
    return ranks * (ranks - 1) * MESSAGES_OF_PAIR;
}

/// @return y at @p x on the line through two points
TimePs
OnLine(double x, double x1, TimePs y1, double x2, TimePs y2)
{
    const double slope = static_cast<double>(y2 - y1) / (x2 - x1);
    return ns3::AddPs(y2, std::max<TimePs>(0, ns3::RoundToPs(std::max(0.0, slope * (x - x2)))));
}

} // namespace

IdleMachine::IdleMachine(const MockNcclGroup& nccl, IdleNetwork network, uint64_t mostFlows)
    : m_nccl(nccl),
      m_network(std::move(network)),
      m_mostFlows(mostFlows)
{
    if (m_network.topology)
    {
        m_shapes.emplace(*m_network.topology);
    }
}

IdleMachine::Key
IdleMachine::KeyOf(const CommGroup& group,
                   const CollectiveRequest& request,
                   const CollectiveOffer& offer) const
{
    std::vector<uint64_t> shape;
    if (m_shapes && m_shapes->HasLevels())
    {
        shape = m_shapes->Find(group.ranks);
    }
    else
    {
        const CommGroup its = m_network.topology ? group : Renumber(group);
        shape.assign(its.ranks.begin(), its.ranks.end());
    }
    std::vector<uint32_t> places;
    for (const int rank : group.ranks)
    {
        places.push_back(static_cast<uint32_t>(rank) % m_nccl.GetMachine().gpusPerServer);
    }
    return {std::move(shape),
            std::move(places),
            request.op,
            request.bytes,
            request.root,
            request.bytesPerPair,
            offer.algorithm,
            offer.choice.protocol,
            offer.choice.channels};
}

IdleMachine::Case
IdleMachine::MakeCase(const CollectiveOffer& offer,
                      CommGroup group,
                      CollectiveRequest request) const
{
    std::vector<uint32_t> servers;
    std::unordered_set<uint32_t> known;
    for (const int rank : group.ranks)
    {
        const uint32_t server = m_nccl.GetMachine().ServerOf(rank);
        if (known.insert(server).second)
        {
            servers.push_back(server);
        }
    }
    auto plan = m_nccl.PlanAs(group, request, offer);
    return {std::move(group), std::move(request), std::move(servers), &offer, std::move(plan)};
}

CommGroup
IdleMachine::Renumber(const CommGroup& group) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    CommGroup renumbered = group;
    std::map<uint32_t, uint32_t> numbers; // new number by server
    for (int& rank : renumbered.ranks)
    {
        const uint32_t server = machine.ServerOf(rank);
        const auto next = static_cast<uint32_t>(numbers.size());
        const uint32_t number = numbers.try_emplace(server, next).first->second;
        rank += static_cast<int>((number - server) * machine.gpusPerServer);
    }
    return renumbered;
}

bool
IdleMachine::IsRegular(const Case& whole) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    std::map<uint32_t, std::set<uint32_t>> places; // by server
    for (const int rank : whole.group.ranks)
    {
        places[machine.ServerOf(rank)].insert(static_cast<uint32_t>(rank) % machine.gpusPerServer);
    }
    return std::ranges::all_of(places, [&](const auto& each) {
        return each.second == places.begin()->second;
    });
}

bool
IdleMachine::CanShrink(const Case& whole) const
{
    const Growth growth = GrowthOf(*whole.offer);
    const bool hasLine =
        growth == Growth::Levels || (growth == Growth::Steps && !IsChain(whole.request.op));
    return hasLine && whole.servers.size() > FEWEST_SERVERS && whole.request.bytesPerPair.empty() &&
           IsRegular(whole);
}

bool
IdleMachine::HasFewFlows(const Case& each) const
{
    // Servers that exchange with all others meet on links between switches as fewer do not, while
    // bytes of a pair follow each other: fewer bytes say more of such a collective. Between powers
    // of two, levels of a tree are no line.
    const bool uneven = GrowthOf(*each.offer) == Growth::Levels;
    return each.CountFlows() <= m_mostFlows * (uneven ? PIPELINE : 1) ||
           (IsPairwise(each.request.op) && FewestOfPairs(each.group) <= m_mostFlows);
}

IdleMachine::Case
IdleMachine::OnServers(const Case& whole, uint32_t servers) const
{
    const int perServer = static_cast<int>(m_nccl.GetMachine().gpusPerServer);
    CommGroup group = whole.group;
    CollectiveRequest request = whole.request;
    std::vector<int>& ranks = group.ranks;
    const std::set<uint32_t> first(whole.servers.begin(), whole.servers.begin() + servers);
    std::erase_if(ranks,
                  [&](int rank) { return !first.contains(m_nccl.GetMachine().ServerOf(rank)); });
    // The root keeps its place in a server.
    const int root = whole.group.ranks[static_cast<std::size_t>(request.root)] % perServer;
    request.root = static_cast<int>(
        std::ranges::find_if(ranks, [&](int rank) { return rank % perServer == root; }) -
        ranks.begin());
    if (GrowthOf(*whole.offer) == Growth::Steps)
    {
        // Each step, and each pair, has as many bytes as before.
        request.bytes = whole.request.bytes / whole.group.ranks.size() * ranks.size();
    }
    return MakeCase(*whole.offer, std::move(group), std::move(request));
}

IdleMachine::Case
IdleMachine::WithBytes(const Case& whole, uint64_t divisor) const
{
    CollectiveRequest request = whole.request;
    const uint64_t ranks = whole.group.ranks.size();
    request.bytes = whole.request.bytes / divisor / ranks * ranks;
    for (uint64_t& bytes : request.bytesPerPair)
    {
        bytes /= divisor;
    }
    return MakeCase(*whole.offer, whole.group, std::move(request));
}

ns3::ClusterTopology
IdleMachine::MakeTopology(const Case& each) const
{
    MachineModel machine = m_nccl.GetMachine();
    machine.nicGBps *= m_network.nicRatePart;
    ns3::ClusterTopology topology =
        m_network.topology ? *m_network.topology
                           : TopologyOfMachine(machine, static_cast<uint32_t>(each.servers.size()));
    // The other GPUs at a NIC belong to groups of the same kind, which send alike.
    const double nicShare = GroupShape(each.group, machine).GetNicShare();
    if (nicShare < 1)
    {
        ScaleSharedNics(topology, nicShare);
    }
    return topology;
}

TimePs
IdleMachine::Execute(const Case& each) const
{
    const ns3::ClusterTopology topology = MakeTopology(each);
    EventLoop loop;
    FlowLevelFabric network(loop, topology, m_network.config);
    MessageInfo info;
    info.collective = 1;
    TimePs end = 0;
    std::size_t through = 0;
    std::vector<std::unique_ptr<RankCollective>> ranks;
    for (uint32_t i = 0; i < each.group.ranks.size(); ++i)
    {
        ranks.push_back(
            each.plan->CreateRank(i, network.GetNetwork(each.group.ranks[i]), 0, info, [&] {
                end = loop.Now();
                ++through;
            }));
    }
    for (const auto& rank : ranks)
    {
        rank->Start();
    }
    loop.Run();
    if (through < ranks.size())
    {
        const auto waits = network.DescribeCutOff(1);
        throw ns3::InputError(topology.source,
                              0,
                              "a collective cannot end: " +
                                  (waits.empty() ? "a message is lost" : waits.front()),
                              "a path between the GPUs of each group");
    }
    return end;
}

TimePs
IdleMachine::TimeOfBytes(const Case& each) const
{
    Case fewer = each;
    uint64_t divisor = 1;
    const bool pairwise = IsPairwise(each.request.op);
    const uint64_t most = pairwise ? m_mostFlows / MEETING : m_mostFlows * PIPELINE;
    const uint64_t fewest = pairwise ? std::min(FewestOfPairs(each.group), m_mostFlows) : 1;
    while (fewer.CountFlows() > most)
    {
        Case next = WithBytes(each, divisor * 2);
        const uint64_t left = next.CountFlows();
        if (left < fewest || left * 10 > fewer.CountFlows() * 9)
        {
            break; // with one message each, fewer bytes are no fewer messages
        }
        divisor *= 2;
        fewer = std::move(next);
    }
    const TimePs time = Execute(fewer);
    if (divisor == 1)
    {
        return time;
    }
    const Case half = WithBytes(each, divisor * 2);
    const auto bytes = [](const Case& which) {
        uint64_t sum = which.request.bytes;
        for (const uint64_t pair : which.request.bytesPerPair)
        {
            sum += pair;
        }
        return static_cast<double>(sum);
    };
    return OnLine(bytes(each), bytes(half), Execute(half), bytes(fewer), time);
}

TimePs
IdleMachine::GetTime(const CommGroup& group,
                     const CollectiveRequest& request,
                     const CollectiveOffer& offer) const
{
    if (GrowthOf(offer) == Growth::Predicted)
    {
        return offer.choice.predicted;
    }
    if (group.ranks.size() < 2)
    {
        return 0;
    }
    Key key = KeyOf(group, request, offer);
    const auto known = m_times.find(key);
    if (known != m_times.end())
    {
        return known->second;
    }
    return m_times.emplace(std::move(key), FindTime(group, request, offer)).first->second;
}

TimePs
IdleMachine::FindTime(const CommGroup& group,
                      const CollectiveRequest& request,
                      const CollectiveOffer& offer) const
{
    const Case whole = MakeCase(offer, m_network.topology ? group : Renumber(group), request);
    if (HasFewFlows(whole) || !CanShrink(whole))
    {
        return TimeOfBytes(whole);
    }
    uint32_t servers = FEWEST_SERVERS;
    Case large = OnServers(whole, servers);
    while (2 * servers < whole.servers.size())
    {
        Case next = OnServers(whole, 2 * servers);
        if (!HasFewFlows(next))
        {
            break;
        }
        servers *= 2;
        large = std::move(next);
    }
    const Case small = OnServers(whole, servers / 2);
    const bool isByLevels = GrowthOf(offer) == Growth::Levels;
    const auto rows = [isByLevels](const Case& each) {
        const auto servers = static_cast<double>(each.servers.size());
        return isByLevels ? std::log2(servers) : servers;
    };
    return OnLine(rows(whole), rows(small), TimeOfBytes(small), rows(large), TimeOfBytes(large));
}

} // namespace AstraSim
