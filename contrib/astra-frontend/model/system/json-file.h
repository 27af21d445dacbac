/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef JSON_FILE_H
#define JSON_FILE_H

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace AstraSim
{

/// @return the line of @p text in which @p position lies, from 1
std::size_t LineAt(std::string_view text, std::size_t position);

/**
 * @param text of a file @param path its name @param expected what it should be, for errors
 * @throw ns3::InputError unless the text is a JSON object
 */
nlohmann::json ParseJsonObject(const std::string& text,
                               const std::string& path,
                               const std::string& expected);

/// As above, the text being that of the file. @throw ns3::InputError also if it cannot be read
nlohmann::json ReadJsonObject(const std::string& path, const std::string& expected);

} // namespace AstraSim

#endif /* JSON_FILE_H */
