/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a workload's collectives at packet level:
 *
 *   SimAI_simulator -w microAllReduce.txt -n Spectrum-X_128g_8gps_100Gbps_A100 -c SimAI.conf
 *
 * Exit status: 0 the workload finished, 1 it did not, 2 an input is wrong, 129, 130 and 143 ended
 * by SIGHUP, SIGINT and SIGTERM.
 */
#include "ns3/fabric-conf.h"
#include "ns3/guarded-main.h"
#include "ns3/huge-pages.h"
#include "ns3/iterations-run.h"
#include "ns3/ns3-flags.h"
#include "ns3/nstime.h"
#include "ns3/process-link.h"
#include "ns3/run-environment.h"
#include "ns3/run-options.h"
#include "ns3/run-record.h"
#include "ns3/simulation-run.h"

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
        const auto options =
            AstraSim::RunOptions::Parse({argv + 1, argv + argc}, AstraSim::EnvironmentVariable);
        if (options.help)
        {
            std::cout << AstraSim::RunOptions::Help();
            return 0;
        }
        if (options.helpConf)
        {
            std::cout << ns3::FabricConfHelp();
            return 0;
        }
        if (!options.printAttributes.empty())
        {
            std::cout << ns3::AttributesHelp(options.printAttributes);
            return 0;
        }
        if (options.version)
        {
            std::cout << "SimAI_simulator " << AstraSim::ProgramVersion() << "\n";
            return 0;
        }
        if (options.separatePasses)
        {
            AstraSim::NeedOneProcess("--separate-passes");
            return AstraSim::RunIterations(options);
        }
        return AstraSim::RunSimulation(options);
    });
}
