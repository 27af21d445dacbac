/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_REPLAY_H
#define RUN_REPLAY_H

#include <map>
#include <string>
#include <vector>

namespace AstraSim
{

/// What a run was asked for, from its run.json.
struct RunReplay
{
    std::vector<std::string> arguments;           ///< of the program
    std::map<std::string, std::string> variables; ///< of the environment

    /**
     * @param path of run.json
     * @throw ns3::InputError if it is none, or if one of the run's inputs is not what it was
     */
    static RunReplay Read(const std::string& path);
};

} // namespace AstraSim

#endif /* RUN_REPLAY_H */
