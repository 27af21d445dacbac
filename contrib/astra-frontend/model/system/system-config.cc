/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "system-config.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace AstraSim
{

namespace
{

using Json = nlohmann::json;

/// @return the line of @p text in which @p position lies
std::size_t
LineAt(const std::string& text, std::size_t position)
{
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
    return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

/// @return edit distance, to name the key that was probably meant
std::size_t
EditDistance(const std::string& a, const std::string& b)
{
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
    {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i)
    {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j)
        {
            const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row.back();
}

/// Reads one system file; each key has one entry in a table.
class SystemFile
{
  public:
    explicit SystemFile(const std::string& path)
        : m_path(path)
    {
        std::ifstream file(path);
        if (!file)
        {
            throw ns3::InputError(path, 0, "cannot be read", "a system file in JSON");
        }
        std::ostringstream text;
        text << file.rdbuf();
        m_text = text.str();
    }

    SystemConfig Read()
    {
        Json json;
        try
        {
            json = Json::parse(m_text);
        }
        catch (const Json::parse_error& error)
        {
            throw ns3::InputError(m_path,
                                  LineAt(m_text, error.byte),
                                  "is no valid JSON",
                                  "a JSON object");
        }
        catch (const Json::out_of_range&)
        {
            throw ns3::InputError(m_path, 0, "holds a number that is too large", "a JSON object");
        }
        if (!json.is_object())
        {
            throw ns3::InputError(m_path, 1, "is no JSON object", "{\"key\": value, ...}");
        }
        const auto keys = Keys();
        for (const auto& [key, value] : json.items())
        {
            const auto found = keys.find(key);
            if (found == keys.end())
            {
                const auto nearest =
                    std::min_element(keys.begin(), keys.end(), [&key](auto& a, auto& b) {
                        return EditDistance(a.first, key) < EditDistance(b.first, key);
                    });
                Fail(key, "is not a key of a system file", "perhaps '" + nearest->first + "'");
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
        return m_config;
    }

  private:
    using Setter = std::function<void(const std::string& key, const Json& value)>;

    [[noreturn]] void Fail(const std::string& key,
                           const std::string& what,
                           const std::string& expected) const
    {
        const auto position = m_text.find('"' + key + '"');
        throw ns3::InputError(m_path,
                              position == std::string::npos ? 0 : LineAt(m_text, position),
                              "'" + key + "' " + what,
                              expected);
    }

    double Number(const std::string& key, const Json& value) const
    {
        if (!value.is_number() || value.get<double>() < 0)
        {
            Fail(key, "is " + value.dump(), "a number that is not negative");
        }
        return value.get<double>();
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

    std::vector<std::string> List(const std::string& key, const Json& value) const
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
            return fs::exists(path.string() + ".0.et");
        };
        if (exists(prefix))
        {
            return prefix;
        }
        const fs::path folder = fs::path(m_path).parent_path();
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
            m_config.memoryBus.*member = Number(key, value);
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
            m_config.memoryBus.endpointDelay = std::llround(Number(key, value) * 1000);
        };
        keys["local-reduction-delay"] = [this](auto& key, auto& value) {
            m_config.memoryBus.localReductionDelay = std::llround(Number(key, value) * 1000);
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
        keys["local-mem-bw"] = Nanoseconds(&MemoryBusConfig::localMemBandwidth);
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
                m_config.warnings.push_back(m_path + ": boost-mode has no effect: every rank is "
                                                     "simulated");
            }
        };
        keys["peak-perf"] = [this](auto& key, auto& value) {
            m_config.peakPerf = Number(key, value);
        };
        keys["local-mem-trace-filename"] = [this](auto& key, auto& value) {
            m_config.localMemoryTraceFile = Text(key, value);
        };
        return keys;
    }

    std::string m_path;
    std::string m_text;
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

SystemConfig
ReadSystemConfig(const std::string& path)
{
    return SystemFile(path).Read();
}

} // namespace AstraSim
