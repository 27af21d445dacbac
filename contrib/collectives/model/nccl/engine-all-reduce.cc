/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "engine-all-reduce.h"

#include "builtin-tables.h"
#include "collectives/model/gpu/yaml-rows.h"

#include <cmath>
#include <fmt/ranges.h>
#include <ranges>

namespace AstraSim
{

namespace
{

constexpr const char* ENGINES_FILE = "engine-all-reduce.yaml";
constexpr const char* ENGINES_FORMAT = "a list of kernels and engines (YAML)";
constexpr double LARGEST_TIME = 1e6;
constexpr uint32_t MOST_RANKS = 72;

} // namespace

/// The rows of the file.
class EngineAllReduce::Table
{
  public:
    Table()
        : m_rows(BUILTIN_ENGINE_ALL_REDUCE, ENGINES_FILE, ENGINES_FORMAT)
    {
        for (const YAML::Node& row : m_rows.GetAll())
        {
            row["engine"] ? AddEngine(row) : AddKernel(row);
        }
    }

    const std::map<std::string, EngineAllReduce>& GetEngines() const
    {
        return m_engines;
    }

  private:
    struct Kernel
    {
        std::map<GpuGeneration, Stage> one;
        std::map<GpuGeneration, Stage> two;
    };

    Stage StageOf(const YAML::Node& node) const
    {
        m_rows.RequireKeys(node, {"us", "peer_us", "gbps"});
        const auto number = [&](const char* key) {
            return m_rows.Number<double>(node[key], key, 0, LARGEST_TIME);
        };
        return {number("us"), number("peer_us"), number("gbps")};
    }

    void AddKernel(const YAML::Node& row)
    {
        m_rows.RequireKeys(row, {"kernel", "of", "one_shot", "two_shots"});
        Kernel& kernel = m_kernels[m_rows.Text(row["kernel"], "kernel")];
        for (const GpuGeneration generation :
             m_rows.Words(row["of"], "of", ParseGpuGeneration, ListGpuGenerations()))
        {
            kernel.one[generation] = StageOf(row["one_shot"]);
            if (const YAML::Node two = row["two_shots"])
            {
                kernel.two[generation] = StageOf(two);
            }
        }
    }

    std::map<uint32_t, uint64_t> LimitsOf(const YAML::Node& node) const
    {
        std::map<uint32_t, uint64_t> limits;
        for (const auto& item : node)
        {
            const auto ranks = m_rows.Number<uint32_t>(item.first, "ranks", 2, MOST_RANKS);
            limits[ranks] = m_rows.Number<uint64_t>(item.second, "bytes", 1, UINT64_MAX);
        }
        return limits;
    }

    void AddEngine(const YAML::Node& row)
    {
        m_rows.RequireKeys(row, {"engine", "kernel", "one_shot_bytes", "two_shots_bytes", "by"});
        const std::string name = m_rows.Text(row["engine"], "engine");
        const Kernel& kernel = m_kernels.at(m_rows.Text(row["kernel"], "kernel"));
        EngineAllReduce& engine = m_engines[name];
        engine.m_name = name;
        engine.m_one = {kernel.one, LimitsOf(row["one_shot_bytes"])};
        if (const YAML::Node limits = row["two_shots_bytes"])
        {
            engine.m_two = {kernel.two, LimitsOf(limits)};
        }
    }

    YamlRows m_rows;
    std::map<std::string, Kernel> m_kernels;
    std::map<std::string, EngineAllReduce> m_engines;
};

const EngineAllReduce&
EngineAllReduce::Find(const std::string& name, const std::string& source, const std::string& what)
{
    static const Table TABLE;
    const auto found = TABLE.GetEngines().find(name);
    if (found == TABLE.GetEngines().end())
    {
        const auto names = TABLE.GetEngines() | std::views::keys;
        throw ns3::InputError(source,
                              0,
                              what + " is '" + name + "'",
                              fmt::format("one of {}", fmt::join(names, ", ")));
    }
    return found->second;
}

void
EngineAllReduce::RequireFigures(GpuGeneration generation) const
{
    if (m_one.stages.contains(generation))
    {
        return;
    }
    const auto known = m_one.stages | std::views::keys |
                       std::views::transform([](GpuGeneration each) { return ToString(each); });
    throw ns3::InputError(
        "environment",
        0,
        fmt::format("the AllReduce of {} on {} GPUs is not known", m_name, ToString(generation)),
        fmt::format("AS_ENGINE_ALLREDUCE on {}", fmt::join(known, ", ")));
}

std::optional<CollectiveTask::EngineKernel>
EngineAllReduce::Choose(GpuGeneration generation, uint32_t ranks, uint64_t bytes) const
{
    for (const Shots* shots : {&m_one, &m_two})
    {
        const auto limit = shots->mostBytes.find(ranks);
        const auto stage = shots->stages.find(generation);
        if (limit != shots->mostBytes.end() && bytes <= limit->second &&
            stage != shots->stages.end())
        {
            const auto& [us, peerUs, GBps] = stage->second;
            return CollectiveTask::EngineKernel{shots == &m_one ? 1U : 2U,
                                                std::llround((us + peerUs * (ranks - 2)) * 1e6),
                                                GBps};
        }
    }
    return std::nullopt;
}

} // namespace AstraSim
