/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulator-programs.h"

#include "program-runs.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/process-link.h"
#include "programs/frame/program-questions.h"
#include "simulator/options/run-environment.h"

namespace AstraSim
{

int
SimulatorProgram(int argc, char* argv[])
{
    return GuardedMain([&] {
        ns3::PrepareSimulator();
        const auto processes = JoinProcesses();
        const auto options = RunOptions::Parse({argv + 1, argv + argc}, EnvironmentVariable);
        if (PrintAnswer(options.answer))
        {
            return 0;
        }
        if (options.separatePasses)
        {
            NeedOneProcess("--separate-passes");
            return RunIterations(options);
        }
        return RunSimulation(options);
    });
}

int
AnalyticalProgram(int argc, char* argv[])
{
    return GuardedMain([&] {
        const auto options = AnalyticalOptions::Parse({argv + 1, argv + argc}, EnvironmentVariable);
        return PrintAnswer(options.answer) ? 0 : RunAnalytical(options);
    });
}

int
SimCclProgram(int argc, char* argv[])
{
    return GuardedMain([&] {
        const auto options = SimCclOptions::Parse({argv + 1, argv + argc});
        return PrintAnswer(options.answer) ? 0 : RunSimCcl(options);
    });
}

int
CollectivePerfProgram(int argc, char* argv[])
{
    return GuardedMain([&] {
        ns3::PrepareSimulator();
        const auto options =
            CollectivePerfOptions::Parse(argv[0], {argv + 1, argv + argc}, EnvironmentVariable);
        return PrintAnswer(options.run.answer) ? 0 : RunCollectivePerf(options);
    });
}

} // namespace AstraSim
