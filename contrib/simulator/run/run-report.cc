/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-report.h"

#include "astra-frontend/model/workload/workload-file.h"

#include "ns3/rng-seed-manager.h"

#include <utility>

namespace AstraSim
{

namespace
{

/// @return the unit of work that is simulated or reused
const char*
UnitOf(const RunOptions& options)
{
    return options.network == NetworkModel::Packet ? "packet_hops" : "flows";
}

} // namespace

void
RecordInputs(RunRecord& record, const RunOptions& options, const RunInputs& inputs)
{
    for (const JobPlacement& job : options.jobs)
    {
        for (const std::string& file : WorkloadFiles(job.workload))
        {
            record.AddInput("workload", file);
        }
    }
    const ns3::FabricConf& conf = inputs.conf;
    record.AddInput("topology", conf.topologyFile);
    record.Set("topology", *conf.topologyFile);
    const std::string confFile = inputs.dimensions.empty() ? options.conf : "";
    const std::pair<const char*, std::string> files[] = {
        {"configuration", confFile},
        {"system", options.system},
        {"logical topology", options.logicalTopology},
        {"communicators", options.communicators},
        {"remote memory", options.remoteMemory},
        {"GPU table", options.nccl.gpuTable},
        {"network table", options.nccl.networkTable},
        {"measured figures", options.nccl.figuresFile},
        {"tuner table", options.nccl.GetTunerFile()},
    };
    for (const auto& [role, file] : files)
    {
        if (!file.empty())
        {
            record.AddInput(role, file);
        }
    }
    record.Set("network", ToString(options.network));
    record.Set("arguments", options.arguments);
    record.Set("seed", ns3::RngSeedManager::GetSeed());
    record.SetOption("network_kind", options.nccl.networkKind.name);
    if (const TunerTable* tuner = options.nccl.GetTuner())
    {
        record.SetOption("tuner", tuner->GetName());
    }
    record.SetOption("nvls", options.nccl.nvlsEnable);
    record.SetOption("nvls_tree", options.nccl.nvlsTreeEnable);
    for (const auto& [key, value] : ns3::FabricConfValues(conf))
    {
        record.SetOption(key, value);
    }
    record.SetOption("nccl_environment", options.environment);
    for (const auto& [key, value] : options.recorded.items())
    {
        record.SetOption(key, value);
    }
    record.SetOption("ns3", options.ns3Flags);
}

void
RecordGivingUp(RunRecord& record, const FastForwardBackend& forward, const RunOptions& options)
{
    const FastForwardReport report = forward.GetReport();
    const nlohmann::ordered_json entry = {{"unit", UnitOf(options)},
                                          {"simulated", report.simulatedWork},
                                          {"patterns_simulated", report.simulations}};
    record.Set("fast_forward_given_up", entry);
}

void
RecordReuse(RunRecord& record, FastForwardBackend& forward, const RunOptions& options)
{
    const FastForwardReport report = forward.GetReport();
    nlohmann::ordered_json entry = {
        {"unit", UnitOf(options)},
        {"simulated", report.simulatedWork},
        {"of_which_again", report.repeatedWork},
        {"reused", report.reusedWork},
        {"skipped", 0},
        {"parts", report.parts},
        {"patterns_simulated", report.simulations},
        {"patterns_reused", report.reuses},
        {"inferred", report.inferred},
        {"operations_in_step", report.live},
        {"tails_cut", report.cutTails},
        {"late_ends", report.late},
        {"stored_patterns", report.storedPatterns},
        {"stored_bytes", report.storedBytes},
        {"forgotten_patterns", report.forgottenPatterns},
        {"approximate", forward.DescribeApproximations()},
    };
    if (const auto byFlows = forward.CountByFlows())
    {
        entry["by_flows"] = report.workByFlows;
        entry["patterns_by_flows"] = *byFlows;
        entry["largest_difference"] = report.largestDoubt;
    }
    if (options.fastForward == FastForwardMode::Verify)
    {
        entry["verified_ends"] = report.verified;
        entry["largest_error"] = report.largestError;
        entry["mean_error"] = report.meanError;
    }
    if (const auto store = forward.GetStoreReport())
    {
        entry["store"] = options.fastForwardStore;
        entry["from_store"] = store->work;
        entry["patterns_from_store"] = store->patterns;
        if (options.fastForward == FastForwardMode::Verify)
        {
            entry["store_verified"] = store->verifiedPatterns;
            entry["store_wrong"] = store->wrongPatterns;
        }
    }
    record.Set("fast_forward", entry);
}

} // namespace AstraSim
