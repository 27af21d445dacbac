/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Simulates a program of nccl-tests and prints its table:
 *
 *   collective-perf all_reduce_perf -b 8 -e 1G -f 2 --network-topo Spectrum-X_16g_8gps_400Gbps_H100
 *
 * Links named after the tests choose the test: all_reduce_perf -b 8 -e 1G ...
 * Exit status: 0 done, 1 the test did not finish, 2 an input is wrong, 128 + n ended by signal n.
 */
#include "ns3/collective-perf.h"

#include "ns3/collective-perf-options.h"
#include "ns3/fabric-conf.h"
#include "ns3/guarded-main.h"
#include "ns3/huge-pages.h"
#include "ns3/ns3-flags.h"
#include "ns3/nstime.h"
#include "ns3/run-environment.h"
#include "ns3/run-record.h"

#include <iostream>

int
main(int argc, char* argv[])
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
