/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "json-file.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"

#include <algorithm>
#include <set>
#include <vector>

namespace AstraSim
{

namespace
{

/// Depth of nesting; a parser that calls itself for each level would run out of stack.
constexpr int DEEPEST = 100;

/// An iterator that says how far a parser has read.
struct CountedText
{
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at;
    std::size_t* read;

    reference operator*() const
    {
        return *at;
    }

    CountedText& operator++()
    {
        ++at;
        ++*read;
        return *this;
    }

    bool operator==(const CountedText& other) const
    {
        return at == other.at;
    }
};

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
    std::size_t read = 0;
    std::vector<std::set<std::string>> open; // keys of the objects that have begun
    const auto check = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
        using Event = nlohmann::json::parse_event_t;
        if (depth > DEEPEST)
        {
            throw ns3::InputError(path, LineAt(text, read), "is nested too deeply", expected);
        }
        if (event == Event::object_start)
        {
            open.emplace_back();
        }
        else if (event == Event::object_end)
        {
            open.pop_back();
        }
        else if (event == Event::key && !open.back().insert(value.get<std::string>()).second)
        {
            throw ns3::InputError(path,
                                  LineAt(text, read),
                                  "the key " + value.dump() + " occurs twice in an object",
                                  "each key once");
        }
        if ((event == Event::key || event == Event::value) && value.is_string() &&
            value.get_ref<const std::string&>().find('\0') != std::string::npos)
        {
            throw ns3::InputError(path,
                                  LineAt(text, read),
                                  "a string has a NUL character",
                                  expected);
        }
        return true;
    };
    try
    {
        auto json = nlohmann::json::parse(CountedText{text.data(), &read},
                                          CountedText{text.data() + text.size(), &read},
                                          check);
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
        throw ns3::InputError(path,
                              LineAt(text, read),
                              "holds a number that is too large",
                              expected);
    }
}

nlohmann::json
ReadJsonObject(const std::string& path, const std::string& expected)
{
    return ParseJsonObject(ns3::ReadInputFile(path, expected), path, expected);
}

JsonFile::JsonFile(const std::string& path, const std::string& expected)
    : m_path(path),
      m_text(ns3::ReadInputFile(path, expected)),
      m_object(ParseJsonObject(m_text, path, expected))
{
}

std::size_t
JsonFile::LineOf(std::string_view key) const
{
    const auto position = m_text.find(nlohmann::json(key).dump());
    return position == std::string::npos ? 1 : LineAt(m_text, position);
}

void
JsonFile::ReadInto(ns3::Rows& rows) const
{
    using enum ns3::RowValue::Kind;
    for (const auto& [key, value] : m_object.items())
    {
        const std::size_t line = LineOf(key);
        const auto kind = rows.Get(key, line).value.kind;
        const bool fits = kind == Text     ? value.is_string()
                          : kind == Number ? value.is_number()
                          : kind == Flag   ? value.is_number() || value.is_boolean()
                                           : true;
        if (!fits)
        {
            rows.Refuse(key, value.dump(), line);
        }
        rows.Read(key,
                  value.is_string()    ? value.get<std::string>()
                  : value.is_boolean() ? std::to_string(value.get<bool>())
                                       : value.dump(),
                  line);
    }
}

void
JsonFile::Fail(std::string_view key, const std::string& what, const std::string& expected) const
{
    throw ns3::InputError(m_path, LineOf(key), what, expected);
}

} // namespace AstraSim
