/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a workload with real traffic between processes, one per rank:
 *
 *   mpirun -np 16 SimAI_phynet -w microAllReduce.txt -n Spectrum-X_16g_8gps_100Gbps_A100 -o
 * results/a
 *
 * Exit status: 0 the workload finished, 1 a rank failed, 2 an input is wrong, 129, 130 and 143
 * ended by SIGHUP, SIGINT and SIGTERM.
 */
#include "programs/frame/ending-signals.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/program-questions.h"
#include "simulator/options/run-environment.h"
#include "simulator/physical/run/phy-run.h"

#include "ns3/nstime.h"

#include <csignal>
#include <cstdio>
#include <iostream>
#include <mpi.h>

#ifdef __SANITIZE_ADDRESS__
/// Memory that MPI and libfabric keep until a process ends is no leak of ours.
extern "C" const char*
__lsan_default_suppressions()
{
    return "leak:libmpi\nleak:libopen-pal\nleak:libopen-rte\nleak:libpmix\nleak:libfabric\n"
           "leak:mca_\nleak:libhwloc\nleak:libevent\n";
}
#endif

int
main(int argc, char* argv[])
{
    return AstraSim::GuardedMain([&] {
        ns3::Time::SetResolution(ns3::Time::PS);
        const auto options =
            AstraSim::PhyOptions::Parse({argv + 1, argv + argc}, AstraSim::EnvironmentVariable);
        if (AstraSim::PrintAnswer(options.run.answer))
        {
            return 0;
        }
        // MPI's own threads must not take the signals that end a run.
        const sigset_t signals = AstraSim::EndingSignals();
        pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        const int status = AstraSim::RunPhysical(options);
        if (status != 0)
        {
            // Others may be gone: nothing that waits for them.
            std::cout.flush();
            std::fflush(nullptr);
            std::_Exit(status);
        }
        MPI_Finalize();
        return 0;
    });
}
