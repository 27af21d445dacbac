/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-inputs.h"

#include "astra-network-file.h"

#include "ns3/flow-file.h"
#include "ns3/input-error.h"
#include "ns3/input-path.h"
#include "ns3/ns3-flags.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace AstraSim
{

using ns3::ClusterTopology;
using ns3::FabricConf;
using ns3::InputError;

namespace
{

FabricConf
ReadConf(const RunOptions& options, const RunConsole& console)
{
    FabricConf conf;
    if (IsAstraNetworkFile(options.conf))
    {
        conf.topologyFile = options.conf;
    }
    else if (!options.conf.empty())
    {
        conf = FabricConf::Read(options.conf);
    }
    for (const std::string& key : options.confKeys)
    {
        conf.Set(key, "--set " + key);
    }
    if (options.seed)
    {
        conf.Set("SEED " + std::to_string(*options.seed), "--seed");
    }
    conf.Check();
    conf.Apply();
    ns3::ApplyNs3Environment();
    ns3::ApplyNs3Flags(options.ns3Flags);
    if (!options.topology.empty())
    {
        conf.topologyFile = options.topology;
    }
    else if (!conf.topologyFile.empty())
    {
        const std::string found = ns3::FindInput(conf.topologyFile, conf.source);
        if (!found.empty() && found != conf.topologyFile)
        {
            console.Say("TOPOLOGY_FILE " + conf.topologyFile + ": using " + found + "\n");
            conf.topologyFile = found;
        }
    }
    if (conf.topologyFile.empty())
    {
        throw InputError("command line",
                         0,
                         "no topology",
                         "-n FILE, or TOPOLOGY_FILE in the -c file");
    }
    return conf;
}

/// Give the links of NICs a rate, or part of the one they have.
void
SetNicRates(ClusterTopology& topology, std::optional<uint64_t> rateBps, double part)
{
    for (uint32_t i = 0; i < topology.links.size(); ++i)
    {
        auto& link = topology.links[i];
        const bool atHost = topology.Is(link.a, ClusterTopology::NodeKind::Host) ||
                            topology.Is(link.b, ClusterTopology::NodeKind::Host);
        if (atHost && !topology.IsNvLink(i))
        {
            const auto rate = static_cast<double>(rateBps.value_or(link.rateBps));
            link.rateBps = static_cast<uint64_t>(std::llround(rate * part));
        }
    }
}

} // namespace

RunInputs
RunInputs::Read(const RunOptions& options, const RunConsole& console)
{
    RunInputs inputs;
    inputs.conf = ReadConf(options, console);
    if (options.limits.simulated)
    {
        inputs.conf.stopTimePs = std::min(inputs.conf.stopTimePs, *options.limits.simulated);
    }
    if (IsAstraNetworkFile(options.conf))
    {
        inputs.dimensions = ReadAstraNetworkFile(options.conf);
        inputs.topology = TopologyOf(inputs.dimensions, options.conf);
    }
    else
    {
        inputs.topology =
            ClusterTopology::Read(inputs.conf.topologyFile, inputs.conf.gpusPerServer);
    }
    if (const double part = options.nccl.networkKind->efficiency;
        options.netBandwidthBps || part != 1)
    {
        SetNicRates(inputs.topology, options.netBandwidthBps, part);
    }
    std::vector<std::string> warnings = options.warnings;
    console.Warn(warnings);
    console.Warn(inputs.conf.warnings);
    console.Warn(inputs.topology.warnings);
    if (options.threads > 1)
    {
        warnings.push_back("-t " + std::to_string(options.threads) + ": runs use one core for now");
        console.Warn(warnings);
    }
    return inputs;
}

std::string
RunInputs::DescribeSplitRails() const
{
    const auto pair = topology.FindUnconnected(false);
    if (!pair || !conf.linkEvents.empty())
    {
        return "";
    }
    return fmt::format(
        "{}: a message has no path: rank {} and rank {}, for one, meet only in another "
        "GPU's NVLink (rail-only); expected PXN (AS_PXN_ENABLE=1), or collectives that "
        "stay on rails and in servers",
        topology.source,
        pair->hostA,
        pair->hostB);
}

BackgroundFlows
BackgroundFlows::Find(const RunOptions& options, const RunInputs& inputs)
{
    BackgroundFlows flows;
    flows.file = options.backgroundFlows;
    if (flows.file.empty() && !inputs.conf.flowFile.empty())
    {
        flows.file = ns3::FindInput(inputs.conf.flowFile, inputs.conf.source);
    }
    if (!flows.file.empty())
    {
        flows.priorityMask = ns3::CheckFlowFile(flows.file, inputs.topology).priorityMask;
    }
    return flows;
}

} // namespace AstraSim
