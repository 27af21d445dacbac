/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-inputs.h"

#include "astra-frontend/model/network/machine-of-topology.h"
#include "astra-frontend/model/workload/workload-file.h"
#include "base/input-path.h"
#include "collectives/model/gpu/gpu-table.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/program-flags.h"
#include "simulator/options/astra-network-file.h"

#include "ns3/attribute-default.h"
#include "ns3/config.h"
#include "ns3/fabric-frame-sizes.h"
#include "ns3/flow-file.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/uinteger.h"

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

constexpr const char* MTU = "ns3::RdmaHw::Mtu";
constexpr const char* LOSSLESS_MASK = "ns3::SwitchMmu::LosslessMask";

/// Chakra traces name communicators by numbers; readers of traces refuse numbers without a group.
void
CheckCommunicators(const RunOptions& options)
{
    const auto ignores = [](const JobPlacement& job) {
        return ns3::InputExists(job.workload) && !IsChakraPrefix(job.workload);
    };
    if (!options.communicators.empty() && std::ranges::all_of(options.jobs, ignores))
    {
        RefuseFlag(
            fmt::format("--comm-group-configuration with {}, which names no communicators",
                        options.jobs.front().workload),
            "Chakra traces, or neither: the groups of text workloads are those of --tp, --ep and "
            "--pp");
    }
}

/// @param[out] attributes as RunInputs has them
FabricConf
ReadConf(const RunOptions& options,
         const RunConsole& console,
         std::vector<ns3::GivenAttribute>& attributes)
{
    const bool isNetworkFile = IsAstraNetworkFile(options.conf);
    FabricConf conf =
        options.conf.empty() || isNetworkFile ? FabricConf() : FabricConf::Read(options.conf);
    conf.SetFromFlags(options.confKeys);
    if (options.seed)
    {
        conf.Set("SEED " + std::to_string(*options.seed), "--seed");
    }
    conf.Check();
    if (const uint32_t payload = options.nccl.networkKind.packetBytes)
    {
        ns3::Config::SetDefault(MTU, ns3::UintegerValue(payload));
    }
    conf.Apply();
    attributes = ns3::ApplyNs3Overrides(options.ns3Flags);
    ns3::RefuseSetTwice(conf, attributes);
    if (!options.backgroundFlows.empty())
    {
        conf.flowFile = {options.backgroundFlows, "--background-flows " + options.backgroundFlows};
    }
    if (isNetworkFile)
    {
        conf.topologyFile = {options.conf, options.conf};
    }
    else if (!options.topology.empty())
    {
        conf.topologyFile = {options.topology, "-n " + options.topology};
    }
    else if (!conf.topologyFile->empty())
    {
        const std::string found = ns3::FindInput(conf.topologyFile, conf.source);
        if (!found.empty() && found != *conf.topologyFile)
        {
            console.Say("TOPOLOGY_FILE " + *conf.topologyFile + ": using " + found + "\n");
            conf.topologyFile.Edit() = found;
        }
    }
    if (conf.topologyFile->empty())
    {
        RefuseFlag("no topology",
                   "--network-topo FILE, or TOPOLOGY_FILE in the --network-conf file");
    }
    return conf;
}

/// @return a warning if the NICs of a GPU carry more than the slot between them; else nothing
std::string
DescribeNarrowSlot(const ClusterTopology& topology, const std::string& type, const GpuProfile* gpu)
{
    const double nics = MachineOfTopology(topology).nicGBps;
    const auto ports = topology.Ports(topology.NodeOfHost(0));
    // Links from GPU to GPU, as of a torus, are of another kind.
    const bool isDirect = std::ranges::any_of(ports, [&](const auto& port) {
        return topology.Is(port.peer, ClusterTopology::NodeKind::Host);
    });
    if (!gpu || gpu->pcieGBps == 0 || nics <= gpu->pcieGBps || isDirect)
    {
        return "";
    }
    return fmt::format(
        "{}: the NICs of a GPU carry {:g} GB/s, and PCIe, which is not simulated, carries "
        "{:g} GB/s between them and a {}: times between servers are too short",
        topology.source,
        nics,
        gpu->pcieGBps,
        type);
}

/// Let PFC protect the priorities of background flows, too, unless the user has set its priorities.
void
Protect(uint8_t priorityMask)
{
    const auto mask = ns3::AttributeDefault<ns3::UintegerValue>(LOSSLESS_MASK) | priorityMask;
    ns3::SetDefaultUnlessSet({LOSSLESS_MASK, ns3::Create<ns3::UintegerValue>(mask)});
}

/// @return ids of TRACE_FILE; empty if there is no such file, or nothing is traced
std::vector<uint32_t>
FindTraceNodes(const FabricConf& conf, uint32_t nodeCount)
{
    const std::string& given = conf.traceFile.Look(); // FabricMonitors follows it
    const std::string file = given.empty() ? "" : ns3::FindInput(given, conf.source);
    if (!conf.enableTrace.Look() || file.empty())
    {
        return {};
    }
    return ns3::ReadTraceNodes(file, nodeCount);
}

} // namespace

double
NicRatePart(const NetworkKind& kind, std::optional<uint32_t> payload)
{
    if (kind.packetBytes == 0)
    {
        return kind.efficiency;
    }
    // Only now: a question for the defaults counts as a use of their keys.
    ns3::FrameSizes sizes = ns3::FabricFrameSizes::OfDefaults().network;
    sizes.mtuPayload = payload.value_or(sizes.mtuPayload);
    const double occupied = sizes.DataWireBytes(sizes.mtuPayload) + sizes.ackWireBytes;
    return kind.efficiency * occupied / sizes.mtuPayload;
}

void
SetNicRates(ClusterTopology& topology, std::optional<uint64_t> rateBps, double part)
{
    for (uint32_t i = 0; i < topology.links.size(); ++i)
    {
        auto& link = topology.links[i];
        const auto isNic = [&](uint32_t node) {
            return topology.Is(node, ClusterTopology::NodeKind::Host) ||
                   topology.FindSharedNic(node);
        };
        if (!topology.IsNvLink(i) && (isNic(link.a) || isNic(link.b)))
        {
            const auto rate = static_cast<double>(rateBps.value_or(link.rateBps));
            link.rateBps = static_cast<uint64_t>(std::llround(rate * part));
        }
    }
}

RunInputs
RunInputs::Read(const RunOptions& options, const RunConsole& console)
{
    CheckCommunicators(options);
    RunInputs inputs;
    inputs.conf = ReadConf(options, console, inputs.attributes);
    if (options.limits.simulated)
    {
        int64_t& limit = inputs.conf.stopTimePs.Edit();
        limit = std::min(limit, *options.limits.simulated);
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
    inputs.traceNodes = FindTraceNodes(inputs.conf, inputs.topology.nodeCount);
    inputs.nicRatePart = NicRatePart(options.nccl.networkKind);
    if (options.netBandwidthBps || inputs.nicRatePart != 1)
    {
        SetNicRates(inputs.topology, options.netBandwidthBps, inputs.nicRatePart);
    }
    std::vector<std::string> warnings = options.warnings;
    const std::string& own = options.nccl.gpuType;
    const std::string type = own.empty() ? inputs.topology.gpuType : own;
    const GpuTable gpus = GpuTable::Read(options.nccl.gpuTable);
    if (const std::string slot = DescribeNarrowSlot(inputs.topology, type, gpus.Find(type));
        !slot.empty())
    {
        warnings.push_back(slot);
    }
    const auto idleTable = gpus.DescribeIdle(type);
    warnings.insert(warnings.end(), idleTable.begin(), idleTable.end());
    console.Warn(warnings);
    console.Warn(inputs.conf.warnings);
    console.Warn(inputs.topology.warnings);
    return inputs;
}

void
RunInputs::WarnOfIdle(const RunOptions& options, const RunConsole& console) const
{
    const bool hasPackets = options.network == NetworkModel::Packet;
    const std::string unread = !dimensions.empty() ? "with " + options.conf
                               : hasPackets
                                   ? "in this run"
                                   : fmt::format("with --network {}", ToString(options.network));
    std::vector<std::string> idle = ns3::DescribeIdle(conf, attributes, {unread, hasPackets, true});
    console.Warn(idle);
}

std::string
RunInputs::DescribeSplitRails() const
{
    const auto pair = topology.FindUnconnected(false);
    if (!pair || std::ranges::any_of(conf.linkEvents, &ns3::LinkEvent::IsOfState))
    {
        return "";
    }
    return fmt::format(
        "{}: a message has no path: rank {} and rank {}, for one, meet only in {}",
        topology.source,
        pair->hostA,
        pair->hostB,
        topology.nvswitchCount == 0
            ? "other GPUs (linked without a switch); expected collectives between neighbours, such "
              "as rings (NCCL_ALGO=Ring) in the order of the links"
            : "another GPU's NVLink (rail-only); expected an AllToAll with PXN (AS_PXN_ENABLE not "
              "0), or collectives that stay on rails and in servers");
}

BackgroundFlows
BackgroundFlows::Find(const RunOptions& options, const RunInputs& inputs)
{
    BackgroundFlows flows;
    flows.file = options.backgroundFlows;
    flows.key = flows.file.empty() ? "FLOW_FILE" : "--background-flows";
    if (flows.file.empty() && !inputs.conf.flowFile->empty())
    {
        flows.file = ns3::FindInput(inputs.conf.flowFile, inputs.conf.source);
    }
    if (!flows.file.empty())
    {
        const auto summary = ns3::CheckFlowFile(flows.file, inputs.topology);
        if (summary.hasTriggers)
        {
            throw ns3::InputError(flows.file,
                                  0,
                                  "flows that triggers start do not run beside workloads",
                                  "flows with start times (bin/qbb-flows runs triggers)");
        }
        flows.count = summary.flows;
        flows.warnings = summary.warnings;
        if (options.network == NetworkModel::Packet)
        {
            Protect(summary.priorityMask);
        }
    }
    return flows;
}

} // namespace AstraSim
