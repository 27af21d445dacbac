/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-machine.h"

#include "astra-frontend/model/formula/ana-sim.h"
#include "astra-frontend/model/graph/pair-bytes.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

// How it works. A group's ranks are renumbered so that its servers come first: all groups of a kind
// become one, whose collective needs a network of these servers only. AnaSim then carries out the
// plan's graph as it would in a simulation with formulas. If the graph has too many messages,
// GetTime() draws a straight line through two runs on fewer servers, and TimeOfBytes(), within each
// of these, one through two runs with fewer bytes. The plan stays the same: chunks, channels and
// latencies are those of the whole collective.

namespace AstraSim
{

namespace
{

constexpr uint32_t FEWEST_SERVERS = 4; ///< that a ring or tree is cut to
/// Pipelines through a tree, a chain or NVSwitches need more messages until they flow steadily.
constexpr uint64_t DEEP_PIPELINE = 8;

bool
IsNvls(const NcclPlan& plan)
{
    return plan.algorithm == NcclAlgorithm::Nvls || plan.algorithm == NcclAlgorithm::NvlsTree;
}

/// @return whether data go through levels of a tree or along a chain
bool
IsDeep(const NcclPlan& plan, CollectiveOp op)
{
    return !IsPairwise(op) &&
           (IsChain(op) || IsNvls(plan) || plan.algorithm == NcclAlgorithm::Tree);
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
IdleMachine::Canonical(const CommGroup& group, const CollectiveRequest& request) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    Case result{group, request, 0};
    std::map<uint32_t, uint32_t> numbers; // by server
    for (int& rank : result.group.ranks)
    {
        const uint32_t server = machine.ServerOf(rank);
        const auto [it, isNew] = numbers.try_emplace(server, result.servers);
        result.servers += isNew ? 1 : 0;
        rank += static_cast<int>((it->second - server) * machine.gpusPerServer);
    }
    return result;
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

IdleMachine::Case
IdleMachine::OnServers(const Case& whole,
                       uint32_t servers,
                       uint32_t gpusPerServer,
                       const NcclPlan& plan)
{
    Case result{whole.group, whole.request, servers};
    std::vector<int>& ranks = result.group.ranks;
    const int end = static_cast<int>(servers * gpusPerServer);
    std::erase_if(ranks, [end](int rank) { return rank >= end; });
    // The root keeps its place in a server.
    const int root = whole.group.ranks[static_cast<std::size_t>(whole.request.root)] %
                     static_cast<int>(gpusPerServer);
    result.request.root = static_cast<int>(
        std::find_if(ranks.begin(),
                     ranks.end(),
                     [&](int rank) { return rank % static_cast<int>(gpusPerServer) == root; }) -
        ranks.begin());
    if (!IsNvls(plan))
    {
        // Each step, and each pair, has as many bytes as before.
        result.request.bytes = whole.request.bytes / whole.group.ranks.size() * ranks.size();
    }
    return result;
}

IdleMachine::Case
IdleMachine::WithBytes(const Case& whole, uint64_t divisor)
{
    Case result = whole;
    const uint64_t ranks = whole.group.ranks.size();
    result.request.bytes = whole.request.bytes / divisor / ranks * ranks;
    for (uint64_t& bytes : result.request.bytesPerPair)
    {
        bytes /= divisor;
    }
    return result;
}

uint64_t
IdleMachine::CountFlows(const Case& each, const NcclPlan& plan) const
{
    return m_nccl.PlanAs(each.group, each.request, plan)->GetChoice().flows;
}

TimePs
IdleMachine::Execute(const Case& each, const NcclPlan& plan) const
{
    const MachineModel& machine = m_nccl.GetMachine();
    const GroupShape shape(each.group, machine);
    MachinePaths::Machine ports = PortsOf(machine, each.servers * machine.gpusPerServer);
    // The other GPUs at a NIC belong to groups of the same kind, which send alike.
    ports.nicGBps *= shape.GetNicShare();
    AnaSim network(std::make_shared<MachinePaths>(ports));

    const auto collective = m_nccl.PlanAs(each.group, each.request, plan);
    TimePs end = 0;
    std::vector<std::unique_ptr<RankCollective>> ranks;
    for (uint32_t i = 0; i < shape.GetRanks(); ++i)
    {
        ranks.push_back(
            collective->CreateRank(i, network.GetNetwork(each.group.ranks[i]), 0, {}, [&] {
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
IdleMachine::TimeOfBytes(const Case& each, const NcclPlan& plan) const
{
    Case fewer = each;
    uint64_t flows = CountFlows(each, plan);
    uint64_t divisor = 1;
    const uint64_t most = m_mostFlows * (IsDeep(plan, each.request.op) ? DEEP_PIPELINE : 1);
    while (flows > most)
    {
        const Case next = WithBytes(each, divisor * 2);
        const uint64_t left = CountFlows(next, plan);
        if (left == 0 || left * 10 > flows * 9)
        {
            break; // one message each: fewer bytes are no fewer messages
        }
        divisor *= 2;
        fewer = next;
        flows = left;
    }
    const TimePs time = Execute(fewer, plan);
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
    return OnLine(bytes(each), bytes(half), Execute(half, plan), bytes(fewer), time);
}

TimePs
IdleMachine::GetTime(const CommGroup& group,
                     const CollectiveRequest& request,
                     const NcclPlan& choice) const
{
    NcclPlan plan = choice;
    if (IsNvls(plan))
    {
        plan.Of<NvlsPlan>().bytes = request.bytes; // smaller forms have the chunks of the whole
    }
    if (plan.algorithm == NcclAlgorithm::CollNetDirect ||
        plan.algorithm == NcclAlgorithm::CollNetChain)
    {
        return plan.predicted;
    }
    if (group.ranks.size() < 2)
    {
        return IsPlugIn(plan) ? plan.predicted : 0;
    }
    const Case whole = Canonical(group, request);
    const uint32_t gpus = m_nccl.GetMachine().gpusPerServer;
    // A plug-in's rule of servers is its own, and no line goes through the depths of trees and
    // chains.
    const bool canShrink = whole.servers > FEWEST_SERVERS && !IsPlugIn(plan) &&
                           (IsNvls(plan) || !IsDeep(plan, request.op)) &&
                           request.bytesPerPair.empty() && IsRegular(whole);
    if (!canShrink || CountFlows(whole, plan) <= m_mostFlows)
    {
        return TimeOfBytes(whole, plan);
    }
    uint32_t servers = FEWEST_SERVERS;
    while (2 * servers < whole.servers &&
           CountFlows(OnServers(whole, 2 * servers, gpus, plan), plan) <= m_mostFlows)
    {
        servers *= 2;
    }
    const Case large = OnServers(whole, servers, gpus, plan);
    const Case small = OnServers(whole, servers / 2, gpus, plan);
    const bool isTree = IsNvls(plan);
    const auto rows = [isTree](const Case& each) {
        return isTree ? std::log2(static_cast<double>(each.servers)) : each.servers;
    };
    return OnLine(rows(whole),
                  rows(small),
                  TimeOfBytes(small, plan),
                  rows(large),
                  TimeOfBytes(large, plan));
}

} // namespace AstraSim
