/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef YAML_ROWS_H
#define YAML_ROWS_H

#include "ns3/input-error.h"
#include "ns3/rows.h"

#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>
#include <set>
#include <string>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief A table of ours in YAML: a list of rows, each with keys, or rows by name. A mistake names
 * its line.
 */
class YamlRows
{
  public:
    /// @param source the text's name in errors @param format description of a valid text
    /// @param areNamed each row stands behind its name
    /// @throw ns3::InputError if the text is no list, or has no names
    YamlRows(const std::string& text,
             const std::string& source,
             const std::string& format,
             bool areNamed = false)
        : m_source(source)
    {
        try
        {
            m_rows = YAML::Load(text);
        }
        catch (const YAML::Exception& error)
        {
            throw ns3::InputError(source,
                                  static_cast<std::size_t>(error.mark.line + 1),
                                  "is not YAML: " + error.msg,
                                  format);
        }
        if (areNamed ? !m_rows.IsMap() : !m_rows.IsSequence())
        {
            Fail(m_rows, areNamed ? "this has no rows" : "this is not a list", format);
        }
    }

    const YAML::Node& GetAll() const
    {
        return m_rows;
    }

    [[noreturn]] void Fail(const YAML::Node& node,
                           const std::string& what,
                           const std::string& expected) const
    {
        throw ns3::InputError(m_source,
                              static_cast<std::size_t>(node.Mark().line + 1),
                              what,
                              expected);
    }

    /// Make sure that an entry has keys, each once and none but those of @p known.
    void RequireKeys(const YAML::Node& entry, const std::vector<std::string>& known) const
    {
        const auto names = [&known] { return fmt::format("{}", fmt::join(known, ", ")); };
        if (!entry.IsMap())
        {
            Fail(entry, "this entry has no keys", names());
        }
        std::set<std::string> seen;
        for (const auto& item : entry)
        {
            const std::string key = Text(item.first, "a key");
            if (!seen.insert(key).second)
            {
                Fail(item.first, "the key '" + key + "' occurs twice", "each key once");
            }
            if (std::ranges::find(known, key) == known.end())
            {
                Fail(item.first, "unknown key '" + key + "'", names());
            }
        }
    }

    /// @return the value of an entry, which may be `{is: VALUE, by: SOURCE, tables: [NAME, ...]}`
    YAML::Node ValueOf(const YAML::Node& node) const
    {
        if (!node.IsMap() || !node["is"])
        {
            return node;
        }
        RequireKeys(node, {"is", "by", "tables"});
        return node["is"];
    }

    /// Store the values of an entry's keys.
    void ReadInto(const YAML::Node& entry, ns3::Rows& rows) const
    {
        if (!entry.IsMap())
        {
            Fail(entry, "this entry has no keys", ns3::ListWords(rows.GetNames()));
        }
        for (const auto& item : entry)
        {
            const std::string key = Text(item.first, "a key");
            const auto line = static_cast<std::size_t>(item.first.Mark().line + 1);
            const bool isOwn = rows.Get(key, line).value.kind == ns3::RowValue::Kind::Own;
            rows.Read(key, isOwn ? "" : Text(ValueOf(item.second), key), line);
        }
    }

    const std::string& GetSource() const
    {
        return m_source;
    }

    std::string Text(const YAML::Node& node, const std::string& key) const
    {
        if (!node.IsScalar())
        {
            Fail(node, key + " is not a word", "a single value");
        }
        return node.Scalar();
    }

    template <typename T>
    T Number(const YAML::Node& node, const std::string& key, T low, T high) const
    {
        const std::string text = Text(node, key);
        T number{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || !(number >= low) ||
            !(number <= high))
        {
            const auto show = [](T value) { return YAML::Dump(YAML::Node(value)); };
            Fail(node, key + " is '" + text + "'", "from " + show(low) + " to " + show(high));
        }
        return number;
    }

    /// @return the values of a list's words @param parse gives a word's value, if it has one
    /// @param expected the legal words
    template <typename Parse>
    auto Words(const YAML::Node& list,
               const std::string& key,
               Parse parse,
               const std::string& expected) const
    {
        std::vector<typename decltype(parse(std::string()))::value_type> found;
        if (!list.IsSequence())
        {
            Fail(list, key + " is not a list", "a list of " + expected);
        }
        for (const YAML::Node& item : list)
        {
            const auto value = parse(Text(item, key));
            if (!value)
            {
                Fail(item, key + " has '" + item.Scalar() + "'", expected);
            }
            found.push_back(*value);
        }
        return found;
    }

  private:
    std::string m_source;
    YAML::Node m_rows;
};

} // namespace AstraSim

#endif /* YAML_ROWS_H */
