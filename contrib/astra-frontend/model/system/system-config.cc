/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "system-config.h"

#include "json-file.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/rows.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr double LONGEST_DELAY_NS = 1e12;
constexpr double SMALLEST_RATE = 1e-6;
constexpr double LARGEST_RATE = 1e12;

/// Reads one system file.
class SystemFile
{
  public:
    /// @param file outlives the object; null: for its rows alone
    SystemFile(const JsonFile* file, const std::string& path)
        : m_file(file),
          m_rows(path, MakeRows())
    {
        m_config.file = path;
    }

    SystemConfig Read()
    {
        m_file->ReadInto(m_rows);
        if (m_config.memoryBus.shared && !m_rows.IsGiven("G"))
        {
            Fail("model-shared-bus", "is set but the bus has no parameters", "keys L, o, g and G");
        }
        if (m_config.rooflineEnabled &&
            (m_config.peakPerf <= 0 || m_config.memoryBus.localMemBandwidth <= 0))
        {
            Fail("roofline-enabled",
                 "is set without a roofline",
                 "keys peak-perf and local-mem-bw above 0");
        }
        for (const auto& idle : m_rows.FindIdle())
        {
            m_config.warnings.push_back(m_config.file + ": " + idle.what);
        }
        return m_config;
    }

    const ns3::Rows& GetRows() const
    {
        return m_rows;
    }

  private:
    using Algorithms = std::vector<NativeAlgorithm>;

    std::vector<ns3::Row> MakeRows()
    {
        std::vector<ns3::Row> rows = RowsOfQueues();
        const std::pair<std::string, Algorithms*> operations[] = {
            {"all-reduce", &m_config.allReduce},
            {"all-gather", &m_config.allGather},
            {"reduce-scatter", &m_config.reduceScatter},
            {"all-to-all", &m_config.allToAll}};
        for (const auto& [operation, algorithms] : operations)
        {
            const auto value =
                [&, target = algorithms](const std::string& key, std::string expected, auto read) {
                    return ns3::RowValue{std::move(expected),
                                         [this, key, target, read](std::string_view) {
                                             (this->*read)(key, *target);
                                             return true;
                                         }};
                };
            const std::string key = operation + "-implementation";
            rows.push_back({key,
                            value(key, DescribeNativeAlgorithms(), &SystemFile::ReadAlgorithms),
                            "algorithm of each dimension, or one of all; NCCL's if not given"});
            rows.push_back({key + "-custom",
                            value(key + "-custom", "paths", &SystemFile::ReadCustom),
                            "Chakra traces in place of an algorithm, ``PATH.RANK.et``"});
        }
        std::ranges::move(RowsOfMemory(), std::back_inserter(rows));
        return rows;
    }

    std::vector<ns3::Row> RowsOfQueues()
    {
        SystemConfig& config = m_config;
        return {
            {"scheduling-policy",
             ns3::Word(config.schedulingPolicy,
                       {{"LIFO", SchedulingPolicy::Lifo},
                        {"FIFO", SchedulingPolicy::Fifo},
                        {"EXPLICIT", SchedulingPolicy::Explicit}}),
             "order in which chunks of waiting collectives start"},
            {"active-chunks-per-dimension",
             ns3::Whole(config.activeChunksPerDimension, 1, INT32_MAX),
             "chunks that run at a time in a dimension"},
            {"replay-only",
             ns3::Flag(config.replayOnly),
             "Chakra: nodes take the times of the trace, and send nothing"},
            {"trace-enabled", ns3::Flag(config.traceEnabled), "writes ``timeline.json``"},
            {"boost-mode",
             ns3::Flag(m_boost),
             "accepted, no effect",
             false,
             [this] { return m_boost ? "as every rank is simulated" : ""; }},
        };
    }

    /// Rows of computation and of the memory bus, which is ASTRA-sim's algorithms'.
    std::vector<ns3::Row> RowsOfMemory()
    {
        SystemConfig& config = m_config;
        MemoryBusConfig& bus = m_config.memoryBus;
        const auto delay = [](TimePs& target) {
            return ns3::Parsed(
                target,
                [](std::string_view text) {
                    const auto ns = ns3::RealWithin(text, 0, LONGEST_DELAY_NS);
                    return ns ? std::optional(ns3::RoundToPs(*ns * 1000)) : std::nullopt;
                },
                ns3::RangeText("nanoseconds", 0.0, LONGEST_DELAY_NS),
                std::to_string(target / 1000),
                ns3::RowValue::Kind::Number);
        };
        const auto rate = [](double& target) { // so that data divided by it give a time in range
            return ns3::Parsed(
                target,
                [](std::string_view text) {
                    const auto none = ns3::RealWithin(text, 0, 0);
                    return none ? none : ns3::RealWithin(text, SMALLEST_RATE, LARGEST_RATE);
                },
                "0, or a number from 1e-6 to 1e12",
                "0",
                ns3::RowValue::Kind::Number);
        };
        const auto perMessage = [](double& target) {
            return ns3::Real(target, 0, LONGEST_DELAY_NS, "nanoseconds");
        };
        const auto unshared = [&bus] { return bus.shared ? "" : "without model-shared-bus"; };
        // Only ASTRA-sim's own algorithms follow the key. Without one, a value that differs from
        // the behaviour of NCCL's collectives changes nothing.
        const auto unfollowed = [&config](bool differs) -> std::string {
            return differs && !config.HasNativeAlgorithms()
                       ? "without an algorithm of ASTRA-sim (all-reduce-implementation, ...): "
                         "NCCL's collectives do not follow it"
                       : "";
        };
        return {
            {"L", perMessage(bus.L), "LogGP: latency of the bus", false, unshared},
            {"o", perMessage(bus.o), "LogGP: overhead of a message", false, unshared},
            {"g", perMessage(bus.g), "LogGP: gap between messages", false, unshared},
            {"G", perMessage(bus.G), "LogGP: time per byte", false, unshared},
            {"local-reduction-delay",
             delay(bus.localReductionDelay),
             "time of a reduction",
             false,
             unshared},
            {"endpoint-delay",
             delay(bus.endpointDelay),
             "time of a message between memory and the network port",
             false,
             [&bus, unfollowed] {
                 return bus.shared && bus.endpointDelay > 0 ? "with model-shared-bus"
                                                            : unfollowed(bus.endpointDelay > 0);
             }},
            {"model-shared-bus",
             ns3::Flag(bus.shared),
             "messages share the memory bus, as ``L``, ``o``, ``g`` and ``G`` say",
             false,
             [&bus, unfollowed] { return unfollowed(bus.shared); }},
            {"local-mem-bw",
             rate(bus.localMemBandwidth),
             "GB/s of local memory",
             false,
             [&config, &bus, unfollowed] {
                 return unfollowed(bus.localMemBandwidth > 0 && !config.rooflineEnabled);
             }},
            {"preferred-dataset-splits",
             ns3::Whole(config.preferredDatasetSplits, 1, INT32_MAX),
             "chunks of a collective",
             false,
             [&config, unfollowed] { return unfollowed(config.preferredDatasetSplits > 1); }},
            {"collective-optimization",
             ns3::Word(config.optimization,
                       {{"baseline", CollectiveOptimization::Baseline},
                        {"localBWAware", CollectiveOptimization::LocalBwAware}}),
             "use of several dimensions by an AllReduce: one in each, or ReduceScatter inwards, "
             "AllReduce in the last, AllGather outwards",
             false,
             [&config, unfollowed] {
                 return unfollowed(config.optimization != CollectiveOptimization::Baseline);
             }},
            {"roofline-enabled",
             ns3::Flag(config.rooflineEnabled),
             "computations take the time of a roofline"},
            {"peak-perf", rate(config.peakPerf), "TFLOP/s of the roofline"},
            {"track-local-mem", ns3::Flag(config.trackLocalMemory), "records the use of memory"},
            {"local-mem-trace-filename",
             ns3::Text(config.localMemoryTraceFile, "a file"),
             "record of the use of memory",
             false,
             [&config] { return config.trackLocalMemory ? "" : "without track-local-mem"; }},
        };
    }

    [[noreturn]] void Fail(const std::string& key,
                           const std::string& what,
                           const std::string& expected) const
    {
        m_file->Fail(key, "'" + key + "' " + what, expected);
    }

    /// @return the texts of a key, one for each dimension, or one
    std::vector<std::string> List(const std::string& key)
    {
        const nlohmann::json& value = m_file->GetObject().at(key);
        if (value.is_string())
        {
            return {value.get<std::string>()};
        }
        if (!value.is_array() || value.empty())
        {
            Fail(key, "is " + value.dump(), "a list with one entry per dimension");
        }
        std::vector<std::string> list;
        for (const auto& entry : value)
        {
            if (!entry.is_string())
            {
                Fail(key, "is " + value.dump(), "a list of texts");
            }
            list.push_back(entry.get<std::string>());
        }
        m_config.listedByDimension.push_back({key, list.size(), m_file->LineOf(key)});
        return list;
    }

    void ReadAlgorithms(const std::string& key, Algorithms& algorithms)
    {
        if (!algorithms.empty())
        {
            return; // a custom implementation goes before a native one
        }
        for (const auto& name : List(key))
        {
            const auto algorithm = ParseNativeAlgorithm(name);
            if (!algorithm)
            {
                Fail(key,
                     "names the unknown algorithm '" + name + "'",
                     DescribeNativeAlgorithms() + HintForNative(name));
            }
            algorithms.push_back(*algorithm);
        }
        using Kind = NativeAlgorithm::Kind;
        const Kind first = algorithms.empty() ? Kind::Native : algorithms.front().kind;
        const bool takesAll = first == Kind::Nccl || first == Kind::Engine;
        if (takesAll && std::ranges::any_of(algorithms, [first](const auto& each) {
                return each.kind != first;
            }))
        {
            Fail(key,
                 "names others beside the first algorithm, which carries out all dimensions",
                 "one algorithm, or algorithms of ASTRA-sim for each dimension");
        }
    }

    void ReadCustom(const std::string& key, Algorithms& algorithms)
    {
        algorithms.clear();
        for (const auto& path : List(key))
        {
            algorithms.push_back({NativeAlgorithm::Kind::Custom, true, {}, FindCustom(key, path)});
        }
    }

    /**
     * Paths in system files are relative to where the simulator's author ran it; look there, then
     * beside the system file with fewer and fewer of the leading folders.
     */
    std::string FindCustom(const std::string& key, const std::string& prefix) const
    {
        namespace fs = std::filesystem;
        const auto exists = [](const fs::path& path) {
            return ns3::InputExists(path.string() + ".0.et");
        };
        if (exists(prefix))
        {
            return prefix;
        }
        const fs::path folder = fs::path(m_config.file).parent_path();
        std::string rest = prefix;
        while (true)
        {
            if (exists(folder / rest))
            {
                return (folder / rest).string();
            }
            const auto slash = rest.find('/');
            if (slash == std::string::npos)
            {
                Fail(key, "names '" + prefix + "'", "files " + prefix + ".0.et, .1.et, ...");
            }
            rest = rest.substr(slash + 1);
        }
    }

    const JsonFile* m_file;
    SystemConfig m_config;
    bool m_boost{false};
    ns3::Rows m_rows;
};

} // namespace

const std::vector<NativeAlgorithm>&
SystemConfig::AlgorithmsOf(CollectiveOp op) const
{
    static const std::vector<NativeAlgorithm> NONE;
    switch (op)
    {
    case CollectiveOp::AllReduce:
        return allReduce;
    case CollectiveOp::AllGather:
        return allGather;
    case CollectiveOp::ReduceScatter:
        return reduceScatter;
    case CollectiveOp::AllToAll:
        return allToAll;
    default:
        return NONE;
    }
}

bool
SystemConfig::HasNativeAlgorithms() const
{
    using enum NativeAlgorithm::Kind;
    return std::ranges::any_of(std::array{&allReduce, &allGather, &reduceScatter, &allToAll},
                               [](const auto* algorithms) {
                                   return !algorithms->empty() &&
                                          algorithms->front().kind != Nccl &&
                                          algorithms->front().kind != Engine;
                               });
}

void
SystemConfig::RequireDimensions(std::size_t dimensions) const
{
    for (const ListedByDimension& each : listedByDimension)
    {
        if (each.entries > dimensions)
        {
            throw ns3::InputError(file,
                                  each.line,
                                  "'" + each.key + "' has " + std::to_string(each.entries) +
                                      " entries for " + std::to_string(dimensions) +
                                      (dimensions == 1 ? " dimension" : " dimensions"),
                                  "one entry per dimension (--logical-topology-configuration), or "
                                  "one for all");
        }
    }
}

SystemConfig
ReadSystemConfig(const std::string& path)
{
    const JsonFile file(path, "a JSON object");
    return SystemFile(&file, path).Read();
}

std::string
DescribeSystemKeys()
{
    return SystemFile(nullptr, "").GetRows().ToCsv();
}

} // namespace AstraSim
