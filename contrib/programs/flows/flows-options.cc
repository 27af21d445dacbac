/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flows-options.h"

#include "programs/frame/ns3-flags.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"
#include "programs/frame/run-failures.h"

namespace AstraSim
{

namespace
{

constexpr const char* USAGE_OF_FLOWS = "qbb-flows [CONF] [flags]";
constexpr const char* NOTES = "\nAny ns-3 attribute default or global value is a flag too:\n"
                              "  --ns3::RdmaHw::DataOverhead=52 --RngRun=3\n";

void
DescribeFlags(ProgramFlags& flags, FlowsOptions& options)
{
    using enum FlagSubject;
    flags.Add(Model, "network-conf,c", options.conf, "configuration file (SimAI.conf syntax)");
    flags.Add(Model, "network-topo,n", options.topology, "topology file; else TOPOLOGY_FILE");
    flags.Add(Traffic, "flows,f", options.flows, "flow file; else FLOW_FILE");
    flags.Add(Output,
              "output,o",
              options.output,
              "output directory; else results/<flows>_<topology>");
    flags.Add(Model, "set", options.keys, "KEY=VALUE, wins over the file; may repeat");
    flags.Add(Model,
              "check",
              options.check,
              "check invariants throughout the run, such as that no byte is lost unnoticed");
    flags.Add(Limit,
              {"thread,t",
               AtLeast(options.threads, 1, "1 or more threads"),
               "threads to run on, at most one per server; results do not depend on their number"});
    flags.Add(Model, "pcap", options.pcap, "NODE:PORT to capture; may repeat");
    AddLimits(flags, options.limits);
    flags.Add(Output, "quiet,q", options.quiet, "print nothing but warnings and errors");
}

} // namespace

FlowsOptions
FlowsOptions::Parse(const std::vector<std::string>& arguments)
{
    FlowsOptions options;
    options.check = RunFailures::IsDefault();
    ProgramFlags flags(USAGE_OF_FLOWS);
    ProgramQuestions questions;
    AddQuestions(flags, questions, true);
    DescribeFlags(flags, options);
    for (const std::string& word : flags.Read(arguments))
    {
        if (!word.starts_with('-') && options.conf.empty())
        {
            options.conf = word;
            continue;
        }
        if (!ns3::IsNs3Flag(word))
        {
            flags.RefuseUnknown(word);
        }
        options.ns3Flags.push_back(word);
    }
    options.answer = Answer(questions, flags, "qbb-flows", std::string(SPELLING_NOTE) + NOTES);
    if (!options.answer.empty())
    {
        return options;
    }
    if (options.conf.empty())
    {
        RefuseFlag("no configuration file", "qbb-flows CONF or -c CONF");
    }
    return options;
}

} // namespace AstraSim
