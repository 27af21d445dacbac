/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "programs/frame/guarded-main.h"
#include "programs/frame/run-record.h"
#include "simccl-run.h"
#include "simulator-programs.h"

#include <iostream>

int
AstraSim::SimCclProgram(int argc, char* argv[])
{
    return AstraSim::GuardedMain([&] {
        const auto options = AstraSim::SimCclOptions::Parse({argv + 1, argv + argc});
        if (options.help)
        {
            std::cout << AstraSim::SimCclOptions::Help();
            return 0;
        }
        if (options.version)
        {
            std::cout << "SimCCL " << AstraSim::ProgramVersion() << "\n";
            return 0;
        }
        AstraSim::RunSimCcl(options);
        return 0;
    });
}
