/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROCESS_LINK_H
#define PROCESS_LINK_H

#include "ns3/qbb-processes.h"

#include <memory>

namespace AstraSim
{

/**
 * If this process is one of several that mpirun or srun have started together, join the others:
 * they run one simulation (ns3::QbbProcesses). The first one reads, writes and says what one
 * process would; the others say nothing, and their results go nowhere.
 *
 * Before anything else, in main(). When the object is destroyed, all processes have come to their
 * ends; while an exception is thrown, it waits for nobody but the first, which tells people why.
 *
 * @return null if the process is alone
 * @throw ns3::InputError if MPI cannot be loaded
 */
std::unique_ptr<ns3::QbbProcesses> JoinProcesses();

/// Refuse to be one of several processes. @param what runs in one @throw ns3::InputError
void NeedOneProcess(const std::string& what);

} // namespace AstraSim

#endif /* PROCESS_LINK_H */
