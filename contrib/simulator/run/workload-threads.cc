/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "workload-threads.h"

#include "astra-frontend/model/system/system-config.h"
#include "astra-frontend/model/workload/workload-file.h"
#include "programs/frame/process-link.h"
#include "programs/frame/thread-choice.h"
#include "rdma-qbb/model/attribute/collective-offload.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/string.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace AstraSim
{

namespace
{

/// @return whether ranks negotiate the order of their collectives during the run
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

} // namespace

std::optional<uint32_t>
ChooseThreads(const RunOptions& options,
              const RunInputs& inputs,
              const RunConsole& console,
              bool mayReuse)
{
    const uint32_t wanted = options.threads.value_or(1);
    const ThreadObstacle network[] = {{options.network != NetworkModel::Packet,
                                       fmt::format("--network {}", ToString(options.network))}};
    if (StaysWhole(network, wanted, console))
    {
        return std::nullopt; // before inputs are read that only packets need
    }
    const auto sharing = std::ranges::find_if(options.jobs, [](const auto& job) {
        return RanksShareScheduler(job.workload);
    });
    const bool shares = sharing != options.jobs.end();
    const auto offload = ns3::CollectiveOffload::Parse(
        ns3::LookAtDefault<ns3::StringValue>("ns3::CollectiveOffload::Engine"));
    const ThreadObstacle whole[] = {
        {shares, shares ? sharing->workload + ", whose ranks share a scheduler," : ""},
        {OrdersStreams(options.system), options.system + ", whose ranks agree on an order,"},
        {options.rendezvous, "--rendezvous-protocol"},
        {!options.remoteMemory.empty(), "--remote-memory-configuration"},
        {!offload || !offload->engine.empty(), "COLLECTIVE_ENGINE"},
        {ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::DeliverOnAck"),
         "MESSAGE_DELIVERY acknowledged"},
        {ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::PartitionPerNode"),
         "ns3::RdmaFabric::PartitionPerNode"},
    };
    if (StaysWhole(whole, wanted, console))
    {
        return std::nullopt;
    }
    if (mayReuse && options.IsFastForwarded())
    {
        NeedOneProcess("--fast-forward"); // makes copies of it
        if (!options.threads)
        {
            return std::nullopt;
        }
    }
    const ThreadWatchers watchers{options.check,
                                  !options.pcap.empty(),
                                  !inputs.traceNodes.empty(),
                                  !inputs.conf.monitors.Look().empty()};
    return ChooseThreads(options.threads, watchers, console);
}

} // namespace AstraSim
