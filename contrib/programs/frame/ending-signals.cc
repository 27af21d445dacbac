/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ending-signals.h"

#include <cstring>

namespace AstraSim
{

sigset_t
EndingSignals()
{
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    {
        struct sigaction action
        {
        };

        sigaction(signal, nullptr, &action);
        if (action.sa_handler != SIG_IGN)
        {
            sigaddset(&set, signal);
        }
    }
    return set;
}

std::string
SignalName(int signal)
{
    const char* name = sigabbrev_np(signal);
    return std::string("SIG") + (name ? name : "?");
}

} // namespace AstraSim
