/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-replay.h"

#include "astra-frontend/model/system/json-file.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/run-record.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

namespace AstraSim
{

namespace
{

constexpr const char* EXPECTED = "run.json of a run of this program";

void
CheckInputs(const nlohmann::json& record, const std::string& path)
{
    for (const auto& input : record.at("inputs"))
    {
        const auto file = input.at("path").get<std::string>();
        if (FileSha256(file) != input.at("sha256").get<std::string>())
        {
            throw ns3::InputError(file,
                                  0,
                                  "is not what it was when the run of " + path + " read it",
                                  "the file with the SHA-256 that is recorded there");
        }
    }
}

/// A flag that names an earlier run, and the flags beside it.
struct EarlierRun
{
    std::string path;
    std::vector<std::string> others;
};

/// @param flag "--replay" or "--resume"
std::optional<EarlierRun>
FindEarlierRun(const std::vector<std::string>& arguments, const std::string& flag)
{
    EarlierRun run;
    bool found = false;
    for (std::size_t i = 0; i < arguments.size(); ++i)
    {
        const std::string& argument = arguments[i];
        if (argument == flag && i + 1 < arguments.size())
        {
            run.path = arguments[++i];
            found = true;
        }
        else if (argument.starts_with(flag + "="))
        {
            run.path = argument.substr(flag.size() + 1);
            found = true;
        }
        else
        {
            run.others.push_back(argument);
        }
    }
    return found ? std::optional(run) : std::nullopt;
}

/// @return the name of a flag, with one dash or two; empty for another argument
std::string_view
FlagName(std::string_view argument)
{
    if (!argument.starts_with('-'))
    {
        return {};
    }
    argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
    return argument.substr(0, argument.find('='));
}

/// @return the arguments without flags of such names and their values
std::vector<std::string>
WithoutFlags(const std::vector<std::string>& arguments,
             std::initializer_list<std::string_view> valued,
             std::initializer_list<std::string_view> plain = {})
{
    const auto isIn = [](std::string_view name, const auto& names) {
        return std::ranges::find(names, name) != names.end();
    };
    std::vector<std::string> others;
    for (std::size_t i = 0; i < arguments.size(); ++i)
    {
        const std::string_view name = FlagName(arguments[i]);
        if (isIn(name, valued))
        {
            i += arguments[i].find('=') == std::string::npos;
        }
        else if (!isIn(name, plain))
        {
            others.push_back(arguments[i]);
        }
    }
    return others;
}

/// @return the arguments without the output directory, which a replay does not write to
std::vector<std::string>
WithoutOutput(const std::vector<std::string>& arguments)
{
    std::vector<std::string> others = WithoutFlags(arguments, {"o", "output"});
    std::erase_if(others, [](const std::string& argument) { // -oDIRECTORY
        return argument.starts_with("-o") && argument != "-o";
    });
    return others;
}

/// @return the arguments of the repeated run; flags that do not change it may be given anew
std::vector<std::string>
ArgumentsToReplay(const EarlierRun& replay, const RunReplay& run)
{
    // A store would answer with the earlier outcome, which the repeated run is to compute again.
    std::vector<std::string> all =
        WithoutFlags(WithoutOutput(run.arguments), {"fast-forward-store"});
    for (const std::string& argument : replay.others)
    {
        const std::string_view name = FlagName(argument);
        if (name == "q" || name == "quiet")
        {
            all = WithoutFlags(all, {}, {"q", "quiet"});
        }
        else if (name.starts_with("progress") || name.starts_with("max-"))
        {
            all = WithoutFlags(all, {name});
        }
    }
    all.insert(all.end(), replay.others.begin(), replay.others.end());
    return all;
}

/// @return the arguments of a run that goes on
std::vector<std::string>
ArgumentsToResume(const EarlierRun& resumed, const RunReplay& run)
{
    constexpr std::array<std::string_view, 7> ALLOWED =
        {"q", "quiet", "progress", "progress-interval", "max-time", "max-sim-time", "max-memory"};
    for (const std::string& argument : resumed.others)
    {
        const std::string_view name = FlagName(argument);
        if (!name.empty() && std::ranges::find(ALLOWED, name) == ALLOWED.end())
        {
            RefuseFlag("--resume with " + argument,
                       "--resume with no more than -q, --progress, --progress-interval, "
                       "--max-time, --max-sim-time and --max-memory, as all else would change the "
                       "results");
        }
    }
    std::vector<std::string> all =
        WithoutFlags(WithoutOutput(run.arguments),
                     {"progress", "progress-interval", "max-time", "max-sim-time", "max-memory"},
                     {"q", "quiet"});
    all.insert(all.end(), {"-o", resumed.path});
    all.insert(all.end(), resumed.others.begin(), resumed.others.end());
    return all;
}

} // namespace

std::string
IterationsRecord(const std::string& output)
{
    return output + "/passes.json";
}

RunReplay
RunReplay::Read(const std::string& path)
{
    const nlohmann::json record = ReadJsonObject(path, EXPECTED);
    try
    {
        RunReplay replay;
        replay.arguments = record.at("arguments").get<std::vector<std::string>>();
        replay.variables =
            record.at("options").at("nccl_environment").get<std::map<std::string, std::string>>();
        CheckInputs(record, path);
        return replay;
    }
    catch (const nlohmann::json::exception&)
    {
        throw ns3::InputError(path, 0, "does not say what was run", EXPECTED);
    }
}

std::optional<RunReplay>
RunReplay::FindReplayed(const std::vector<std::string>& arguments)
{
    const auto replay = FindEarlierRun(arguments, "--replay");
    if (!replay)
    {
        return std::nullopt;
    }
    RunReplay run = Read(replay->path);
    run.arguments = ArgumentsToReplay(*replay, run);
    return run;
}

std::optional<RunReplay>
RunReplay::FindResumed(const std::vector<std::string>& arguments)
{
    const auto resumed = FindEarlierRun(arguments, "--resume");
    if (!resumed)
    {
        return std::nullopt;
    }
    RunReplay run = Read(IterationsRecord(resumed->path));
    run.arguments = ArgumentsToResume(*resumed, run);
    return run;
}

std::vector<std::string>
WithoutPasses(const std::vector<std::string>& arguments)
{
    return WithoutFlags(
        WithoutOutput(arguments),
        {"passes", "progress", "progress-interval", "max-time", "max-sim-time", "max-memory"},
        {"separate-passes", "q", "quiet"});
}

} // namespace AstraSim
