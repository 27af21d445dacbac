/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "engine-all-reduce.h"

#include "builtin-tables.h"

#include "ns3/input-error.h"
#include "ns3/rows.h"
#include "ns3/yaml-rows.h"

#include <cmath>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

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
        Stage stage;
        ns3::Rows keys(ENGINES_FILE,
                       {{"us", ns3::Real(stage.us, 0, LARGEST_TIME), ""},
                        {"peer_us", ns3::Real(stage.peerUs, 0, LARGEST_TIME), ""},
                        {"gbps", ns3::Real(stage.GBps, 0, LARGEST_TIME), ""}});
        m_rows.ReadInto(node, keys);
        return stage;
    }

    void AddKernel(const YAML::Node& row)
    {
        std::string name;
        std::vector<GpuGeneration> generations;
        Stage one;
        std::optional<Stage> two;
        const auto node = [&](const char* key, auto read) {
            return m_rows.FromNode(row, key, ENGINES_FORMAT, read);
        };
        ns3::Rows keys(
            ENGINES_FILE,
            {{"kernel", ns3::Text(name, "a name"), ""},
             {"of",
              node("of",
                   [&](const YAML::Node& list) {
                       generations =
                           m_rows.Words(list, "of", ParseGpuGeneration, ListGpuGenerations());
                   }),
              ""},
             {"one_shot", node("one_shot", [&](const auto& stage) { one = StageOf(stage); }), ""},
             {"two_shots",
              node("two_shots", [&](const auto& stage) { two = StageOf(stage); }),
              ""}});
        m_rows.ReadInto(row, keys);
        for (const GpuGeneration generation : generations)
        {
            m_kernels[name].one[generation] = one;
            if (two)
            {
                m_kernels[name].two[generation] = *two;
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
        EngineAllReduce engine;
        std::string kernel;
        const auto limits = [&](const char* key, Shots& shots) {
            return m_rows.FromNode(
                row,
                key,
                ENGINES_FORMAT,
                [this, &shots](const YAML::Node& node) { shots.mostBytes = LimitsOf(node); });
        };
        ns3::Rows keys(ENGINES_FILE,
                       {{"engine", ns3::Text(engine.m_name, "a name"), ""},
                        {"kernel", ns3::Text(kernel, "a name"), ""},
                        {"one_shot_bytes", limits("one_shot_bytes", engine.m_one), ""},
                        {"two_shots_bytes", limits("two_shots_bytes", engine.m_two), ""},
                        {"by", ns3::YamlRows::ForPeople(), ""}});
        m_rows.ReadInto(row, keys);
        engine.m_one.stages = m_kernels.at(kernel).one;
        engine.m_two.stages = m_kernels.at(kernel).two;
        m_engines[engine.m_name] = engine;
    }

    ns3::YamlRows m_rows;
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
    if (Knows(generation))
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
