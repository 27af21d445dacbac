/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/group/mock-nccl-group.h"
#include "program-runs.h"
#include "programs/frame/run-console.h"
#include "simccl-jobs.h"
#include "simulator/inputs/idle-network.h"
#include "simulator/options/run-environment.h"

#include "ns3/output-directory.h"
#include "ns3/output-file.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace AstraSim
{

namespace
{

constexpr std::size_t MAX_DOT_FLOWS = 400;
constexpr const char* FLOWS_FILE = "ncclFlowModel_detailed_flows.csv";
constexpr const char* PICTURE_FILE = "ncclFlowModel_flows.dot";

/// Links that flows go over.
class LinkClasses
{
  public:
    LinkClasses(const MachineModel& machine, const CommGroup& group)
        : m_machine(machine),
          m_firstSwitch(1 + *std::max_element(group.ranks.begin(), group.ranks.end()))
    {
    }

    bool IsSwitch(int end) const
    {
        return end >= m_firstSwitch;
    }

    bool IsNvLink(const SingleFlow& flow) const
    {
        if (IsSwitch(flow.src) || IsSwitch(flow.dst))
        {
            return flow.type == ConnType::Nvls;
        }
        return m_machine.JoinsServers() &&
               m_machine.ServerOf(flow.src) == m_machine.ServerOf(flow.dst);
    }

    bool CrossesRails(const SingleFlow& flow) const
    {
        const int rails = static_cast<int>(m_machine.gpusPerServer);
        return !IsNvLink(flow) && !IsSwitch(flow.src) && !IsSwitch(flow.dst) &&
               flow.src % rails != flow.dst % rails;
    }

  private:
    const MachineModel& m_machine;
    int m_firstSwitch;
};

/// Number and bytes of some flows.
struct Count
{
    uint64_t flows{0};
    uint64_t bytes{0};
};

void
ShowFlows(const LinkClasses& links, const std::vector<SingleFlow>& flows)
{
    uint64_t nvlink = 0;
    uint64_t network = 0;
    uint64_t acrossRails = 0;
    std::map<ConnType, Count> connections;
    for (const SingleFlow& flow : flows)
    {
        (links.IsNvLink(flow) ? nvlink : network) += flow.bytes;
        acrossRails += links.CrossesRails(flow) ? flow.bytes : 0;
        ++connections[flow.type].flows;
        connections[flow.type].bytes += flow.bytes;
    }
    fmt::print("  flows          {}\n  NVLink bytes   {}\n  network bytes  {}, {} across rails\n",
               flows.size(),
               nvlink,
               network,
               acrossRails);
    for (const auto& [type, count] : connections)
    {
        fmt::print("    {:<12} {} flows, {} bytes\n", ToString(type), count.flows, count.bytes);
    }
    fmt::print("  steps          {}\n", CountSteps(flows));
}

void
ShowJob(const SimCclJob& job,
        const MockNcclGroup& group,
        const IdleMachine& idle,
        const std::vector<SingleFlow>& flows)
{
    const MachineModel& machine = group.GetMachine();
    const CollectiveOffer offer = group.Choose(job.group, job.request);
    const GroupShape shape(job.group, machine);
    const CollectiveChoice& choice = offer.choice;
    fmt::print("{} of {} bytes, group {}: {} ranks on {} nodes\n",
               ToString(job.request.op),
               job.request.bytes,
               job.group.name,
               shape.GetRanks(),
               shape.GetNodes());
    fmt::print("  choice         {}, {}, {} channels\n",
               choice.algorithm,
               choice.protocol,
               choice.channels);
    if (!choice.by.empty())
    {
        fmt::print("  chosen by      {}\n", choice.by);
    }
    if (choice.predicted > 0)
    {
        // RCCL divides the bandwidth of choices to avoid by 100: its figure is a rating, no time.
        const char* label = choice.protocol == "-"          ? "estimate      " // a plug-in's
                            : IsAmd(machine.gpu.generation) ? "RCCL's rating "
                                                            : "NCCL's estimate";
        fmt::print("  {} {:.3f} us\n", label, static_cast<double>(choice.predicted) / 1e6);
    }
    ShowFlows(LinkClasses(machine, job.group), flows);
    const TimePs time = idle.GetTime(job.group, job.request, offer);
    fmt::print("  time           {:.3f} us on an idle network\n", static_cast<double>(time) / 1e6);
}

std::string
PathOf(const SimCclOptions& options, const std::string& name)
{
    return (std::filesystem::path(options.output) / name).lexically_normal().string();
}

} // namespace

int
RunSimCcl(const SimCclOptions& options)
{
    RunEnvironment environment = RunEnvironment::Read(EnvironmentVariable);
    const RunConsole console(options.quiet, environment.logLevel);
    console.Warn(environment.warnings);
    NcclOptions nccl = environment.nccl;
    if (!options.gpuTable.empty())
    {
        nccl.gpuTable = options.gpuTable;
    }
    const GpuTable gpus = GpuTable::Read(nccl.gpuTable);
    SimCclCluster cluster = FindSimCclCluster(options, gpus);
    std::vector<std::string> idleTable =
        gpus.DescribeIdle(nccl.gpuType.empty() ? cluster.machine.gpuType : nccl.gpuType);
    console.Warn(idleTable);
    const IdleNetwork network =
        MakeIdleNetwork(nccl.networkKind, cluster.machine, cluster.topology);
    const MockNcclGroup group(cluster.machine, nccl);
    const IdleMachine idle(group, network);
    const MachineModel& machine = group.GetMachine();
    const auto jobs = SimCclJobs(options, cluster.gpus, machine.gpusPerServer);
    const ns3::OutputDirectory directory(options.output);
    ns3::OutputFile csv(PathOf(options, FLOWS_FILE));
    bool drawn = false;
    for (const SimCclJob& job : jobs)
    {
        const auto flows = group.GetSingleFlows(job.group, job.request, options.maxFlows);
        if (!options.quiet)
        {
            ShowJob(job, group, idle, flows);
        }
        if (jobs.size() > 1)
        {
            csv.Write(fmt::format("# {} {} {}\n",
                                  ToString(job.request.op),
                                  job.request.bytes,
                                  job.group.name));
        }
        std::ostringstream rows;
        WriteSingleFlowsCsv(rows, flows);
        csv.Write(rows.view());
        if (jobs.size() == 1 && flows.size() <= MAX_DOT_FLOWS)
        {
            std::ostringstream dot;
            WriteSingleFlowsDot(dot, flows);
            ns3::WriteWholeFile(PathOf(options, PICTURE_FILE), dot.view());
            drawn = true;
        }
    }
    csv.Finish();
    if (!options.quiet)
    {
        fmt::print("written: {}{}\n",
                   PathOf(options, FLOWS_FILE),
                   drawn ? " and " + PathOf(options, PICTURE_FILE) : "");
    }
    if (!drawn)
    {
        // Output of an earlier run must not pass for this one's.
        std::error_code error;
        std::filesystem::remove(PathOf(options, PICTURE_FILE), error);
    }
    return 0;
}

} // namespace AstraSim
