/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef JSON_FILE_H
#define JSON_FILE_H

#include "ns3/rows.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace AstraSim
{

/// @return the line of @p text in which @p position lies, from 1
std::size_t LineAt(std::string_view text, std::size_t position);

/**
 * @param text of a file @param path its name @param expected description of a valid file, for
 * errors
 * @throw ns3::InputError unless the text is a JSON object
 */
nlohmann::json ParseJsonObject(const std::string& text,
                               const std::string& path,
                               const std::string& expected);

/// As above, the text being that of the file. @throw ns3::InputError also if it cannot be read
nlohmann::json ReadJsonObject(const std::string& path, const std::string& expected);

/// A file that holds a JSON object; its errors name lines.
class JsonFile
{
  public:
    /// @param expected description of a valid file, for errors @throw ns3::InputError as above
    JsonFile(const std::string& path, const std::string& expected);

    const nlohmann::json& GetObject() const
    {
        return m_object;
    }

    /// @return the line where a key is first, 1 if it is nowhere
    std::size_t LineOf(std::string_view key) const;

    /// Store the values of all keys. @throw ns3::InputError as Rows::Read() does, and for a value
    /// of another type than its row's
    void ReadInto(ns3::Rows& rows) const;

    /// @throw ns3::InputError about the line of @p key
    [[noreturn]] void Fail(std::string_view key,
                           const std::string& what,
                           const std::string& expected) const;

  private:
    std::string m_path;
    std::string m_text;
    nlohmann::json m_object;
};

} // namespace AstraSim

#endif /* JSON_FILE_H */
