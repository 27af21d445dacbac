/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-perf-options.h"

#include "program-flags.h"
#include "run-environment.h"

#include "ns3/nearest-name.h"
#include "ns3/units.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <sstream>

namespace AstraSim
{

namespace
{

constexpr double MAX_LAUNCH_US = 1e6;

/// Flags that do not change how a network carries traffic, as those of RunOptions; the others of
/// nccl-tests have no effect.
const std::set<std::string> OF_THE_TEST = {"minbytes",
                                           "maxbytes",
                                           "stepbytes",
                                           "stepfactor",
                                           "iters",
                                           "agg_iters",
                                           "warmup_iters",
                                           "run_cycles",
                                           "nthreads",
                                           "ngpus",
                                           "processes",
                                           "check",
                                           "op",
                                           "datatype",
                                           "root",
                                           "blocking",
                                           "average",
                                           "network-topo",
                                           "network-conf",
                                           "gpu-table",
                                           "fast-forward",
                                           "fast-forward-store",
                                           "fast-forward-store-size",
                                           "output",
                                           "quiet",
                                           "all-iterations"};

namespace po = boost::program_options;

constexpr CollectiveTest TESTS[] = {
    {"all_reduce_perf", CollectiveOp::AllReduce, true, false, false},
    {"all_gather_perf", CollectiveOp::AllGather, false, false, true},
    {"reduce_scatter_perf", CollectiveOp::ReduceScatter, true, false, true},
    {"alltoall_perf", CollectiveOp::AllToAll, false, false, true},
    {"sendrecv_perf", CollectiveOp::SendRecv, true, false, false},
    {"broadcast_perf", CollectiveOp::Broadcast, false, true, false},
    {"reduce_perf", CollectiveOp::Reduce, true, true, false},
    {"gather_perf", CollectiveOp::Gather, false, true, true},
    {"scatter_perf", CollectiveOp::Scatter, false, true, true},
    {"hypercube_perf", CollectiveOp::None, false, false, true},
};

constexpr ElementType TYPES[] = {{"int8", 1},
                                 {"uint8", 1},
                                 {"int32", 4},
                                 {"uint32", 4},
                                 {"int64", 8},
                                 {"uint64", 8},
                                 {"half", 2},
                                 {"float", 4},
                                 {"double", 8},
                                 {"bfloat16", 2},
                                 {"f8e4m3", 1},
                                 {"f8e5m2", 1}};

constexpr const char* REDUCTIONS[] = {"sum", "prod", "max", "min", "avg", "mulsum"};

/// A flag of nccl-tests that asks for what a simulation does not have.
struct AbsentFlag
{
    const char* names;
    const char* why;
};

constexpr AbsentFlag ABSENT[] = {
    {"per_iter_timing,I", "iterations repeat each other, so there are no statistics"},
    {"report_timestamps,S", "the same run prints the same text at any time"},
    {"memory,M", "the memory of GPUs is not modelled"},
    {"unalign,u", "buffers have no addresses"},
    {"device_implementation,D", "kernels other than NCCL's own are not modelled"},
    {"cta_policy,x", "policies other than the default are not modelled"},
};

/// Values that are read further below.
struct RawPerfFlags
{
    std::string minBytes{"32M"};
    std::string maxBytes{"32M"};
    std::string stepBytes{"1M"};
    std::string type{"float"};
    std::string reduction{"sum"};
    std::string root{"0"};
    std::string network{"packet"};
    std::string fastForward{"off"};
    uint32_t average{1};
    std::string ignored;
};

po::options_description
Describe(CollectivePerfOptions& options, RawPerfFlags& raw)
{
    po::options_description description("collective-perf TEST -b 8 -e 1G -f 2 --network-topo FILE");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&options.help), "this text");
    add("help-conf", po::bool_switch(&options.helpConf), "the keys of a configuration file");
    add("version", po::bool_switch(&options.version), "the version of the program");
    add("minbytes,b", po::value(&raw.minBytes), "smallest size: 8, 64K, 32M, 1G");
    add("maxbytes,e", po::value(&raw.maxBytes), "largest size");
    add("stepbytes,i", po::value(&raw.stepBytes), "bytes added to each size to get the next");
    add("stepfactor,f", po::value(&options.stepFactor), "factor from each size to the next");
    add("iters,n", po::value(&options.iterations), "timed iterations");
    add("agg_iters,m",
        po::value(&options.aggregated),
        "collectives of one launch; times are those of one of them");
    add("warmup_iters,w",
        po::value(&options.warmUps),
        "0: none; else one iteration per size is not timed");
    add("run_cycles,N",
        po::value(&options.cycles),
        "how many times to run and print the whole table");
    add("nthreads,t", po::value(&options.threads), "threads of a process");
    add("ngpus,g", po::value(&options.gpusPerThread), "GPUs of a thread");
    add("processes",
        po::value(&options.processes),
        "as mpirun -np; else as many as the topology has GPUs for");
    add("check,c", po::value(&options.checks), "0: #wrong is N/A; else it is 0");
    add("op,o", po::value(&raw.reduction), "sum, prod, max, min, avg, mulsum or all");
    add("datatype,d", po::value(&raw.type), "float, half, ... or all");
    add("root,r", po::value(&raw.root), "root; -1: each rank in turn");
    add("blocking,z",
        po::value(&options.blocking),
        "0, 2: iterations follow each other on each rank; 1, 3: all ranks finish one before the "
        "next");
    add("average,a", po::value(&raw.average), "time of rank 0 (0), average (1), min (2), max (3)");
    for (const char* name : {"parallel_init,p",
                             "stream_null,y",
                             "timeout,T",
                             "cudagraph,G",
                             "report_cputime,C",
                             "local_register,R",
                             "per_iter_skip,K",
                             "device_cta_count,V"})
    {
        add(name, po::value(&raw.ignored), "accepted, no effect");
    }
    for (const AbsentFlag& flag : ABSENT)
    {
        add(flag.names, po::value<uint32_t>(), ("0 only: " + std::string(flag.why)).c_str());
    }
    add("output_file,J", po::value(&raw.ignored), "refused: the table goes to standard output");
    add("network-topo", po::value(&options.run.topology), "topology file; else TOPOLOGY_FILE");
    add("network-conf", po::value(&options.run.conf), "SimAI.conf; else the defaults");
    add("network", po::value(&raw.network), "packet, flow or analytical");
    add("fast-forward",
        po::value(&raw.fastForward)->implicit_value("on"),
        "simulate what repeats once: off, on, exact or verify");
    DescribeFastForwardStore(options.run, description);
    add("gpu-table", po::value(&options.run.nccl.gpuTable), "GPU types besides the built-in ones");
    add("set",
        po::value(&options.run.confKeys)->composing(),
        "KEY=VALUE of the configuration, wins over the file; may repeat");
    add("output",
        po::value(&options.run.output),
        "directory for fct.txt, links.csv, ...; else none");
    add("launch-us",
        po::value(&options.launchUs),
        "microseconds that a thread takes to launch a collective on one of its -g GPUs, one after "
        "the other; 0: none");
    add("launch-channel-us",
        po::value(&options.launchChannelUs),
        "microseconds that it takes more for each channel of the collective but the first; 0: "
        "none");
    add("quiet,q",
        po::bool_switch(&options.run.quiet),
        "print nothing but warnings and errors; results are in --output");
    add("all-iterations",
        po::bool_switch(&options.simulatesAll),
        "simulate all iterations, also those that repeat the one before");
    return description;
}

/// @return the test of that name, with or without "_perf" and a path; null if there is none
const CollectiveTest*
FindTest(const std::string& path)
{
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto found = std::find_if(std::begin(TESTS), std::end(TESTS), [&](const auto& test) {
        return name == test.program || name + "_perf" == test.program;
    });
    return found == std::end(TESTS) ? nullptr : found;
}

const CollectiveTest*
TakeTest(const std::string& program, std::vector<std::string>& arguments)
{
    if (const CollectiveTest* test = FindTest(program))
    {
        return test;
    }
    const std::string first =
        arguments.empty() || arguments[0].starts_with('-') ? "" : arguments[0];
    std::vector<std::string> names;
    for (const CollectiveTest& test : TESTS)
    {
        names.emplace_back(test.program);
    }
    const CollectiveTest* test = FindTest(first);
    if (!test)
    {
        RefuseFlag(first.empty() ? "no test is named" : "\"" + first + "\" is not a valid test",
                   first.empty() ? "the name of one first, such as all_reduce_perf"
                                 : "a test of --help" + ns3::NearestHint(first, names));
    }
    arguments.erase(arguments.begin());
    return test;
}

void
ReadSizes(const RawPerfFlags& raw, CollectivePerfOptions& options)
{
    options.minBytes = ParseSizeFlag("-b", raw.minBytes);
    options.maxBytes = ParseSizeFlag("-e", raw.maxBytes);
    options.stepBytes = ParseSizeFlag("-i", raw.stepBytes);
    if (options.minBytes > options.maxBytes)
    {
        RefuseFlag("-b " + raw.minBytes + " is above -e " + raw.maxBytes,
                   "a smallest size that is not above the largest");
    }
    const bool grows = options.stepFactor > 1 ? options.minBytes > 0 : options.stepBytes > 0;
    if (!grows && options.minBytes < options.maxBytes)
    {
        RefuseFlag("sizes from " + raw.minBytes + " do not grow",
                   "-f above 1 and -b above 0, or -i above 0");
    }
}

void
ReadTypes(const RawPerfFlags& raw, CollectivePerfOptions& options)
{
    for (const ElementType& type : TYPES)
    {
        if (raw.type == "all" || raw.type == type.name)
        {
            options.types.push_back(type);
        }
    }
    if (options.types.empty())
    {
        RefuseFlag("-d " + raw.type + " is not a valid type",
                   "int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, "
                   "f8e4m3, f8e5m2 or all");
    }
    const bool known = raw.reduction == "all" ||
                       std::find(std::begin(REDUCTIONS), std::end(REDUCTIONS), raw.reduction) !=
                           std::end(REDUCTIONS);
    if (!known)
    {
        RefuseFlag("-o " + raw.reduction + " is not a valid operation",
                   "sum, prod, max, min, avg, mulsum or all");
    }
    if (!options.test->reduces)
    {
        options.reductions = {options.test->op == CollectiveOp::None ? "" : "none"};
    }
    else if (raw.reduction == "all")
    {
        options.reductions.assign(std::begin(REDUCTIONS), std::end(REDUCTIONS));
    }
    else
    {
        options.reductions = {raw.reduction};
    }
}

void
ReadCounts(const RawPerfFlags& raw, CollectivePerfOptions& options)
{
    const auto atLeastOne = [](const char* flag, uint64_t value) {
        if (value == 0)
        {
            RefuseFlag(std::string(flag) + " is 0", "1 or more");
        }
    };
    atLeastOne("-n", options.iterations);
    atLeastOne("-m", options.aggregated);
    atLeastOne("-N", options.cycles);
    atLeastOne("-t", options.threads);
    atLeastOne("-g", options.gpusPerThread);
    atLeastOne("-f", options.stepFactor);
    const auto isTime = [](const char* flag, double us) {
        if (!(us >= 0 && us <= MAX_LAUNCH_US))
        {
            RefuseFlag(fmt::format("{} {}", flag, us), "0 to 1000000");
        }
    };
    isTime("--launch-us", options.launchUs);
    isTime("--launch-channel-us", options.launchChannelUs);
    if (options.blocking > 3)
    {
        RefuseFlag("-z " + std::to_string(options.blocking), "0, 1, 2 or 3");
    }
    if (raw.average > 3)
    {
        RefuseFlag("-a " + std::to_string(raw.average), "0, 1, 2 or 3");
    }
    options.rankTime = static_cast<RankTime>(raw.average);
    if (raw.root == "all")
    {
        options.root = -1;
        return;
    }
    const auto root = ns3::ParseScaled(raw.root, 1);
    if (!root || *root > INT32_MAX)
    {
        RefuseFlag("-r " + raw.root + " is not a valid rank", "a rank, or -1 for each in turn");
    }
    options.root = static_cast<int>(*root);
}

void
RefuseAbsentFlags(const po::variables_map& values)
{
    for (const AbsentFlag& flag : ABSENT)
    {
        const std::string names = flag.names;
        const std::string name = names.substr(0, names.find(','));
        if (values.count(name) && values[name].as<uint32_t>() != 0)
        {
            RefuseFlag(fmt::format("-{} {}", names.back(), values[name].as<uint32_t>()),
                       "0: " + std::string(flag.why));
        }
    }
    if (values.count("output_file"))
    {
        RefuseFlag("-J " + values["output_file"].as<std::string>(),
                   "no -J: the table goes to standard output");
    }
}

/// -1, which nccl-tests takes for all roots, is the only negative number of any flag.
void
SpellAllRoots(std::vector<std::string>& arguments)
{
    for (std::size_t i = 0; i < arguments.size(); ++i)
    {
        const bool isRoot = i > 0 && (arguments[i - 1] == "-r" || arguments[i - 1] == "--root");
        if (isRoot && arguments[i] == "-1")
        {
            arguments[i] = "all";
        }
        else if (arguments[i] == "-r-1" || arguments[i] == "--root=-1")
        {
            arguments[i] = "--root=all";
        }
    }
}

} // namespace

CollectivePerfOptions
CollectivePerfOptions::Parse(const std::string& program,
                             std::vector<std::string> arguments,
                             const RunOptions::Environment& environment)
{
    CollectivePerfOptions options;
    RawPerfFlags raw;
    const RunEnvironment read = RunEnvironment::Read(environment);
    options.run.nccl = read.nccl;
    options.run.netBandwidthBps = read.netBandwidthBps;
    options.run.environment = read.variables;
    options.run.warnings = read.warnings;
    options.run.logLevel = read.logLevel;
    const auto asks = [&](std::initializer_list<const char*> flags) {
        return !arguments.empty() &&
               std::find(flags.begin(), flags.end(), arguments[0]) != flags.end();
    };
    options.help = asks({"-h", "--help", "-help"});
    options.version = asks({"--version", "-version"});
    options.helpConf = asks({"--help-conf", "-help-conf", "--help_conf", "-help_conf"});
    if (options.help || options.version || options.helpConf)
    {
        return options;
    }
    options.run.arguments = arguments;
    options.test = TakeTest(program, arguments);
    SpellAllRoots(arguments);
    const po::options_description description = Describe(options, raw);
    po::variables_map values;
    for (const std::string& flag : ReadFlags(arguments, description, values))
    {
        if (!flag.starts_with("--ns3::"))
        {
            RefuseUnknownFlag(flag, description);
        }
        options.run.ns3Flags.push_back(flag);
    }
    if (options.help || options.version || options.helpConf)
    {
        return options;
    }
    RefuseAbsentFlags(values);
    options.run.modelFlags = FlagsBut(arguments, description, OF_THE_TEST);
    options.run.network = ParseNetworkModel(raw.network);
    options.run.fastForward = ParseFastForwardMode(raw.fastForward);
    CheckFastForwardStore(options.run);
    ReadSizes(raw, options);
    ReadTypes(raw, options);
    ReadCounts(raw, options);
    return options;
}

std::string
CollectivePerfOptions::Help()
{
    CollectivePerfOptions options;
    RawPerfFlags raw;
    std::ostringstream text;
    text << Describe(options, raw) << "\nTests, also by a link of that name to the program:";
    constexpr std::size_t IN_A_LINE = 4;
    std::size_t count = 0;
    for (const CollectiveTest& test : TESTS)
    {
        text << (count++ % IN_A_LINE == 0 ? "\n  " : " ") << test.program;
    }
    text << "\n\nFlags with a letter are nccl-tests'. Environment: as SimAI_simulator.\n"
            "Exit status: 0 done, 1 the test did not finish, 2 an input is wrong,\n"
            "  129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM.\n";
    return text.str();
}

} // namespace AstraSim
