/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-replay.h"

#include "run-record.h"

#include "ns3/input-error.h"
#include "ns3/json-file.h"

#include <nlohmann/json.hpp>

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

} // namespace

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

} // namespace AstraSim
