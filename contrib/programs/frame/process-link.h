/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROCESS_LINK_H
#define PROCESS_LINK_H

#include "ns3/qbb-processes.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace AstraSim
{

/// Another process of the run has ended before it was done, so the run cannot go on.
class LostProcess : public std::runtime_error
{
  public:
    /// @param process its number, from 0
    explicit LostProcess(uint32_t process)
        : std::runtime_error("process " + std::to_string(process) +
                             " of the run has ended before it was done"),
          m_process(process)
    {
    }

    uint32_t GetProcess() const
    {
        return m_process;
    }

  private:
    uint32_t m_process;
};

/**
 * If this process is one of several that mpirun or srun have started together, join the others:
 * they run one simulation (ns3::QbbProcesses). The first one reads, writes and prints as a single
 * process would; the others print nothing and leave no results.
 *
 * Before anything else, in main(). When the object is destroyed, all processes have come to their
 * ends; while an exception is thrown, it waits only for the first process, which prints the reason.
 *
 * Waiting for another process ends with LostProcess if that has ended, on this host.
 *
 * @return null if the process is alone
 * @throw ns3::InputError if MPI cannot be loaded
 */
std::unique_ptr<ns3::QbbProcesses> JoinProcesses();

/// Refuse to be one of several processes. @param what needs a single process, for the error
/// @throw ns3::InputError
void NeedOneProcess(const std::string& what);

} // namespace AstraSim

#endif /* PROCESS_LINK_H */
