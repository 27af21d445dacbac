/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-environment.h"

#include "collectives/model/msccl/msccl-algorithms.h"

#include "ns3/input-error.h"
#include "ns3/nearest-name.h"
#include "ns3/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
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

LogLevel
ParseLogLevel(const std::string& text)
{
    static constexpr std::array NAMES = {"DEBUG", "INFO", "WARNING", "ERROR"};
    for (std::size_t i = 0; i < NAMES.size(); ++i)
    {
        if (text == NAMES[i] || text == std::to_string(i))
        {
            return static_cast<LogLevel>(i);
        }
    }
    throw ns3::InputError("environment",
                          0,
                          "AS_LOG_LEVEL is '" + text + "'",
                          "DEBUG, INFO, WARNING or ERROR, or 0 to 3");
}

/// Prefixes of NCCL's variables that change no time: the search for its files, the meeting of
/// ranks, messages, the handling of errors.
constexpr std::array NCCL_WITHOUT_EFFECT = {
    "NCCL_ASYNC_",
    "NCCL_CHECK",
    "NCCL_COMM_BLOCKING",
    "NCCL_COMM_ID",
    "NCCL_CONF_FILE",
    "NCCL_DEBUG",
    "NCCL_DIR",
    "NCCL_HOME",
    "NCCL_HOSTID",
    "NCCL_IB_ADDR_",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_RETRY_CNT",
    "NCCL_IB_ROCE_VERSION",
    "NCCL_IB_TIMEOUT",
    "NCCL_INCLUDE",
    "NCCL_LIB",
    "NCCL_OOB_",
    "NCCL_PROFILER",
    "NCCL_RAS_",
    "NCCL_ROOT",
    "NCCL_SET_",
    "NCCL_SOCKET_IF",
    "NCCL_SOCKET_FAM",
    "NCCL_SOCKET_RETRY",
    "NCCL_SOCKET_POLL",
    "NCCL_VERSION",
    "NCCL_IGNORE_CPU_",
    "NCCL_REPORT_",
    "NCCL_BLOCKING_WAIT",
    "NCCL_NVTX_",
    "NCCL_CUDA_PATH",
    "NCCL_WARN_",
};

/// NCCL's variables that change times and that nothing here models.
const std::set<std::string, std::less<>> NCCL_NOT_MODELLED = {
    "NCCL_CHUNK_SIZE",
    "NCCL_COLLNET_NODE_THRESHOLD",
    "NCCL_CTA_POLICY",
    "NCCL_DMABUF_ENABLE",
    "NCCL_GRAPH_FILE",
    "NCCL_GRAPH_MIXING_SUPPORT",
    "NCCL_GRAPH_REGISTER",
    "NCCL_IB_ADAPTIVE_ROUTING",
    "NCCL_IB_AR_THRESHOLD",
    "NCCL_IB_CUDA_SUPPORT",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_IB_MERGE_NICS",
    "NCCL_IB_MERGE_VFS",
    "NCCL_IB_PCI_RELAXED_ORDERING",
    "NCCL_IB_QPS_PER_CONNECTION",
    "NCCL_IB_SL",
    "NCCL_IB_SPLIT_DATA_ON_QPS",
    "NCCL_IB_TC",
    "NCCL_IGNORE_DISABLED_P2P",
    "NCCL_L1_SHARED_MEMORY_CARVEOUT",
    "NCCL_LAUNCH_MODE",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_LL128_NTHREADS",
    "NCCL_LL_BUFFSIZE",
    "NCCL_LL_THRESHOLD",
    "NCCL_LOCAL_REGISTER",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NRINGS",
    "NCCL_MAX_P2P_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NRINGS",
    "NCCL_MIN_P2P_NCHANNELS",
    "NCCL_MNNVL_ENABLE",
    "NCCL_NCHANNELS_PER_NET_PEER",
    "NCCL_NET",
    "NCCL_NETDEVS_POLICY",
    "NCCL_NET_FORCE_MERGE",
    "NCCL_NET_GDR_C2C",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_GDR_READ",
    "NCCL_NET_MERGE_LEVEL",
    "NCCL_NET_OPTIONAL_RECV_COMPLETION",
    "NCCL_NET_PLUGIN",
    "NCCL_NET_SHARED_BUFFERS",
    "NCCL_NET_SHARED_COMMS",
    "NCCL_NSOCKS_PERTHREAD",
    "NCCL_NTHREADS",
    "NCCL_NVB_DISABLE",
    "NCCL_NVLSTREE_MAX_CHUNKSIZE",
    "NCCL_NVLS_CHUNKSIZE",
    "NCCL_NVLS_NCHANNELS",
    "NCCL_P2P_DIRECT_DISABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_P2P_LL_THRESHOLD",
    "NCCL_P2P_PCI_CHUNKSIZE",
    "NCCL_P2P_PXN_LEVEL",
    "NCCL_P2P_USE_CUDA_MEMCPY",
    "NCCL_PAT_ENABLE",
    "NCCL_PROGRESS_APPENDOP_FREQ",
    "NCCL_RUNTIME_CONNECT",
    "NCCL_SHM_DISABLE",
    "NCCL_SHM_USE_CUDA_MEMCPY",
    "NCCL_SINGLE_RING_THRESHOLD",
    "NCCL_SOCKET_NTHREADS",
    "NCCL_SYM_KERNEL",
    "NCCL_THREAD_THRESHOLDS",
    "NCCL_TOPO_FILE",
    "NCCL_TREE_THRESHOLD",
    "NCCL_TUNER_PLUGIN",
    "NCCL_WIN_ENABLE",
    "NCCL_WORK_FIFO_DEPTH",
    "NCCL_WORK_FIFO_BYTES",
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
        else if (NCCL_NOT_MODELLED.contains(name))
        {
            warnings.push_back("environment: " + name +
                               " has no effect, as what it changes in NCCL is not modelled");
        }
        else
        {
            warnings.push_back("environment: " + name +
                               " has no effect, as no variable has that name" +
                               ns3::NearestHint(name, known));
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
    const NcclOptions::Lookup noting = [&](const std::string& name) {
        known.insert(name);
        return lookup(name);
    };
    // run.json tells every variable that is looked up and set.
    const NcclOptions::Lookup recording = [&](const std::string& name) {
        const auto value = noting(name);
        if (value && !value->empty())
        {
            environment.variables[name] = *value;
        }
        return value;
    };
    LoadMscclAlgorithms(recording); // NCCL_ALGO may name them
    environment.nccl = NcclOptions::FromEnvironment(recording);
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
    const auto bandwidth = recording("AS_NET_BW");
    if (bandwidth && !bandwidth->empty())
    {
        double gbps = 0;
        const auto [end, error] =
            std::from_chars(bandwidth->data(), bandwidth->data() + bandwidth->size(), gbps);
        if (error != std::errc() || end != bandwidth->data() + bandwidth->size() ||
            !(gbps >= MIN_GBPS && gbps <= MAX_GBPS))
        {
            throw ns3::InputError("environment",
                                  0,
                                  "AS_NET_BW is '" + *bandwidth + "'",
                                  "Gb/s of a NIC link, from 1e-6 to 1e6");
        }
        environment.netBandwidthBps = static_cast<uint64_t>(gbps * 1e9);
    }
    if (const auto level = noting("AS_LOG_LEVEL"); level && !level->empty())
    {
        environment.logLevel = ParseLogLevel(*level);
    }
    if (const auto threads = noting("AS_SIM_THREADS"); threads && !threads->empty())
    {
        const auto count = ns3::ParseUnsigned(*threads);
        if (!count || *count == 0 || *count > MAX_THREADS)
        {
            throw ns3::InputError("environment",
                                  0,
                                  "AS_SIM_THREADS is '" + *threads + "'",
                                  "a number of threads from 1 to " + std::to_string(MAX_THREADS));
        }
        environment.threads = static_cast<uint32_t>(*count);
    }
    WarnOfUnknown(known, environment.warnings);
    return environment;
}

} // namespace AstraSim
