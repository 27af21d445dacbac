/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flows-program.h"

#include "flows-run.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/huge-pages.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/process-link.h"
#include "programs/frame/run-record.h"

#include "ns3/fabric-conf.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <iostream>

int
AstraSim::FlowsProgram(int argc, char* argv[])
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
