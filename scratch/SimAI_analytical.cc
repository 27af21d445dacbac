/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Computes the time of a training iteration from bus bandwidths, without packets:
 *
 *   SimAI_analytical -w workload_analytical.txt -g 9216 -g_p_s 8 -nv 360 -nic 48.5 -r example-
 *
 * Exit status: 0 the workload finished, 1 it did not, 2 an input is wrong, 129, 130 and 143 ended
 * by SIGHUP, SIGINT and SIGTERM.
 */
#include "ns3/analytical-options.h"
#include "ns3/analytical-run.h"
#include "ns3/guarded-main.h"
#include "ns3/run-environment.h"
#include "ns3/run-record.h"

#include <iostream>

int
main(int argc, char* argv[])
{
    return AstraSim::GuardedMain([&] {
        const auto options = AstraSim::AnalyticalOptions::Parse({argv + 1, argv + argc},
                                                                AstraSim::EnvironmentVariable);
        if (options.help)
        {
            std::cout << AstraSim::AnalyticalOptions::Help();
            return 0;
        }
        if (options.version)
        {
            std::cout << "SimAI_analytical " << AstraSim::ProgramVersion() << "\n";
            return 0;
        }
        return AstraSim::RunAnalytical(options);
    });
}
