/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_REPLAY_H
#define RUN_REPLAY_H

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// Arguments and inputs of a run, from its run.json.
struct RunReplay
{
    std::vector<std::string> arguments;           ///< of the program
    std::map<std::string, std::string> variables; ///< of the environment

    /**
     * @param path of run.json
     * @throw ns3::InputError if it is not such a file, or if one of the run's inputs has changed
     */
    static RunReplay Read(const std::string& path);

    /// @return the run that --replay names, with the flags beside it taken in; nothing without
    /// --replay
    static std::optional<RunReplay> FindReplayed(const std::vector<std::string>& arguments);

    /// @return the run that --resume names, likewise
    static std::optional<RunReplay> FindResumed(const std::vector<std::string>& arguments);
};

/// @return arguments of a run without those about the number of iterations, the place of results,
/// the messages and the limits
std::vector<std::string> WithoutPasses(const std::vector<std::string>& arguments);

/// @return the path of the request that a run with --separate-passes records in its output
/// directory
std::string IterationsRecord(const std::string& output);

} // namespace AstraSim

#endif /* RUN_REPLAY_H */
