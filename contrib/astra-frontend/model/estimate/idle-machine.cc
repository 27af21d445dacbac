/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-machine.h"

#include "astra-frontend/model/formula/ana-sim.h"
#include "collectives/model/graph/chain-graph.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

// How it works. A group's ranks are renumbered so that its servers come first: all groups of a kind
// become one group, and its collective needs a network of these servers only. AnaSim then carries
// out the plan's graph as it would in a simulation with formulas. If the graph has too many
// messages, GetTime() draws a straight line through two runs on fewer servers, and TimeOfBytes(),
// within each of these, one through two runs with fewer bytes. The plan stays the same: chunks,
// channels and latencies are those of the whole collective.

namespace AstraSim
{

namespace
{

constexpr uint32_t FEWEST_SERVERS = 4; ///< that a ring or tree is cut to
/// Pipelines through a tree, a chain or NVSwitches need more messages until they flow steadily.
constexpr uint64_t DEEP_PIPELINE = 8;

using Growth = CollectiveAlgorithm::Growth;

Growth
GrowthOf(const CollectiveOffer& offer)
{
    return offer.algorithm->GetRules().growth;
}

/// @return whether data go through levels of a tree or along a chain
bool
IsDeep(const CollectiveOffer& offer, CollectiveOp op)
{
    return IsChain(op) || GrowthOf(offer) == Growth::Levels || GrowthOf(offer) == Growth::Depths;
}

/// @return y at @p x on the line through two points
TimePs
OnLine(double x, double x1, TimePs y1, double x2, TimePs y2)
{
    const double slope = static_cast<double>(y2 - y1) / (x2 - x1);
    return ns3::AddPs(y2, std::max<TimePs>(0, ns3::RoundToPs(std::max(0.0, slope * (x - x2)))));
}

} // namespace

MachinePaths::Machine
PortsOf(const MachineModel& machine, uint32_t ranks)
{
    MachinePaths::Machine ports;
    ports.ranks = ranks;
    ports.gpusPerServer = machine.gpusPerServer;
    ports.isJoined = machine.JoinsServers();
    ports.isMesh = machine.isMesh;
    ports.nvlinkGBps = machine.nvlinkGBps;
    ports.nicGBps = machine.nicGBps;
    ports.gpusPerNic = machine.gpusPerNic;
    ports.networkDelay = machine.networkDelay;
    return ports;
}

IdleMachine::Case
IdleMachine::MakeCase(const CollectiveOffer& offer,
                      CommGroup group,
                      CollectiveRequest request,
                      uint32_t servers) const
{
    auto plan = m_nccl.PlanAs(group, request, offer);
    return {std::move(group), std::move(request), servers, &offer, std::move(plan)};
}

IdleMachine::Case
IdleMachine::Canonical(const CommGroup& group,
                       const CollectiveRequest& request,
                       const CollectiveOffer& offer) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    CommGroup renumbered = group;
    uint32_t servers = 0;
    std::map<uint32_t, uint32_t> numbers; // new number by server
    for (int& rank : renumbered.ranks)
    {
        const uint32_t server = machine.ServerOf(rank);
        const auto [it, isNew] = numbers.try_emplace(server, servers);
        servers += isNew ? 1 : 0;
        rank += static_cast<int>((it->second - server) * machine.gpusPerServer);
    }
    return MakeCase(offer, std::move(renumbered), request, servers);
}

bool
IdleMachine::IsRegular(const Case& whole) const
{
    const uint32_t gpus = m_nccl.GetMachine().gpusPerServer;
    std::vector<std::set<uint32_t>> places(whole.servers);
    for (const int rank : whole.group.ranks)
    {
        places[static_cast<uint32_t>(rank) / gpus].insert(static_cast<uint32_t>(rank) % gpus);
    }
    return std::all_of(places.begin(), places.end(), [&](const auto& each) {
        return each == places.front();
    });
}

bool
IdleMachine::CanShrink(const Case& whole) const
{
    const Growth growth = GrowthOf(*whole.offer);
    const bool hasLine =
        growth == Growth::Levels || (growth == Growth::Steps && !IsChain(whole.request.op));
    return hasLine && whole.servers > FEWEST_SERVERS && whole.request.bytesPerPair.empty() &&
           IsRegular(whole);
}

IdleMachine::Case
IdleMachine::OnServers(const Case& whole, uint32_t servers) const
{
    const int perServer = static_cast<int>(m_nccl.GetMachine().gpusPerServer);
    CommGroup group = whole.group;
    CollectiveRequest request = whole.request;
    std::vector<int>& ranks = group.ranks;
    const int end = static_cast<int>(servers) * perServer;
    std::erase_if(ranks, [end](int rank) { return rank >= end; });
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
    return MakeCase(*whole.offer, std::move(group), std::move(request), servers);
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
    return MakeCase(*whole.offer, whole.group, std::move(request), whole.servers);
}

TimePs
IdleMachine::Execute(const Case& each) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    const GroupShape shape(each.group, machine);
    MachinePaths::Machine ports = PortsOf(machine, each.servers * machine.gpusPerServer);
    // The other GPUs at a NIC belong to groups of the same kind, which send alike.
    ports.nicGBps *= shape.GetNicShare();
    AnaSim network(std::make_shared<MachinePaths>(ports));

    TimePs end = 0;
    std::vector<std::unique_ptr<RankCollective>> ranks;
    for (uint32_t i = 0; i < shape.GetRanks(); ++i)
    {
        ranks.push_back(
            each.plan->CreateRank(i, network.GetNetwork(each.group.ranks[i]), 0, {}, [&] {
                end = network.GetLoop().Now();
            }));
    }
    for (const auto& rank : ranks)
    {
        rank->Start();
    }
    network.GetLoop().Run();
    return end;
}

TimePs
IdleMachine::TimeOfBytes(const Case& each) const
{
    Case fewer = each;
    uint64_t divisor = 1;
    const uint64_t most = m_mostFlows * (IsDeep(*each.offer, each.request.op) ? DEEP_PIPELINE : 1);
    while (fewer.CountFlows() > most)
    {
        Case next = WithBytes(each, divisor * 2);
        const uint64_t left = next.CountFlows();
        if (left == 0 || left * 10 > fewer.CountFlows() * 9)
        {
            break; // one message each: fewer bytes are no fewer messages
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
    const Case whole = Canonical(group, request, offer);
    if (whole.CountFlows() <= m_mostFlows || !CanShrink(whole))
    {
        return TimeOfBytes(whole);
    }
    uint32_t servers = FEWEST_SERVERS;
    Case large = OnServers(whole, servers);
    while (2 * servers < whole.servers)
    {
        Case next = OnServers(whole, 2 * servers);
        if (next.CountFlows() > m_mostFlows)
        {
            break;
        }
        servers *= 2;
        large = std::move(next);
    }
    const Case small = OnServers(whole, servers / 2);
    const bool isByLevels = GrowthOf(offer) == Growth::Levels;
    const auto rows = [isByLevels](const Case& each) {
        return isByLevels ? std::log2(static_cast<double>(each.servers)) : each.servers;
    };
    return OnLine(rows(whole), rows(small), TimeOfBytes(small), rows(large), TimeOfBytes(large));
}

} // namespace AstraSim
