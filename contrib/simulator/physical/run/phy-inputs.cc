/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "phy-inputs.h"

#include "astra-frontend/model/network/machine-of-topology.h"
#include "astra-frontend/model/workload/kv-cache-workload.h"
#include "simulator/physical/rank-agreement.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace AstraSim
{

using ns3::InputError;

PhyInputs::PhyInputs(const PhyOptions& options)
    : m_options(options)
{
}

void
PhyInputs::Read(uint32_t ranks, RunConsole& console)
{
    m_inputs = RunInputs::Read(m_options.run, console);
    m_inputs.WarnOfIdle(m_options.run, console);
    m_workload = OpenWorkload();
    if (dynamic_cast<const KvCacheWorkload*>(m_workload.get()))
    {
        throw InputError(m_workload->GetFileName(),
                         0,
                         "is a KV-cache workload, whose ranks share a scheduler",
                         "a training workload, micro lines or Chakra traces");
    }
    const uint32_t needed = m_workload->GetRankCount();
    if (needed != 0 && needed != ranks)
    {
        throw InputError(m_workload->GetFileName(),
                         0,
                         fmt::format("is made for {} ranks and {} are running", needed, ranks),
                         fmt::format("mpirun -np {}", needed));
    }
    const ns3::ClusterTopology& topology = m_inputs.topology;
    if (topology.hostCount < ranks)
    {
        throw InputError(
            topology.source,
            0,
            fmt::format("has {} GPUs and {} ranks are running", topology.hostCount, ranks),
            "a topology with enough GPUs");
    }
    m_nccl = std::make_unique<MockNcclGroup>(MachineOfTopology(topology, m_inputs.nicRatePart),
                                             m_options.run.nccl);
    if (m_options.reduce)
    {
        m_reduced = std::make_unique<ReducedCollectives>(*m_nccl);
    }
}

std::unique_ptr<Workload>
PhyInputs::OpenWorkload() const
{
    const RunOptions& run = m_options.run;
    WorkloadOptions options{run.sizes, run.passes, run.communicators, {}};
    options.sizes.gpusPerServer = m_inputs.topology.gpusPerServer;
    return AstraSim::OpenWorkload(run.jobs.front().workload, options);
}

CollectiveImplementation&
PhyInputs::GetCollectives() const
{
    if (m_reduced)
    {
        return *m_reduced;
    }
    return *m_nccl;
}

void
PhyInputs::Compare(const RankCommunicator& ranks) const
{
    const auto sum = [](const std::string& path) {
        return ns3::InputExists(path) ? FileSha256(path) : "not there";
    };
    const RunOptions& run = m_options.run;
    std::string environment;
    for (const auto& [name, value] : run.environment)
    {
        environment += name + "=" + value + " ";
    }
    CompareFacts(
        ranks,
        {{"the program", "version " + ProgramVersion()},
         {"the command line", fmt::format("{}", fmt::join(run.arguments, " "))},
         {"the environment", environment},
         {"workload " + run.jobs.front().workload, sum(run.jobs.front().workload)},
         {"topology " + *m_inputs.conf.topologyFile, sum(m_inputs.conf.topologyFile)},
         {"the GPU table", run.nccl.gpuTable.empty() ? "" : sum(run.nccl.gpuTable)},
         {"the network table", run.nccl.networkTable.empty() ? "" : sum(run.nccl.networkTable)},
         {"the measured figures", run.nccl.figuresFile.empty() ? "" : sum(run.nccl.figuresFile)},
         {"the tuner's table", run.nccl.tunerFile ? sum(run.nccl.GetTunerFile()) : ""}});
}

std::string
PhyInputs::GetOutput() const
{
    const RunOptions& run = m_options.run;
    if (!run.output.empty())
    {
        return run.output;
    }
    const std::filesystem::path workload = run.jobs.front().workload;
    const std::filesystem::path topology = *m_inputs.conf.topologyFile;
    return fmt::format("results/{}_{}_physical",
                       workload.stem().string(),
                       topology.filename().string());
}

void
PhyInputs::Record(RunRecord& record) const
{
    const RunOptions& run = m_options.run;
    const std::string& workload = run.jobs.front().workload;
    const std::pair<const char*, std::string> files[] = {{"workload", workload},
                                                         {"topology", *m_inputs.conf.topologyFile},
                                                         {"configuration", run.conf},
                                                         {"GPU table", run.nccl.gpuTable},
                                                         {"network table", run.nccl.networkTable},
                                                         {"measured figures", run.nccl.figuresFile},
                                                         {"tuner table", run.nccl.GetTunerFile()}};
    for (const auto& [role, file] : files)
    {
        if (!file.empty() && ns3::InputExists(file))
        {
            record.AddInput(role, file);
        }
    }
    record.Set("topology", *m_inputs.conf.topologyFile);
    record.Set("network", "physical");
    record.Set("arguments", run.arguments);
    record.SetOption("passes", run.passes);
    record.SetOption("network_kind", run.nccl.networkKind.name);
    record.SetOption("nccl_environment", run.environment);
    record.SetOption("warmup", m_options.warmup);
    record.SetOption("iterations", m_options.iterations);
    record.SetOption("verify", m_options.verify);
    record.SetOption("reduce", m_options.reduce);
}

} // namespace AstraSim
