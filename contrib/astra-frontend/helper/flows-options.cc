/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flows-options.h"

#include "program-flags.h"
#include "run-check.h"

#include "ns3/input-error.h"
#include "ns3/ns3-flags.h"

#include <boost/program_options.hpp>
#include <sstream>

namespace AstraSim
{

namespace
{

namespace po = boost::program_options;

po::options_description
DescribeOptions(FlowsOptions& options)
{
    po::options_description description("qbb-flows [CONF] [flags]");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&options.help), "this text");
    add("help-conf", po::bool_switch(&options.helpConf), "the keys of a configuration file");
    add("network-conf,c", po::value(&options.conf), "configuration file (SimAI.conf syntax)");
    add("network-topo,n", po::value(&options.topology), "topology file; else TOPOLOGY_FILE");
    add("flows,f", po::value(&options.flows), "flow file; else FLOW_FILE");
    add("output,o",
        po::value(&options.output),
        "output directory; else results/<flows>_<topology>");
    add("set", po::value(&options.keys)->composing(), "KEY=VALUE, wins over the file; may repeat");
    add("check",
        po::bool_switch(&options.check)->default_value(RunCheck::IsDefault()),
        "check invariants throughout the run, such as that no byte is lost unnoticed");
    add("thread,t",
        po::value<uint32_t>(),
        "threads to run on, at most one per server; results do not depend on their number");
    add("pcap", po::value(&options.pcap)->composing(), "NODE:PORT to capture; may repeat");
    add("PrintAttributes",
        po::value(&options.printAttributes),
        "the attributes of a class of ns-3, such as ns3::RdmaDcqcn");
    options.limits.AddTo(description);
    add("version", po::bool_switch(&options.version), "the version of this program");
    add("quiet,q", po::bool_switch(&options.quiet), "print nothing but warnings and errors");
    return description;
}

} // namespace

FlowsOptions
FlowsOptions::Parse(const std::vector<std::string>& arguments)
{
    FlowsOptions options;
    const po::options_description description = DescribeOptions(options);
    po::variables_map values;
    for (const std::string& word : ReadFlags(arguments, description, values))
    {
        if (!word.starts_with('-') && options.conf.empty())
        {
            options.conf = word;
            continue;
        }
        if (!ns3::IsNs3Flag(word))
        {
            RefuseUnknownFlag(word, description);
        }
        options.ns3Flags.push_back(word);
    }
    if (options.conf.empty() && !options.help && !options.helpConf && !options.version &&
        options.printAttributes.empty())
    {
        throw ns3::InputError("command line",
                              0,
                              "no configuration file",
                              "qbb-flows CONF or -c CONF");
    }
    if (values.count("thread"))
    {
        options.threads = values["thread"].as<uint32_t>();
        if (*options.threads == 0)
        {
            RefuseFlag("-t is 0", "1 or more threads");
        }
    }
    return options;
}

std::string
FlowsOptions::Help()
{
    FlowsOptions unused;
    std::ostringstream text;
    text << DescribeOptions(unused) << SPELLING_NOTE
         << "\nAny ns-3 attribute default or global value is a flag too:\n"
            "  --ns3::RdmaHw::DataOverhead=52 --RngRun=3\n";
    return text.str();
}

} // namespace AstraSim
