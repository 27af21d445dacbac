/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a list of flows over a topology, without collectives: the main job of the HPCC simulator.
 *
 *   qbb-flows -c SimAI.conf -n topology.txt -f flow.txt -o results/flows
 *   qbb-flows config.txt                          # topology and flows as the configuration says
 *
 * Exit status: 0 all flows finished, 1 some did not, 2 an input is wrong, 129, 130 and 143 ended
 * by SIGHUP, SIGINT and SIGTERM.
 */
#include "ns3/fabric-conf.h"
#include "ns3/flows-run.h"
#include "ns3/guarded-main.h"
#include "ns3/huge-pages.h"
#include "ns3/ns3-flags.h"
#include "ns3/nstime.h"
#include "ns3/process-link.h"
#include "ns3/run-record.h"
#include "ns3/simulator.h"

#include <iostream>

int
main(int argc, char* argv[])
{
    return AstraSim::GuardedMain([&] {
        // Before anything makes a Time or schedules an event.
        ns3::Time::SetResolution(ns3::Time::PS);
        ns3::UseHugePages();
        ns3::UseFastSimulator();
        const auto processes = AstraSim::JoinProcesses();
        const auto options = AstraSim::FlowsOptions::Parse({argv + 1, argv + argc});
        if (options.help)
        {
            std::cout << AstraSim::FlowsOptions::Help();
            return 0;
        }
        if (options.version)
        {
            std::cout << "qbb-flows " << AstraSim::ProgramVersion() << "\n";
            return 0;
        }
        if (!options.printAttributes.empty())
        {
            std::cout << ns3::AttributesHelp(options.printAttributes);
            return 0;
        }
        if (options.helpConf)
        {
            std::cout << ns3::FabricConfHelp();
            return 0;
        }
        return AstraSim::RunFlows(options);
    });
}
