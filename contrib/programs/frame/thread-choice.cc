/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "thread-choice.h"

#include "process-link.h"
#include "program-flags.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/qbb-processes.h"
#include "ns3/qbb-simulator-impl.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <thread>

namespace AstraSim
{

namespace
{

/// @return the first obstacle that applies; null if none does
const ThreadObstacle*
FindObstacle(std::span<const ThreadObstacle> obstacles)
{
    const auto found = std::ranges::find(obstacles, true, &ThreadObstacle::applies);
    return found == obstacles.end() ? nullptr : &*found;
}

/// Print the reason that several threads were asked for and one runs. @param wanted -t
void
SayOneThread(const ThreadObstacle& obstacle, uint32_t wanted, const RunConsole& console)
{
    if (wanted > 1)
    {
        console.Say(fmt::format("runs on one thread, as {} needs\n", obstacle.name));
    }
}

/// At most one thread per core, as flags may come from another machine. Threads that share a core
/// would wait for each other, and results do not depend on their number. @param wanted -t
uint32_t
OneForEachCore(uint32_t wanted, const RunConsole& console)
{
    const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
    if (wanted <= cores)
    {
        return wanted;
    }
    console.Say(fmt::format("-t {}: runs on {} {}, one for each core\n",
                            wanted,
                            cores,
                            cores == 1 ? "thread" : "threads"));
    return cores;
}

/// @return whether the simulator implementation has partitions
/// @throw ns3::InputError if it has not, and threads are wanted
bool
HasPartitions(bool wantsThreads)
{
    const bool hasPartitions = ns3::QbbSimulatorImpl::Get();
    if (wantsThreads && !hasPartitions)
    {
        RefuseFlag("-t and SimulatorImplementationType exclude each other",
                   "one of them: only ns3::QbbSimulatorImpl has threads");
    }
    return hasPartitions;
}

} // namespace

bool
StaysWhole(std::span<const ThreadObstacle> obstacles, uint32_t wanted, const RunConsole& console)
{
    const ThreadObstacle* obstacle = FindObstacle(obstacles);
    if (obstacle)
    {
        NeedOneProcess(obstacle->name);
        SayOneThread(*obstacle, wanted, console);
    }
    return obstacle != nullptr;
}

std::optional<uint32_t>
ChooseThreads(std::optional<uint32_t> wanted,
              const ThreadWatchers& watchers,
              const RunConsole& console)
{
    const uint32_t threads = wanted.value_or(1);
    const ThreadObstacle whole[] = {
        {ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::InNetworkReduction"),
         "IN_NETWORK_REDUCTION"},
    };
    if (StaysWhole(whole, threads, console) || !HasPartitions(wanted || ns3::QbbProcesses::Get()))
    {
        return std::nullopt;
    }
    const ThreadObstacle obstacles[] = {{watchers.checks, "--check"},
                                        {watchers.captures, "--pcap"},
                                        {watchers.tracesFrames, "TRACE_FILE"},
                                        {watchers.monitors, "MONITOR"}};
    const ThreadObstacle* obstacle = FindObstacle(obstacles);
    if (!obstacle)
    {
        return OneForEachCore(threads, console);
    }
    NeedOneProcess(obstacle->name);
    if (ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::PartitionPerNode"))
    {
        RefuseFlag(obstacle->name + " looks at several nodes at once, and "
                                    "ns3::RdmaFabric::PartitionPerNode keeps -t from it",
                   "one of the two");
    }
    SayOneThread(*obstacle, threads, console);
    return 1;
}

} // namespace AstraSim
