/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-environment.h"

#include "collectives/model/msccl/msccl-algorithms.h"

#include "ns3/input-error.h"
#include "ns3/nearest-name.h"
#include "ns3/rows.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <unistd.h>

namespace AstraSim
{

namespace
{

constexpr double MIN_GBPS = 1e-6;
constexpr double MAX_GBPS = 1e6;
/// Above it AS_SEND_LAT is a mistake in the unit rather than a slow host.
constexpr TimePs LONGEST_USUAL_LATENCY = 1'000'000'000; // 1000 us

constexpr uint32_t MAX_THREADS = 1024;

/// The variables that are no library's.
class OwnVariables
{
  public:
    explicit OwnVariables(RunEnvironment& environment)
        : m_environment(environment)
    {
    }

    void Read(const NcclOptions::Lookup& lookup)
    {
        m_rows.ReadVariables(lookup);
        LoadMscclAlgorithms(m_mscclFiles, m_mscclDirectory);
    }

    const ns3::Rows& GetRows() const
    {
        return m_rows;
    }

  private:
    std::vector<ns3::Row> MakeRows()
    {
        using enum LogLevel;
        const auto parseGbps = [](std::string_view gbps) {
            const auto value = ns3::RealWithin(gbps, MIN_GBPS, MAX_GBPS);
            return value ? std::optional(static_cast<uint64_t>(*value * 1e9)) : std::nullopt;
        };
        return {
            {"AS_NET_BW",
             ns3::Parsed(m_environment.netBandwidthBps,
                         parseGbps,
                         ns3::RangeText("Gb/s", MIN_GBPS, MAX_GBPS)),
             "rate of the NIC links instead of the topology's"},
            {"AS_SIM_THREADS",
             ns3::Whole(m_environment.threads, 1, MAX_THREADS, "threads"),
             "of the simulator: ``-t``, unless that is given"},
            {"AS_LOG_LEVEL",
             ns3::Word(m_environment.logLevel,
                       {{"DEBUG", Debug},
                        {"INFO", Info},
                        {"WARNING", Warning},
                        {"ERROR", Error},
                        {"0", Debug},
                        {"1", Info},
                        {"2", Warning},
                        {"3", Error}}),
             "``DEBUG``: also each collective as it starts and ends; ``WARNING``: as with "
             "``--quiet``; ``ERROR``: no warnings either"},
            {"MSCCL_XML_FILES",
             ns3::Text(m_mscclFiles, "files with ':' between them"),
             "programs of MSCCL (:doc:`../models/nccl`)"},
            {"MSCCL_ALGO_DIR",
             ns3::Text(m_mscclDirectory, "a directory"),
             "the same: all ``*.xml`` of a directory"},
        };
    }

    RunEnvironment& m_environment;
    std::string m_mscclFiles;
    std::string m_mscclDirectory;
    ns3::Rows m_rows{"environment", MakeRows()};
};

/// Prefixes of NCCL's variables that change no time: the search for its files, the meeting of
/// ranks, messages, the handling of errors.
constexpr std::array NCCL_WITHOUT_EFFECT = {
    "NCCL_ASYNC_",      "NCCL_CHECK",        "NCCL_COMM_BLOCKING", "NCCL_COMM_ID",
    "NCCL_CONF_FILE",   "NCCL_DEBUG",        "NCCL_DIR",           "NCCL_HOME",
    "NCCL_HOSTID",      "NCCL_IB_ADDR_",     "NCCL_IB_GID_INDEX",  "NCCL_IB_ROCE_VERSION",
    "NCCL_INCLUDE",     "NCCL_LIB",          "NCCL_OOB_",          "NCCL_PROFILER",
    "NCCL_RAS_",        "NCCL_ROOT",         "NCCL_SET_",          "NCCL_SOCKET_IF",
    "NCCL_SOCKET_FAM",  "NCCL_SOCKET_RETRY", "NCCL_SOCKET_POLL",   "NCCL_VERSION",
    "NCCL_IGNORE_CPU_", "NCCL_REPORT_",      "NCCL_BLOCKING_WAIT", "NCCL_NVTX_",
    "NCCL_CUDA_PATH",   "NCCL_WARN_",
};

/// Warn of variables with SimAI's or NCCL's prefix that are none of @p known: variables without a
/// model, and typing mistakes.
void
WarnOfUnknown(const std::set<std::string>& known, std::vector<std::string>& warnings)
{
    for (char** each = environ; *each; ++each)
    {
        const std::string_view variable = *each;
        const std::string name(variable.substr(0, variable.find('=')));
        const bool isNccl = name.starts_with("NCCL_");
        if (known.contains(name) || (!isNccl && !name.starts_with("AS_")) ||
            (isNccl && std::ranges::any_of(NCCL_WITHOUT_EFFECT, [&](const char* beginning) {
                 return name.starts_with(beginning);
             })))
        {
            continue;
        }
        if (name == "NCCL_TOPO_FILE" || name == "NCCL_GRAPH_FILE")
        {
            warnings.push_back("environment: " + name +
                               " has no effect, as NCCL's XML is not read: the topology file says "
                               "how GPUs, NICs and switches are connected");
        }
        else
        {
            warnings.push_back("environment: " + name + " has no effect, as " +
                               (isNccl ? "nothing here models it, or " : "") +
                               "no variable has that name" + ns3::NearestHint(name, known));
        }
    }
}

} // namespace

std::optional<std::string>
EnvironmentVariable(const std::string& name)
{
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
}

RunEnvironment
RunEnvironment::Read(const NcclOptions::Lookup& lookup)
{
    RunEnvironment environment;
    std::set<std::string> known;
    // run.json tells every variable that is looked up and set.
    const NcclOptions::Lookup recording = [&](const std::string& name) {
        known.insert(name);
        const auto value = lookup(name);
        if (value && !value->empty())
        {
            environment.variables[name] = *value;
        }
        return value;
    };
    OwnVariables(environment).Read(recording); // NCCL_ALGO may name MSCCL's algorithms
    environment.nccl = NcclOptions::FromEnvironment(recording);
    for (const char* irrelevant : {"AS_LOG_LEVEL", "AS_SIM_THREADS"})
    {
        environment.variables.erase(irrelevant); // to the results
    }
    if (environment.nccl.selectByRules)
    {
        for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_TUNER_CONFIG_FILE"})
        {
            if (environment.variables.contains(name))
            {
                environment.warnings.push_back(
                    std::string("environment: ") + name +
                    " has no effect with NCCL_SELECT=rules, which choose by the group and "
                    "AS_NVLS_ENABLE");
            }
        }
    }
    if (environment.nccl.sendLatency.value_or(0) > LONGEST_USUAL_LATENCY)
    {
        environment.warnings.push_back(
            "AS_SEND_LAT is " + environment.variables["AS_SEND_LAT"] +
            " microseconds before each flow; SimAI's newer pages write nanoseconds, which would be "
            "AS_SEND_LAT=" +
            fmt::format("{:g}", static_cast<double>(*environment.nccl.sendLatency) / 1e9));
    }
    if (environment.nccl.ringSteps > 1)
    {
        environment.warnings.push_back(
            fmt::format("approximate with AS_RING_STEPS_PER_MESSAGE={}: rings may end some per "
                        "cent of their time off, those that share uplinks more than others; run "
                        "the same without it, to see by how much",
                        environment.nccl.ringSteps));
    }
    WarnOfUnknown(known, environment.warnings);
    return environment;
}

std::string
RunEnvironment::Describe()
{
    RunEnvironment environment;
    return OwnVariables(environment).GetRows().ToCsv() + NcclOptions::DescribeVariables();
}

} // namespace AstraSim
