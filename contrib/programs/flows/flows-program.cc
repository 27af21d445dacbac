/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flows-program.h"

#include "flows-run.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/process-link.h"
#include "programs/frame/program-questions.h"

int
AstraSim::FlowsProgram(int argc, char* argv[])
{
    return AstraSim::GuardedMain([&] {
        ns3::PrepareSimulator();
        const auto processes = AstraSim::JoinProcesses();
        const auto options = AstraSim::FlowsOptions::Parse({argv + 1, argv + argc});
        return AstraSim::PrintAnswer(options.answer) ? 0 : AstraSim::RunFlows(options);
    });
}
