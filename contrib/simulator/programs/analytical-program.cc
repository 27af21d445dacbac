/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-run.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/run-record.h"
#include "simulator-programs.h"
#include "simulator/options/analytical-options.h"
#include "simulator/options/run-environment.h"

#include <iostream>

int
AstraSim::AnalyticalProgram(int argc, char* argv[])
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
