/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-perf.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/huge-pages.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/run-record.h"
#include "simulator-programs.h"
#include "simulator/options/collective-perf-options.h"
#include "simulator/options/run-environment.h"

#include "ns3/fabric-conf.h"
#include "ns3/nstime.h"

#include <iostream>

int
AstraSim::CollectivePerfProgram(int argc, char* argv[])
{
    return AstraSim::GuardedMain([&] {
        // Before anything makes a Time or schedules an event.
        ns3::Time::SetResolution(ns3::Time::PS);
        ns3::UseHugePages();
        ns3::UseFastSimulator();
        const auto options = AstraSim::CollectivePerfOptions::Parse(argv[0],
                                                                    {argv + 1, argv + argc},
                                                                    AstraSim::EnvironmentVariable);
        if (options.help)
        {
            std::cout << AstraSim::CollectivePerfOptions::Help();
            return 0;
        }
        if (options.version)
        {
            std::cout << "collective-perf " << AstraSim::ProgramVersion() << "\n";
            return 0;
        }
        if (options.helpConf)
        {
            std::cout << ns3::FabricConfHelp();
            return 0;
        }
        return AstraSim::RunCollectivePerf(options);
    });
}
