/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "system-config.h"

#include "json-file.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/nearest-name.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>

namespace AstraSim
{

namespace
{

using Json = nlohmann::json;

constexpr double LONGEST_DELAY_NS = 1e12;
constexpr double SMALLEST_RATE = 1e-6;
constexpr double LARGEST_RATE = 1e12;

/// Reads one system file; each key has one entry in a table.
class SystemFile
{
  public:
    explicit SystemFile(const std::string& path)
        : m_file(path, "a JSON object")
    {
        m_config.file = path;
    }

    SystemConfig Read()
    {
        const Json& json = m_file.GetObject();
        const auto keys = Keys();
        for (const auto& [key, value] : json.items())
        {
            const auto found = keys.find(key);
            if (found == keys.end())
            {
                std::vector<std::string> names;
                for (const auto& [name, setter] : keys)
                {
                    names.push_back(name);
                }
                Fail(key,
                     "is not a key of a system file",
                     "a known key" + ns3::NearestHint(key, names));
            }
            found->second(key, value);
        }
        if (m_config.memoryBus.shared && !json.contains("G"))
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
        WarnOfIdleKeys();
        return m_config;
    }

  private:
    using Setter = std::function<void(const std::string& key, const Json& value)>;

    void Warn(const std::string& what)
    {
        m_config.warnings.push_back(m_config.file + ": " + what);
    }

    /// Warn that keys have no effect, if the file has them. @param why "without model-shared-bus"
    void WarnOf(std::initializer_list<const char*> keys, const std::string& why)
    {
        for (const char* key : keys)
        {
            if (m_file.GetObject().contains(key))
            {
                Warn(std::string(key) + " has no effect " + why);
            }
        }
    }

    /// Warn of keys that only count with another one.
    void WarnOfIdleKeys()
    {
        const MemoryBusConfig& bus = m_config.memoryBus;
        if (!bus.shared)
        {
            WarnOf({"L", "o", "g", "G", "local-reduction-delay"}, "without model-shared-bus");
        }
        else if (bus.endpointDelay > 0)
        {
            WarnOf({"endpoint-delay"}, "with model-shared-bus");
        }
        if (!m_config.trackLocalMemory)
        {
            WarnOf({"local-mem-trace-filename"}, "without track-local-mem");
        }
        if (!m_config.HasNativeAlgorithms())
        {
            WarnOfKeysOfNatives();
        }
    }

    /// Warn of keys that only ASTRA-sim's algorithms follow, unless they have the values that hold
    /// without them.
    void WarnOfKeysOfNatives()
    {
        const MemoryBusConfig& bus = m_config.memoryBus;
        const std::string why = "without an algorithm of ASTRA-sim (all-reduce-implementation, "
                                "...): NCCL's collectives do not follow it";
        if (bus.shared)
        {
            WarnOf({"model-shared-bus"}, why);
        }
        else if (bus.endpointDelay > 0)
        {
            WarnOf({"endpoint-delay"}, why);
        }
        if (bus.localMemBandwidth > 0 && !m_config.rooflineEnabled)
        {
            WarnOf({"local-mem-bw"}, why);
        }
        if (m_config.preferredDatasetSplits > 1)
        {
            WarnOf({"preferred-dataset-splits"}, why);
        }
        if (m_config.optimization != CollectiveOptimization::Baseline)
        {
            WarnOf({"collective-optimization"}, why);
        }
    }

    [[noreturn]] void Fail(const std::string& key,
                           const std::string& what,
                           const std::string& expected) const
    {
        m_file.Fail(key, "'" + key + "' " + what, expected);
    }

    double Number(const std::string& key, const Json& value) const
    {
        if (!value.is_number() || value.get<double>() < 0)
        {
            Fail(key, "is " + value.dump(), "a number that is not negative");
        }
        return value.get<double>();
    }

    /// @return nanoseconds that the clock has room for many times over
    double Delay(const std::string& key, const Json& value) const
    {
        const double ns = Number(key, value);
        if (ns > LONGEST_DELAY_NS)
        {
            Fail(key, "is " + value.dump(), "at most 1e12 ns (1000 s)");
        }
        return ns;
    }

    /// @return 0, or a rate in bounds, so that data divided by it give a time in range
    double Rate(const std::string& key, const Json& value) const
    {
        const double rate = Number(key, value);
        if (rate != 0 && (rate < SMALLEST_RATE || rate > LARGEST_RATE))
        {
            Fail(key, "is " + value.dump(), "0, or a number from 1e-6 to 1e12");
        }
        return rate;
    }

    uint32_t Count(const std::string& key, const Json& value) const
    {
        if (!value.is_number_unsigned() || value.get<uint64_t>() == 0 ||
            value.get<uint64_t>() > INT32_MAX)
        {
            Fail(key, "is " + value.dump(), "a whole number of at least 1");
        }
        return value.get<uint32_t>();
    }

    bool Flag(const std::string& key, const Json& value) const
    {
        if (value.is_boolean())
        {
            return value.get<bool>();
        }
        if (value.is_number_integer() && (value == 0 || value == 1))
        {
            return value == 1;
        }
        Fail(key, "is " + value.dump(), "0, 1, true or false");
    }

    std::string Text(const std::string& key, const Json& value) const
    {
        if (!value.is_string())
        {
            Fail(key, "is " + value.dump(), "text");
        }
        return value.get<std::string>();
    }

    std::vector<std::string> List(const std::string& key, const Json& value)
    {
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
            list.push_back(Text(key, entry));
        }
        m_config.listedByDimension.push_back({key, list.size(), m_file.LineOf(key)});
        return list;
    }

    Setter Algorithms(std::vector<NativeAlgorithm> SystemConfig::*member)
    {
        return [this, member](const std::string& key, const Json& value) {
            auto& algorithms = m_config.*member;
            if (!algorithms.empty())
            {
                return; // a custom implementation goes before a native one
            }
            for (const auto& name : List(key, value))
            {
                const auto algorithm = ParseNativeAlgorithm(name);
                if (!algorithm)
                {
                    Fail(key, "names the unknown algorithm '" + name + "'", NATIVE_ALGORITHM_NAMES);
                }
                algorithms.push_back(*algorithm);
            }
            using Kind = NativeAlgorithm::Kind;
            const Kind first = algorithms.empty() ? Kind::Ring : algorithms.front().kind;
            const bool takesAll = first == Kind::Nccl || first == Kind::Accl;
            if (takesAll && std::ranges::any_of(algorithms, [first](const auto& each) {
                    return each.kind != first;
                }))
            {
                Fail(key,
                     "names others beside the first algorithm, which carries out all dimensions",
                     "one algorithm, or algorithms of ASTRA-sim for each dimension");
            }
        };
    }

    Setter Custom(std::vector<NativeAlgorithm> SystemConfig::*member)
    {
        return [this, member](const std::string& key, const Json& value) {
            auto& algorithms = m_config.*member;
            algorithms.clear();
            for (const auto& path : List(key, value))
            {
                algorithms.push_back(
                    {NativeAlgorithm::Kind::Custom, true, -1, FindCustom(key, path)});
            }
        };
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

    Setter Nanoseconds(double MemoryBusConfig::*member)
    {
        return [this, member](const std::string& key, const Json& value) {
            m_config.memoryBus.*member = Delay(key, value);
        };
    }

    std::map<std::string, Setter> Keys()
    {
        auto& config = m_config;
        std::map<std::string, Setter> keys;
        keys["scheduling-policy"] = [this](auto& key, auto& value) {
            static const std::map<std::string, SchedulingPolicy> POLICIES = {
                {"LIFO", SchedulingPolicy::Lifo},
                {"FIFO", SchedulingPolicy::Fifo},
                {"EXPLICIT", SchedulingPolicy::Explicit},
            };
            const auto found = POLICIES.find(Text(key, value));
            if (found == POLICIES.end())
            {
                Fail(key, "is " + value.dump(), "LIFO, FIFO or EXPLICIT");
            }
            m_config.schedulingPolicy = found->second;
        };
        keys["collective-optimization"] = [this](auto& key, auto& value) {
            const std::string name = Text(key, value);
            if (name != "baseline" && name != "localBWAware")
            {
                Fail(key, "is " + value.dump(), "baseline or localBWAware");
            }
            m_config.optimization = name == "baseline" ? CollectiveOptimization::Baseline
                                                       : CollectiveOptimization::LocalBwAware;
        };
        keys["endpoint-delay"] = [this](auto& key, auto& value) {
            m_config.memoryBus.endpointDelay = ns3::RoundToPs(Delay(key, value) * 1000);
        };
        keys["local-reduction-delay"] = [this](auto& key, auto& value) {
            m_config.memoryBus.localReductionDelay = ns3::RoundToPs(Delay(key, value) * 1000);
        };
        keys["active-chunks-per-dimension"] = [this](auto& key, auto& value) {
            m_config.activeChunksPerDimension = Count(key, value);
        };
        keys["preferred-dataset-splits"] = [this](auto& key, auto& value) {
            m_config.preferredDatasetSplits = Count(key, value);
        };
        keys["all-reduce-implementation"] = Algorithms(&SystemConfig::allReduce);
        keys["all-gather-implementation"] = Algorithms(&SystemConfig::allGather);
        keys["reduce-scatter-implementation"] = Algorithms(&SystemConfig::reduceScatter);
        keys["all-to-all-implementation"] = Algorithms(&SystemConfig::allToAll);
        keys["all-reduce-implementation-custom"] = Custom(&SystemConfig::allReduce);
        keys["all-gather-implementation-custom"] = Custom(&SystemConfig::allGather);
        keys["reduce-scatter-implementation-custom"] = Custom(&SystemConfig::reduceScatter);
        keys["all-to-all-implementation-custom"] = Custom(&SystemConfig::allToAll);
        keys["local-mem-bw"] = [this](auto& key, auto& value) {
            m_config.memoryBus.localMemBandwidth = Rate(key, value);
        };
        keys["L"] = Nanoseconds(&MemoryBusConfig::L);
        keys["o"] = Nanoseconds(&MemoryBusConfig::o);
        keys["g"] = Nanoseconds(&MemoryBusConfig::g);
        keys["G"] = Nanoseconds(&MemoryBusConfig::G);
        const auto flag = [this](bool& target) {
            return [this, &target](const std::string& key, const Json& value) {
                target = Flag(key, value);
            };
        };
        keys["model-shared-bus"] = flag(config.memoryBus.shared);
        keys["roofline-enabled"] = flag(config.rooflineEnabled);
        keys["trace-enabled"] = flag(config.traceEnabled);
        keys["replay-only"] = flag(config.replayOnly);
        keys["track-local-mem"] = flag(config.trackLocalMemory);
        keys["boost-mode"] = [this](auto& key, auto& value) {
            if (Flag(key, value))
            {
                Warn("boost-mode has no effect: every rank is simulated");
            }
        };
        keys["peak-perf"] = [this](auto& key, auto& value) {
            m_config.peakPerf = Rate(key, value);
        };
        keys["local-mem-trace-filename"] = [this](auto& key, auto& value) {
            m_config.localMemoryTraceFile = Text(key, value);
        };
        return keys;
    }

    JsonFile m_file;
    SystemConfig m_config;
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
                                          algorithms->front().kind != Accl;
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
    return SystemFile(path).Read();
}

} // namespace AstraSim
