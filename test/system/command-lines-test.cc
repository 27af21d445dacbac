/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Command lines of the programs: what flags set, and which are refused by name.
 */
#include "programs/flows/flows-options.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/run-record.h"
#include "simulator/options/collective-perf-options.h"
#include "simulator/options/run-options.h"
#include "simulator/options/run-replay.h"
#include "simulator/options/simccl-options.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{
namespace
{

using Words = std::vector<std::string>;
using testing::HasSubstr;

std::optional<std::string>
NoVariables(const std::string&)
{
    return std::nullopt;
}

RunOptions
Simulator(const Words& words)
{
    return RunOptions::Parse(words, NoVariables);
}

CollectivePerfOptions
Perf(const Words& words)
{
    return CollectivePerfOptions::Parse("all_reduce_perf", words, NoVariables);
}

/// @return the line by which a command line is refused; empty if it is not
template <typename Parse>
std::string
Refusal(Parse parse, const Words& words)
{
    try
    {
        parse(words);
        return "";
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
}

void
ExpectRefusals(auto parse, const std::vector<std::pair<Words, std::string>>& cases)
{
    for (const auto& [words, named] : cases)
    {
        const std::string line = Refusal(parse, words);
        EXPECT_THAT(line, HasSubstr(named)) << testing::PrintToString(words);
        EXPECT_THAT(line, HasSubstr("; expected ")) << testing::PrintToString(words);
    }
}

} // namespace

TEST(SimulatorFlags, SetWhatTheyName)
{
    const RunOptions options = Simulator({"-w",
                                          "w.txt",
                                          "-n",
                                          "topology",
                                          "--network",
                                          "flow",
                                          "--passes",
                                          "3",
                                          "--seed",
                                          "7",
                                          "--set",
                                          "CC_MODE=3",
                                          "--set",
                                          "PFC=0",
                                          "--tp=4",
                                          "-q",
                                          "--pcap",
                                          "1:2",
                                          "--output",
                                          "out",
                                          "--fast-forward",
                                          "--timeline-ranks",
                                          "2",
                                          "--ns3::RdmaHw::Mtu=4096",
                                          "--RngRun=3"});
    EXPECT_EQ(options.topology, "topology");
    EXPECT_EQ(options.network, NetworkModel::Flow);
    EXPECT_EQ(options.passes, 3U);
    EXPECT_EQ(options.seed, 7U);
    EXPECT_EQ(options.confKeys, (Words{"CC_MODE=3", "PFC=0"}));
    EXPECT_EQ(options.pcap, Words{"1:2"});
    EXPECT_EQ(options.output, "out");
    EXPECT_EQ(options.fastForward, FastForwardMode::On);
    EXPECT_EQ(options.timelineRanks, 2);
    EXPECT_EQ(options.ns3Flags, (Words{"--ns3::RdmaHw::Mtu=4096", "--RngRun=3"}));
    EXPECT_TRUE(options.quiet);
    ASSERT_EQ(options.jobs.size(), 1U);
    EXPECT_EQ(options.jobs[0].workload, "w.txt");
}

// Flags that are known to make no difference are left out; all others count, future ones included.
TEST(SimulatorFlags, ThatMayChangeHowTrafficIsCarriedAreKept)
{
    const RunOptions options = Simulator({"-w",
                                          "a.txt",
                                          "-n",
                                          "topology",
                                          "-c",
                                          "conf",
                                          "-o",
                                          "out",
                                          "-q",
                                          "--fast-forward=exact",
                                          "--fast_forward_store",
                                          "d",
                                          "--tp",
                                          "8",
                                          "--passes",
                                          "2",
                                          "-network=flow",
                                          "--set",
                                          "SEED 3",
                                          "--seed",
                                          "7",
                                          "--max_sim_time",
                                          "2ms",
                                          "--ns3::RdmaHw::Mtu=4096",
                                          "--RngRun=2"});
    EXPECT_EQ(options.modelFlags,
              (Words{"network=flow",
                     "set=SEED 3",
                     "seed=7",
                     "max-sim-time=2ms",
                     "--ns3::RdmaHw::Mtu=4096",
                     "--RngRun=2"}));
    EXPECT_EQ(options.fastForwardStore, "d");
}

TEST(ProgramFlags, AnswersFromItsRows)
{
    enum class Colour : uint8_t
    {
        Red,
        Blue,
    };
    static constexpr std::pair<const char*, Colour> COLOURS[] = {{"red", Colour::Red},
                                                                 {"blue", Colour::Blue}};

    struct Values
    {
        uint32_t count{3};
        std::optional<double> part;
        Words files;
        bool loud{false};
        bool truth{false};
        bool asks{false};
        Colour colour{Colour::Red};
    };

    const auto read = [](const Words& words, const auto& look) {
        Values values;
        ProgramFlags flags("program [flags]", "Counts things.");
        flags.Add(FlagSubject::Traffic, {"count,n", AtLeast(values.count, 1), "how many"})
            .Record("n", values.count);
        flags.Add(FlagSubject::Model,
                  {"part X",
                   Within(values.part, 0, 1, "0 to 1"),
                   "how much of the things that were counted before this run, all of them"});
        flags.Add(FlagSubject::Model, "file-name FILE", values.files, "what").Alias({"f-n"});
        flags.Add(FlagSubject::Output, "loud", values.loud, "say it").Needs("--part", [&values] {
            return values.part.has_value();
        });
        flags.Add(FlagSubject::Model, {"colour", Choice(values.colour, COLOURS), "red or blue"})
            .Alone("blue");
        flags.Add(FlagSubject::Model, {"truth", Truth(values.truth), "on or off (default: off)"});
        flags.Add(FlagSubject::Model, "files", values.files, "the same").SameAs("file-name");
        flags.Add(FlagSubject::Question, "help,h", values.asks, "this text");
        const Words unknown = flags.Read(words);
        const Words warnings = flags.DescribeIdle();
        look(values, flags, unknown, warnings);
    };
    read({"-n", "4", "-f_n=a", "--file_name", "b", "--colour", "--loud", "--other=1"},
         [](const Values& values,
            const ProgramFlags& flags,
            const Words& unknown,
            const Words& warned) {
             EXPECT_EQ(values.count, 4U);
             EXPECT_EQ(values.files, (Words{"a", "b"}));
             EXPECT_TRUE(values.loud);
             EXPECT_FALSE(values.part);
             EXPECT_EQ(values.colour, Colour::Blue);
             EXPECT_EQ(unknown, Words{"--other=1"});
             EXPECT_EQ(warned, Words{"--loud has no effect without --part"});
             EXPECT_EQ(flags.GetModelFlags(),
                       (Words{"file-name=a", "file-name=b", "colour", "--other=1"}));
             EXPECT_EQ(flags.GetRecorded().dump(), R"({"n":4})");
             EXPECT_TRUE(flags.IsGiven("count"));
             EXPECT_FALSE(flags.IsGiven("part"));
             EXPECT_EQ(
                 flags.Help(),
                 "usage: program [flags]\n\nCounts things.\n\nflags:\n"
                 "  -n, --count N         how many (default: 3)\n"
                 "  --part X              how much of the things that were counted before this\n"
                 "                        run, all of them\n"
                 "  -f_n, --file-name FILE\n"
                 "                        what\n"
                 "  --loud                say it\n"
                 "  --colour[={red,blue}]\n"
                 "                        red or blue (default: red)\n"
                 "  --truth TEXT          on or off (default: off)\n"
                 "  --files TEXT          the same\n"
                 "  -h, --help            this text\n");
         });
    read({"-n", "0", "-h"}, [](const Values& values, const auto&...) { EXPECT_TRUE(values.asks); });
    read({"--truth=ON"}, [](const Values& values, const auto&...) { EXPECT_TRUE(values.truth); });
    const auto parse = [&read](const Words& words) { read(words, [](const auto&...) {}); };
    ExpectRefusals(parse,
                   {{{"-n", "0"}, "-n is 0; expected 1 or more"},
                    {{"--part", "1.5"}, "--part is 1.5; expected 0 to 1"},
                    {{"--part", "nan"}, "--part is 'nan'; expected 0 to 1"},
                    {{"--part", "x"}, "--part is 'x'; expected 0 to 1"},
                    {{"--colour", "bleu"}, "'bleu'; expected red or blue; the nearest is blue"},
                    {{"-n", "-1"}, "-n is -1; expected 1 or more"},
                    {{"-n", "1", "--count=2"}, "-n is given twice"},
                    {{"--truth", "maybe"}, "--truth is 'maybe'; expected true or false"},
                    {{"--file-name", "a", "--files", "b"}, "are the same flag"},
                    {{"-word"}, "unknown flag '-word'"}});
}

TEST(SimulatorFlags, AskForHelpWithoutInputs)
{
    EXPECT_THAT(Simulator({"--help"}).answer, HasSubstr("--network"));
    EXPECT_THAT(Simulator({"--help-conf"}).answer, HasSubstr("  CC_MODE "));
    EXPECT_THAT(Simulator({"--PrintAttributes", "ns3::RdmaDcqcn"}).answer, HasSubstr("RpTimer"));
    EXPECT_EQ(Simulator({"--version"}).answer, "SimAI_simulator " + ProgramVersion() + "\n");
    EXPECT_EQ(Simulator({"-w", "w"}).answer, "");
    for (const NetworkModel network :
         {NetworkModel::Packet, NetworkModel::Flow, NetworkModel::Analytical})
    {
        EXPECT_EQ(Simulator({"-w", "w", "--network", ToString(network)}).network, network);
    }
}

TEST(SimulatorFlags, AreRefusedByName)
{
    ExpectRefusals(Simulator,
                   {{{}, "workload"},
                    {{"-w", "w", "-n", "n", "--bogus"}, "--bogus"},
                    {{"-w", "w", "-n", "n", "--network", "smoke"}, "--network is 'smoke'"},
                    {{"-w", "w", "-n", "n", "--progress", "soon"}, "--progress is 'soon'"},
                    {{"-w", "w", "-n", "n", "--passes", "0"}, "--passes"},
                    {{"-w", "w", "-n", "n", "--passes", "x"}, "--passes"},
                    {{"-w", "w", "-n", "n", "--comm-scale", "-1"}, "--comm-scale"},
                    {{"-w", "w", "-n", "n", "--num-queues-per-dim", "0"}, "--num-queues-per-dim"},
                    {{"-w", "w", "-n", "n", "--fast-forward=warp"}, "--fast-forward is 'warp'"},
                    {{"-w", "w", "-n", "n", "--fast-forward-memory", "0"}, "--fast-forward-memory"},
                    {{"-w", "w", "-n", "n", "--max-time", "never"}, "--max-time"},
                    {{"-w", "w", "-n", "n", "--check", "--fast-forward"}, "--check"},
                    {{"-w", "w", "--workload-configuration", "v", "-n", "n"},
                     "-w and --workload-configuration are the same flag"},
                    {{"-w", "w", "-c", "c", "--network-configuration", "n.yml"},
                     "-c and --network-configuration are the same flag"},
                    {{"--replay", "no-such-file"}, "no-such-file"},
                    {{"--resume", "no-such-directory"}, "no-such-directory"}});
}

TEST(SimulatorFlags, ABandwidthBesideANetworkFileIsRefused)
{
    const auto parse = [](const Words& words) {
        return RunOptions::Parse(words, [](const std::string& name) {
            return name == "AS_NET_BW" ? std::optional<std::string>("100") : std::nullopt;
        });
    };
    EXPECT_THAT(Refusal(parse, {"-w", "w", "--network-configuration=n.yml"}),
                HasSubstr("environment: AS_NET_BW with n.yml; expected one of the two"));
    EXPECT_EQ(Refusal(parse, {"-w", "w", "-n", "n"}), "");
}

TEST(SimulatorFlags, OfOnePassAreThoseOfAllWithoutTheirNumber)
{
    EXPECT_EQ(WithoutPasses({"-w",
                             "w",
                             "--passes",
                             "4",
                             "--separate-passes",
                             "-o",
                             "out",
                             "-q",
                             "--max-time=3",
                             "-oelsewhere",
                             "--seed",
                             "2"}),
              (Words{"-w", "w", "--seed", "2"}));
}

TEST(FlowsFlags, SetWhatTheyNameAndAreRefusedByName)
{
    const FlowsOptions options = FlowsOptions::Parse(
        {"conf", "-f", "flows", "-n", "topology", "--set", "CC_MODE=8", "--ns3::RdmaHw::Mtu=2048"});
    EXPECT_EQ(options.conf, "conf");
    EXPECT_EQ(options.flows, "flows");
    EXPECT_EQ(options.topology, "topology");
    EXPECT_EQ(options.keys, Words{"CC_MODE=8"});
    EXPECT_EQ(options.ns3Flags, Words{"--ns3::RdmaHw::Mtu=2048"});
    EXPECT_THAT(FlowsOptions::Parse({"--version"}).answer, HasSubstr("qbb-flows "));
    EXPECT_THAT(FlowsOptions::Parse({"--help"}).answer, HasSubstr("--flows"));
    ExpectRefusals(FlowsOptions::Parse, {{{}, "no configuration"}, {{"conf", "--flow"}, "--flow"}});
}

TEST(SimCclFlags, SetWhatTheyNameAndAreRefusedByName)
{
    const SimCclOptions options =
        SimCclOptions::Parse({"--op", "AllGather", "--size", "1024", "--nNodes", "4", "-o", "out"});
    EXPECT_EQ(options.op, "AllGather");
    EXPECT_EQ(options.size, 1024U);
    EXPECT_EQ(options.nodes, 4U);
    EXPECT_EQ(options.gpusPerNode, 8U) << "unless given";
    EXPECT_EQ(options.output, "out");
    EXPECT_THAT(SimCclOptions::Parse({"--help"}).answer, HasSubstr("--nRanks"));
    ExpectRefusals(SimCclOptions::Parse,
                   {{{"--bogus"}, "--bogus"},
                    {{"--size", "x"}, "--size"},
                    {{"--nNodes", "0"}, "--nNodes is 0"},
                    {{"--gpus_per_node", "0"}, "--gpus_per_node is 0"},
                    {{"--nic", "0"}, "--nic is 0"},
                    {{"-w", "w", "--op", "AllReduce"}, "--op with -w w"},
                    {{"-w", "w", "--size", "8"}, "--size with -w w"},
                    {{"-n", "n", "--nNodes", "2"}, "--nNodes with -n n"},
                    {{"-n", "n", "--g-type", "A100"}, "--gpu_type with -n n"},
                    {{"--pairs", "p"}, "--pairs with --op AllReduce"}});
    EXPECT_EQ(SimCclOptions::Parse({"-w", "w", "-n", "n"}).topology, "n");
}

TEST(PerfFlags, AreThoseOfNcclTests)
{
    const CollectivePerfOptions options = Perf({"-b",
                                                "8",
                                                "-e",
                                                "1.5K",
                                                "-f",
                                                "2",
                                                "-n",
                                                "5",
                                                "-g",
                                                "4",
                                                "-o",
                                                "max",
                                                "-d",
                                                "half",
                                                "-r",
                                                "-1",
                                                "-a",
                                                "3"});
    EXPECT_EQ(options.minBytes, 8U);
    EXPECT_EQ(options.maxBytes, 1536U);
    EXPECT_EQ(options.stepFactor, 2U);
    EXPECT_EQ(options.iterations, 5U);
    EXPECT_EQ(options.gpusPerThread, 4U);
    EXPECT_EQ(options.reductions, Words{"max"});
    ASSERT_EQ(options.types.size(), 1U);
    EXPECT_EQ(options.types[0].bytes, 2U);
    EXPECT_EQ(options.root, -1);
    EXPECT_EQ(Perf({"-e", "1G"}).maxBytes, 1U << 30);
    EXPECT_GT(Perf({"-d", "all", "-o", "all"}).types.size(), 9U);
    EXPECT_THAT(Perf({"--help"}).run.answer, HasSubstr("--ngpus"));
    EXPECT_EQ(Refusal(Perf, {"--network-topo", "n", "-p", "1", "-y", "1", "-T", "60"}), "")
        << "flags without effect are not one flag";
    EXPECT_THAT(CollectivePerfOptions::Parse("collective-perf", {"-h"}, NoVariables).run.answer,
                HasSubstr("all_gather_perf"));
    EXPECT_EQ(Perf({"--max-time", "2min"}).run.limits.seconds, 120);
    ExpectRefusals(Perf,
                   {{{"-b", "2K", "-e", "1K"}, "-b 2K is above -e 1K"},
                    {{"-b", "x"}, "\"x\" is not a valid size"},
                    {{"--fast-forward-store-size", "0"}, "--fast-forward-store-size is 0"},
                    {{"-b", "1", "-e", "2", "-i", "0"}, "do not grow"},
                    {{"-d", "flot"}, "-d is 'flot'; expected int8, "},
                    {{"-d", "flot"}, "the nearest is float"},
                    {{"-o", "xor"}, "-o is 'xor'; expected sum, "},
                    {{"-n", "0"}, "-n is 0"},
                    {{"-g", "0"}, "-g is 0"},
                    {{"-m", "0"}, "-m is 0"},
                    {{"-z", "4"}, "-z is 4"},
                    {{"-a", "4"}, "-a is 4"},
                    {{"-r", "x"}, "-r is 'x'"},
                    {{"-r", "-2"}, "-r is -2; expected a rank, or -1 for each in turn"},
                    {{"--launch-us", "-1"}, "--launch-us"},
                    {{"--bogus"}, "--bogus"}});
    const auto unnamed = [](const Words& words) {
        return CollectivePerfOptions::Parse("collective-perf", words, NoVariables);
    };
    ExpectRefusals(unnamed, {{{}, "no test is named"}, {{"all_redcue"}, "all_redcue"}});
    EXPECT_EQ(unnamed({"all_gather_perf", "-b", "8"}).minBytes, 8U);
}

} // namespace AstraSim
