/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-options.h"

#include "program-flags.h"

#include <cmath>
#include <sstream>

namespace AstraSim
{

namespace
{

namespace po = boost::program_options;

/// Short names of several letters, with dashes for underscores, and SimAI's second names.
const FlagAliases ALIASES = {
    {"g-p-s", "gpus-per-server"},
    {"r", "result"},
    {"r-f", "result-folder"},
    {"o", "result-folder"},
    {"output", "result-folder"},
    {"nv", "nvlink"},
    {"nic", "nic-busbw"},
    {"n-p-s", "nic-per-server"},
    {"nic-t", "nic-type"},
    {"g-type", "gpu-type"},
    {"busbw", "bus-bandwidth"},
    {"v", "visual"},
    {"dp-o", "dp-overlap-ratio"},
    {"ep-o", "ep-overlap-ratio"},
    {"tp-o", "tp-overlap-ratio"},
    {"pp-o", "pp-overlap-ratio"},
    {"dp-overlap", "dp-overlap-ratio"},
    {"ep-overlap", "ep-overlap-ratio"},
    {"tp-overlap", "tp-overlap-ratio"},
    {"pp-overlap", "pp-overlap-ratio"},
};

/// Values that are read further below.
struct RawAnalyticalFlags
{
    uint32_t gpus{0};
    uint32_t gpusPerServer{0};
    uint32_t nicsPerServer{0};
    double nvlinkGBps{0};
    double nicGBps{0};
    double dpOverlap{0};
    double epOverlap{0};
    double tpOverlap{0};
    double ppOverlap{1};
    int visual{0};
    LimitFlags limits;
};

po::options_description
Describe(AnalyticalOptions& options, RawAnalyticalFlags& raw)
{
    po::options_description description(
        "SimAI_analytical -w WORKLOAD -g GPUS [flags]; in brackets SimAI's short flag");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&options.help), "this text");
    add("version", po::bool_switch(&options.version), "the version of the program");
    add("workload,w", po::value(&options.workload), "workload file");
    add("network-topo,n",
        po::value(&options.topology),
        "topology file that GPUs, GPUs per server, types and bandwidths are taken from");
    add("gpus,g", po::value(&raw.gpus), "GPUs; else the workload's");
    add("gpus-per-server", po::value(&raw.gpusPerServer), "[-g_p_s] GPUs per server; else 8");
    add("gpu-type",
        po::value(&options.gpuType),
        "[-g_type] A100 A800 H100 H800 H20 ...; else H100");
    add("nvlink", po::value(&raw.nvlinkGBps), "[-nv] GB/s of a GPU's NVLinks; else the type's");
    add("nic-busbw", po::value(&raw.nicGBps), "[-nic] GB/s of a NIC; else the type's");
    add("nic-per-server", po::value(&raw.nicsPerServer), "[-n_p_s] NICs; else one per GPU");
    add("nic-type", po::value(&options.nicType), "[-nic_t] cx6, cx7 or bf3; else cx7");
    add("bus-bandwidth",
        po::value(&options.busbw),
        "[-busbw] file with the bus bandwidth of each collective; else NCCL's cost model");
    add("tp-overlap-ratio", po::value(&raw.tpOverlap), "[-tp_o] 0 to 1, of TP communication");
    add("dp-overlap-ratio", po::value(&raw.dpOverlap), "[-dp_o] the same of DP and DP_EP");
    add("ep-overlap-ratio", po::value(&raw.epOverlap), "[-ep_o] the same of EP");
    add("pp-overlap-ratio", po::value(&raw.ppOverlap), "[-pp_o] the same of PP; else 1");
    add("result", po::value(&options.prefix), "[-r] what names of result files begin with");
    add("result-folder",
        po::value(&options.folder),
        "[-r_f] directory; else results, without -r results/<workload>_analytical");
    add("visual", po::value(&raw.visual), "[-v] 1: also draw where the time goes (SVG)");
    add("passes", po::value(&options.passes), "number of iterations");
    add("tp", po::value(&options.sizes.tp), "tensor parallel size, for micro lines");
    add("ep", po::value(&options.sizes.ep), "expert parallel size, for micro lines");
    add("pp", po::value(&options.sizes.pp), "pipeline stages, for micro lines");
    raw.limits.AddTo(description);
    add("quiet,q", po::bool_switch(&options.quiet), "print nothing but warnings and errors");
    return description;
}

/// @return the arguments with a value for every -v, which SimAI lets stand alone
std::vector<std::string>
CompleteVisual(const std::vector<std::string>& arguments)
{
    std::vector<std::string> result;
    for (std::size_t i = 0; i < arguments.size(); ++i)
    {
        const bool visual =
            arguments[i] == "-v" || arguments[i] == "-visual" || arguments[i] == "--visual";
        const bool given = visual && i + 1 < arguments.size() && arguments[i + 1].size() == 1;
        result.push_back(arguments[i]);
        if (visual && !given)
        {
            result.emplace_back("1");
        }
    }
    return result;
}

template <typename T>
std::optional<T>
Given(const po::variables_map& values, const char* name, T value)
{
    if (!values.count(name))
    {
        return std::nullopt;
    }
    if (!std::isfinite(static_cast<double>(value)) || value <= 0)
    {
        std::ostringstream what;
        what << "--" << name << " is " << value;
        RefuseFlag(what.str(), "a number above 0");
    }
    return value;
}

double
Ratio(const char* name, double value)
{
    if (!(value >= 0 && value <= 1))
    {
        std::ostringstream what;
        what << name << " is " << value;
        RefuseFlag(what.str(), "a ratio from 0 to 1");
    }
    return value;
}

} // namespace

AnalyticalOptions
AnalyticalOptions::Parse(const std::vector<std::string>& arguments,
                         const NcclOptions::Lookup& environment)
{
    AnalyticalOptions options;
    RawAnalyticalFlags raw;
    const po::options_description description = Describe(options, raw);
    po::variables_map values;
    const auto unknown = ReadFlags(CompleteVisual(arguments), description, values, ALIASES);
    if (!unknown.empty())
    {
        RefuseUnknownFlag(unknown.front(), description);
    }
    options.environment = RunEnvironment::Read(environment);
    options.quiet = options.quiet || options.environment.logLevel > LogLevel::Info;
    if (options.help || options.version)
    {
        return options;
    }
    if (options.workload.empty())
    {
        RefuseFlag("no workload", "-w FILE");
    }
    options.limits = raw.limits.Read();
    if (options.passes == 0)
    {
        RefuseFlag("--passes is 0", "1 or more");
    }
    if (raw.visual != 0 && raw.visual != 1)
    {
        RefuseFlag("--visual is " + std::to_string(raw.visual), "0 or 1");
    }
    options.visual = raw.visual == 1;
    options.gpus = Given(values, "gpus", raw.gpus);
    options.gpusPerServer = Given(values, "gpus-per-server", raw.gpusPerServer);
    options.nicsPerServer = Given(values, "nic-per-server", raw.nicsPerServer);
    options.nvlinkGBps = Given(values, "nvlink", raw.nvlinkGBps);
    options.nicGBps = Given(values, "nic-busbw", raw.nicGBps);
    const auto at = [&options](GroupKind kind) -> double& {
        return options.overlap[static_cast<std::size_t>(kind)];
    };
    at(GroupKind::Tp) = Ratio("--tp-overlap-ratio", raw.tpOverlap);
    at(GroupKind::Dp) = Ratio("--dp-overlap-ratio", raw.dpOverlap);
    at(GroupKind::DpEp) = at(GroupKind::Dp);
    at(GroupKind::Ep) = Ratio("--ep-overlap-ratio", raw.epOverlap);
    at(GroupKind::Pp) = Ratio("--pp-overlap-ratio", raw.ppOverlap);
    return options;
}

std::string
AnalyticalOptions::Help()
{
    AnalyticalOptions options;
    RawAnalyticalFlags raw;
    std::ostringstream text;
    text << Describe(options, raw) << SPELLING_NOTE
         << "\nEnvironment: AS_NVLS_ENABLE AS_NVLSTREE_ENABLE AS_RING_CHANNELS AS_NV_CHANNELS\n"
            "  AS_GPU_TYPE AS_NET_BW AS_SEND_LAT AS_LOG_LEVEL NCCL_ALGO NCCL_PROTO\n"
            "  NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_TUNING NCCL_SELECT\n"
            "\nExit status: 0 done, 1 the workload did not finish, 2 an input is wrong.\n";
    return text.str();
}

} // namespace AstraSim
