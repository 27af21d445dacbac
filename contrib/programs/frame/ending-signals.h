/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ENDING_SIGNALS_H
#define ENDING_SIGNALS_H

#include <csignal>
#include <string>

namespace AstraSim
{

/**
 * @ingroup programs
 * @return SIGINT, SIGTERM and SIGHUP, which end a run in an orderly way, but for those that the
 * program's caller has it ignore, as nohup does SIGHUP
 */
sigset_t EndingSignals();

/// @return such as "SIGINT"
std::string SignalName(int signal);

} // namespace AstraSim

#endif /* ENDING_SIGNALS_H */
