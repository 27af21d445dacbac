/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-perf-options.h"

#include "network-kind-flags.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"
#include "run-environment.h"

#include "ns3/nearest-name.h"
#include "ns3/rows.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace AstraSim
{

namespace
{

constexpr double MAX_LAUNCH_US = 1e6;

constexpr const char* USAGE_OF_PERF = "collective-perf TEST -b 8 -e 1G -f 2 --network-topo FILE";
constexpr const char* PURPOSE_OF_PERF =
    "Measures a collective on a simulated network as nccl-tests does on a real one,\n"
    "with its flags and its table.\n\n"
    "    all_reduce_perf -b 8 -e 1G -f 2 --network flow --network-topo TOPOLOGY";

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

/// A flag of nccl-tests for a feature that a simulation lacks.
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
    {"cta_policy,x",
     "policies other than the default are not modelled, nor the copy engines that they may use"},
};

/// Flags of nccl-tests that are accepted, and the reasons why they have no effect. 0 asks for
/// nothing.
constexpr AbsentFlag IDLE[] = {
    {"parallel_init,p", "the ranks' communicators exist from the start"},
    {"stream_null,y", "all streams of a GPU are alike"},
    {"timeout,T", "it is a limit of a real run; --max-time is one of the simulation"},
    {"cudagraph,G", "a launch takes --launch-us, out of a CUDA graph or not"},
    {"report_cputime,C", "the table has the times of GPUs; those of CPUs are not modelled"},
    {"local_register,R",
     "registered buffers, 1, and symmetric memory, 2, are not modelled, nor SHARP with NVLS and "
     "the copy engines, which need them"},
    {"per_iter_skip,K", "iterations repeat each other, so there are no statistics"},
    {"device_cta_count,V", "kernels other than NCCL's own are not modelled"},
};

/// Values that are read further below.
struct RawPerfFlags
{
    std::string minBytes{"32M"};
    std::string maxBytes{"32M"};
    std::string stepBytes{"1M"};
    std::string type{"float"};
    std::string reduction{"sum"};
    std::array<uint32_t, std::size(ABSENT)> absent{};
    std::array<uint32_t, std::size(IDLE)> idle{};
    NetworkKindFlags network;
};

/// Add the flags of nccl-tests that choose sizes, and how often they run.
void
AddSizes(ProgramFlags& flags, CollectivePerfOptions& options, RawPerfFlags& raw)
{
    using enum FlagSubject;
    flags.Add(Traffic, "minbytes,b SIZE", raw.minBytes, "smallest size, such as 8, 64K or 1G");
    flags.Add(Traffic, "maxbytes,e SIZE", raw.maxBytes, "largest size");
    flags.Add(Traffic,
              "stepbytes,i SIZE",
              raw.stepBytes,
              "bytes added to each size to get the next");
    flags.Add(Traffic,
              {"stepfactor,f",
               AtLeast(options.stepFactor, 1),
               "factor from each size to the next (default: 1, -i counts)"});
    flags.Add(Traffic, {"iters,n", AtLeast(options.iterations, 1), "timed iterations"});
    flags.Add(Traffic,
              {"agg_iters,m",
               AtLeast(options.aggregated, 1),
               "collectives of one launch; times are those of one of them"});
    flags.Add(Traffic,
              "warmup_iters,w",
              options.warmUps,
              "iterations that are not timed: 0, or one for each size, whatever the number");
    flags.Add(
        Traffic,
        {"run_cycles,N", AtLeast(options.cycles, 1), "runs, each of which prints the whole table"});
}

/// One of some words, or "all".
ns3::RowValue
OneOrAll(std::string& target, const std::vector<std::string>& words)
{
    std::vector<std::pair<std::string, std::string>> choices;
    for (const std::string& word : words)
    {
        choices.emplace_back(word, word);
    }
    choices.emplace_back("all", "all");
    return ns3::Word(target, choices);
}

/// Add the flags of nccl-tests that choose ranks, threads, checks and operations.
void
AddRanks(ProgramFlags& flags, CollectivePerfOptions& options, RawPerfFlags& raw)
{
    using enum FlagSubject;
    flags.Add(Traffic, {"nthreads,t", AtLeast(options.threads, 1), "threads of a process"});
    flags.Add(Traffic, {"ngpus,g", AtLeast(options.gpusPerThread, 1), "GPUs of a thread"});
    flags.Add(Traffic,
              "processes",
              options.processes,
              "processes, as mpirun -np (default: as many as the topology has GPUs for)");
    flags.Add(Traffic, "check,c", options.checks, "#wrong is N/A with 0, and 0 otherwise");
    flags.Add(Traffic,
              {"op,o NAME",
               OneOrAll(raw.reduction, {std::begin(REDUCTIONS), std::end(REDUCTIONS)}),
               "reduction: sum, prod, max, min, avg, mulsum or all"});
    std::vector<std::string> types;
    std::ranges::transform(TYPES, std::back_inserter(types), &ElementType::name);
    flags.Add(Traffic,
              {"datatype,d TYPE",
               OneOrAll(raw.type, types),
               "type of the elements, such as half or bfloat16, or all"});
    const auto parseRoot = [](std::string_view text) -> std::optional<int64_t> {
        if (text == "-1" || text == "all")
        {
            return -1;
        }
        return ns3::WholeWithin(text, 0, INT32_MAX);
    };
    flags.Add(Traffic,
              {"root,r RANK",
               ns3::Parsed(options.root, parseRoot, "a rank, or -1 for each in turn"),
               "root of the operation; -1 for each rank in turn (default: 0)"});
    flags.Add(
        Traffic,
        {"blocking,z",
         Within(options.blocking, 0, 3, "0, 1, 2 or 3"),
         "iterations follow each other on each rank (0, 2), or all ranks finish one before the "
         "next (1, 3)"});
    flags.Add(
        Traffic,
        {"average,a",
         ns3::Word(options.rankTime,
                   {{"0", RankTime::Rank0},
                    {"1", RankTime::Average},
                    {"2", RankTime::Smallest},
                    {"3", RankTime::Largest}}),
         "time in the table: 0 is that of rank 0, 1 the average, 2 the smallest, 3 the largest"});
}

/// Add the flags of nccl-tests that do nothing here, and those that are refused.
void
AddOthers(ProgramFlags& flags, RawPerfFlags& raw)
{
    using enum FlagSubject;
    for (std::size_t i = 0; i < std::size(IDLE); ++i)
    {
        flags.Add(Model, IDLE[i].names, raw.idle[i], "no effect: " + std::string(IDLE[i].why))
            .HasNone(IDLE[i].why, [&value = raw.idle[i]] { return value > 0; })
            .value.standard.clear();
    }
    for (std::size_t i = 0; i < std::size(ABSENT); ++i)
    {
        const std::string expected = "0: " + std::string(ABSENT[i].why);
        flags
            .Add(Model,
                 {ABSENT[i].names,
                  Within(raw.absent[i], 0, 0, expected),
                  "0 only: " + std::string(ABSENT[i].why)})
            .value.standard.clear();
    }
    flags.Add(Output,
              {"output_file,J FILE",
               {"no -J: the table goes to standard output", [](std::string_view) { return false; }},
               "refused: the table goes to standard output"});
}

/// Add the flags of the simulated machine and of the kind of simulation.
void
AddSimulation(ProgramFlags& flags, CollectivePerfOptions& options, NetworkKindFlags& network)
{
    using enum FlagSubject;
    RunOptions& run = options.run;
    flags.Add(Traffic,
              "network-topo FILE",
              run.topology,
              "topology (default: TOPOLOGY_FILE of the configuration)");
    flags.Add(Traffic,
              "network-conf FILE",
              run.conf,
              "configuration of the network (default: that of each key)");
    AddNetwork(
        flags,
        run,
        "messages travel packet by packet; flow gives them fair shares of links, analytical the "
        "time of a formula");
    AddFastForward(
        flags,
        run,
        "simulate repeating traffic a single time: off, on, exact or verify (default: off; "
        "without MODE: on)");
    AddFastForwardStore(flags, run);
    flags.Add(Traffic,
              "gpu-table FILE",
              run.nccl.gpuTable,
              "further GPU types (YAML) (default: AS_GPU_TABLE, or none)");
    network.AddTo(flags);
    flags
        .Add(Model,
             "set KEY=VALUE",
             run.confKeys,
             "key of the configuration, which wins over the file; may repeat")
        .Record("set", run.confKeys);
    flags.Add(Output,
              "output DIR",
              run.output,
              "directory for fct.txt, links.csv and other results (default: none)");
    flags.Add(Model,
              {"launch-us X",
               Within(options.launchUs, 0, MAX_LAUNCH_US, "0 to 1000000"),
               "microseconds that a thread takes to launch a collective on one of its -g GPUs, one "
               "after the other"});
    flags.Add(Model,
              {"launch-channel-us X",
               Within(options.launchChannelUs, 0, MAX_LAUNCH_US, "0 to 1000000"),
               "microseconds that it takes more for each channel of the collective but the first"});
    flags.Add(Output,
              "quiet,q",
              run.quiet,
              "print only warnings and errors; results are in --output");
    AddLimits(flags, run.limits);
    flags.Add(Traffic,
              "all-iterations",
              options.simulatesAll,
              "simulate all iterations, also those that repeat the one before");
}

void
DescribeFlags(ProgramFlags& flags, CollectivePerfOptions& options, RawPerfFlags& raw)
{
    using enum FlagSubject;
    AddSizes(flags, options, raw);
    AddRanks(flags, options, raw);
    AddOthers(flags, raw);
    AddSimulation(flags, options, raw.network);
}

/// @return the test of that name, with or without "_perf" and a path; null if there is none
const CollectiveTest*
FindTest(const std::string& path)
{
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto found = std::ranges::find_if(TESTS, [&](const auto& test) {
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

/// @return the part of --help after the flags
std::string
Notes()
{
    std::string text = "\nTests, also by a link of that name to the program:";
    constexpr std::size_t IN_A_LINE = 4;
    std::size_t count = 0;
    for (const CollectiveTest& test : TESTS)
    {
        text += (count++ % IN_A_LINE == 0 ? "\n  " : " ") + std::string(test.program);
    }
    return text + "\n\nFlags with a letter are nccl-tests'. Environment: as SimAI_simulator.\n"
                  "Exit status: 0 done, 1 the test did not finish, 2 an input is wrong,\n"
                  "  129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM.\n";
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
    options.run.Take(read);
    options.run.fastForward = FastForwardMode::Off;
    ProgramFlags flags(USAGE_OF_PERF, PURPOSE_OF_PERF);
    ProgramQuestions questions;
    AddQuestions(flags, questions, true);
    DescribeFlags(flags, options, raw);
    // A question such as --help needs no test; the program's name may not be one.
    options.run.arguments = arguments;
    const bool isQuestion =
        !arguments.empty() && arguments[0].starts_with('-') && !FindTest(program);
    options.test = isQuestion ? &TESTS[0] : TakeTest(program, arguments);
    for (const std::string& flag : flags.Read(arguments))
    {
        if (!ns3::IsNs3Flag(flag))
        {
            flags.RefuseUnknown(flag);
        }
        options.run.ns3Flags.push_back(flag);
    }
    options.run.answer = Answer(questions, flags, "collective-perf", Notes());
    if (!options.run.answer.empty())
    {
        return options;
    }
    if (isQuestion)
    {
        TakeTest(program, arguments); // refuses
    }
    const std::vector<std::string> warnings = flags.DescribeIdle();
    options.run.warnings.insert(options.run.warnings.end(), warnings.begin(), warnings.end());
    options.run.modelFlags = flags.GetModelFlags();
    options.run.recorded = flags.GetRecorded();
    raw.network.Take(options.run.nccl);
    ReadSizes(raw, options);
    ReadTypes(raw, options);
    return options;
}

} // namespace AstraSim
