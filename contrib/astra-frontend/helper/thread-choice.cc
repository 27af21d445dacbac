/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "thread-choice.h"

#include "process-link.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/collective-offload.h"
#include "ns3/input-error.h"
#include "ns3/qbb-processes.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/string.h"
#include "ns3/system-config.h"
#include "ns3/workload-file.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <string>
#include <thread>

namespace AstraSim
{

namespace
{

/// What a run is asked for that keeps it from using several threads.
struct ThreadObstacle
{
    bool applies;
    std::string name; ///< as its user wrote it
};

/// @return the first that applies; null if none does
const ThreadObstacle*
FindObstacle(std::span<const ThreadObstacle> obstacles)
{
    const auto found = std::ranges::find(obstacles, true, &ThreadObstacle::applies);
    return found == obstacles.end() ? nullptr : &*found;
}

/// Say why one thread runs what was meant for several. @param wanted -t
void
SayOneThread(const ThreadObstacle& obstacle, uint32_t wanted, const RunConsole& console)
{
    if (wanted > 1)
    {
        console.Say(fmt::format("runs on one thread, as {} needs\n", obstacle.name));
    }
}

/// People bring the flags of another machine. Threads that share a core would wait for each other,
/// and results do not depend on their number. @param wanted -t
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

/// @return whether ranks agree on the order of what they begin while they run
bool
OrdersStreams(const std::string& system)
{
    if (system.empty())
    {
        return false;
    }
    const SystemConfig config = ReadSystemConfig(system);
    return config.schedulingPolicy != SchedulingPolicy::Fifo || !config.allReduce.empty() ||
           !config.allGather.empty() || !config.reduceScatter.empty() || !config.allToAll.empty();
}

/// @return whether one of the obstacles keeps the network whole, which is said
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

/// Refuse a simulator implementation that has no threads. @throw ns3::InputError
void
CheckThreadedSimulator()
{
    if (!ns3::QbbSimulatorImpl::Get())
    {
        throw ns3::InputError("command line",
                              0,
                              "-t and SimulatorImplementationType exclude each other",
                              "one of them: only ns3::QbbSimulatorImpl has threads");
    }
}

} // namespace

std::optional<uint32_t>
ChooseThreads(std::optional<uint32_t> wanted,
              const ThreadWatchers& watchers,
              const RunConsole& console)
{
    if (!wanted && !ns3::QbbProcesses::Get())
    {
        return std::nullopt;
    }
    const uint32_t threads = wanted.value_or(1);
    const ThreadObstacle whole[] = {
        {ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::InNetworkReduction"),
         "IN_NETWORK_REDUCTION"},
    };
    if (StaysWhole(whole, threads, console))
    {
        return std::nullopt;
    }
    CheckThreadedSimulator();
    const ThreadObstacle obstacles[] = {{watchers.checks, "--check"},
                                        {watchers.captures, "--pcap"},
                                        {watchers.tracesFrames, "TRACE_FILE"}};
    const ThreadObstacle* obstacle = FindObstacle(obstacles);
    if (!obstacle)
    {
        return OneForEachCore(threads, console);
    }
    NeedOneProcess(obstacle->name);
    if (ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::PartitionPerNode"))
    {
        throw ns3::InputError("command line",
                              0,
                              obstacle->name + " looks at several nodes at once, and "
                                               "ns3::RdmaFabric::PartitionPerNode keeps -t from it",
                              "one of the two");
    }
    SayOneThread(*obstacle, threads, console);
    return 1;
}

std::optional<uint32_t>
ChooseThreads(const RunOptions& options, const RunInputs& inputs, const RunConsole& console)
{
    if (!options.threads && !ns3::QbbProcesses::Get())
    {
        return std::nullopt;
    }
    const uint32_t wanted = options.threads.value_or(1);
    const auto sharing = std::ranges::find_if(options.jobs, [](const auto& job) {
        return RanksShareScheduler(job.workload);
    });
    const bool shares = sharing != options.jobs.end();
    const auto engines = ns3::CollectiveOffload::Parse(
        ns3::AttributeDefault<ns3::StringValue>("ns3::CollectiveOffload::Engine"));
    const ThreadObstacle whole[] = {
        {options.network != NetworkModel::Packet,
         fmt::format("--network {}", ToString(options.network))},
        {shares, shares ? sharing->workload + ", whose ranks share a scheduler," : ""},
        {OrdersStreams(options.system), options.system + ", whose ranks agree on an order,"},
        {options.rendezvous, "--rendezvous-protocol"},
        {!options.remoteMemory.empty(), "--remote-memory-configuration"},
        {!engines || !engines->empty(), "COLLECTIVE_ENGINE"},
        {ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::PartitionPerNode"),
         "ns3::RdmaFabric::PartitionPerNode"},
    };
    if (StaysWhole(whole, wanted, console))
    {
        return std::nullopt;
    }
    if (options.IsFastForwarded())
    {
        NeedOneProcess("--fast-forward"); // makes copies of it
    }
    const ThreadWatchers watchers{options.check, !options.pcap.empty(), !inputs.traceNodes.empty()};
    return ChooseThreads(options.threads, watchers, console);
}

} // namespace AstraSim
