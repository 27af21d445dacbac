/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "json-file.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// Depth of nesting; a parser that calls itself for each level would run out of stack.
constexpr int DEEPEST = 100;

} // namespace

std::size_t
LineAt(std::string_view text, std::size_t position)
{
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
    return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

nlohmann::json
ParseJsonObject(const std::string& text, const std::string& path, const std::string& expected)
{
    const auto refuseDeep = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        if (depth > DEEPEST)
        {
            throw ns3::InputError(path, 0, "is nested too deeply", expected);
        }
        return true;
    };
    try
    {
        auto json = nlohmann::json::parse(text, refuseDeep);
        if (!json.is_object())
        {
            throw ns3::InputError(path, 1, "is not a JSON object", expected);
        }
        return json;
    }
    catch (const nlohmann::json::parse_error& error)
    {
        throw ns3::InputError(path, LineAt(text, error.byte), "is not valid JSON", expected);
    }
    catch (const nlohmann::json::out_of_range&)
    {
        throw ns3::InputError(path, 0, "holds a number that is too large", expected);
    }
}

nlohmann::json
ReadJsonObject(const std::string& path, const std::string& expected)
{
    return ParseJsonObject(ns3::ReadInputFile(path, expected), path, expected);
}

} // namespace AstraSim
