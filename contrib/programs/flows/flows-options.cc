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
constexpr const char* PURPOSE_OF_FLOWS =
    "Simulates RoCE flows on a network packet by packet, as the HPCC simulator does:\n"
    "completion times, queues, pauses and rates.\n\n"
    "    qbb-flows conf/SimAI.conf -n TOPOLOGY -f FLOWS -o results/flows";
constexpr const char* NOTES = "\nAny ns-3 attribute default or global value is a flag too:\n"
                              "  --ns3::RdmaHw::DataOverhead=52 --RngRun=3\n";

void
DescribeFlags(ProgramFlags& flags, FlowsOptions& options)
{
    using enum FlagSubject;
    flags.Add(Model,
              "network-conf,c FILE",
              options.conf,
              "configuration of the network (default: that of each key)");
    flags.Add(Model,
              "network-topo,n FILE",
              options.topology,
              "topology (default: TOPOLOGY_FILE of the configuration)");
    flags.Add(Traffic,
              "flows,f FILE",
              options.flows,
              "flows (default: FLOW_FILE of the configuration)");
    flags.Add(Output,
              "output,o DIR",
              options.output,
              "directory for the results (default: results/<flows>_<topology>_<conf>)");
    flags.Add(Model,
              "set KEY=VALUE",
              options.keys,
              "key of the configuration, which wins over the file; may repeat");
    flags.Add(Model,
              "check",
              options.check,
              "check invariants throughout the run, such as that no byte is lost unnoticed");
    flags.Add(Limit,
              {"thread,t",
               AtLeast(options.threads, 1, "1 or more threads"),
               "threads, at most one per server; results do not depend on their number"});
    flags.Add(Model, "pcap NODE:PORT", options.pcap, "port to capture in a pcap file; may repeat");
    AddLimits(flags, options.limits);
    flags.Add(Output, "quiet,q", options.quiet, "print only warnings and errors");
}

} // namespace

FlowsOptions
FlowsOptions::Parse(const std::vector<std::string>& arguments)
{
    FlowsOptions options;
    options.check = RunFailures::IsDefault();
    ProgramFlags flags(USAGE_OF_FLOWS, PURPOSE_OF_FLOWS);
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
    if (options.conf.empty() && (options.topology.empty() || options.flows.empty()))
    {
        RefuseFlag("no configuration file", "qbb-flows CONF, or -n TOPOLOGY and -f FLOWS");
    }
    return options;
}

} // namespace AstraSim
