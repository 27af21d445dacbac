/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "iterations-run.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/huge-pages.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/process-link.h"
#include "programs/frame/run-record.h"
#include "simulation-run.h"
#include "simulator-programs.h"
#include "simulator/options/run-environment.h"
#include "simulator/options/run-options.h"

#include "ns3/fabric-conf.h"
#include "ns3/nstime.h"

#include <iostream>

int
AstraSim::SimulatorProgram(int argc, char* argv[])
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
