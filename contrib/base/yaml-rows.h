/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef YAML_ROWS_H
#define YAML_ROWS_H

#include "input-error.h"
#include "rows.h"

#include <charconv>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace ns3
{

/**
 * @ingroup base
 * @brief A text in YAML: a list of rows, each with keys, or rows by name. A mistake names its line.
 * The only reader of YAML.
 */
class YamlRows
{
  public:
    /// @param source the text's name in errors @param format description of a valid text
    /// @param areNamed each row stands behind its name
    /// @throw InputError if the text is no list, or has no names
    YamlRows(const std::string& text,
             const std::string& source,
             const std::string& format,
             bool areNamed = false)
        : m_source(source)
    {
        try
        {
            const std::vector<YAML::Node> documents = YAML::LoadAll(text);
            if (documents.size() > 1)
            {
                Fail(documents[1], "holds several documents", "one");
            }
            m_rows = documents.empty() ? YAML::Node() : documents.front();
        }
        catch (const YAML::Exception& error)
        {
            throw InputError(source, LineAt(error.mark), "is not YAML: " + error.msg, format);
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
        throw InputError(m_source, LineAt(node.Mark()), what, expected);
    }

    /// @return the value of an entry, which may be `{is: VALUE, by: SOURCE, tables: [NAME, ...]}`
    YAML::Node ValueOf(const YAML::Node& node) const
    {
        if (!node.IsMap() || !node["is"])
        {
            return node;
        }
        Rows keys(m_source,
                  {{"is", ForPeople(), ""}, {"by", ForPeople(), ""}, {"tables", ForPeople(), ""}});
        ReadInto(node, keys);
        return node["is"];
    }

    /// A value that people read, or that is read apart.
    static RowValue ForPeople()
    {
        return {"text", [](std::string_view) { return true; }};
    }

    /// A value that a function reads: a list, or keys. @param entry has it, and outlives the row
    RowValue FromNode(const YAML::Node& entry,
                      const std::string& key,
                      const std::string& expected,
                      std::function<void(const YAML::Node& value)> read) const
    {
        return {expected, [this, &entry, key, read = std::move(read)](std::string_view) {
                    read(ValueOf(entry[key]));
                    return true;
                }};
    }

    /// Store the values of an entry's keys.
    void ReadInto(const YAML::Node& entry, Rows& rows) const
    {
        if (!entry.IsMap())
        {
            Fail(entry, "this entry has no keys", ListWords(rows.GetNames()));
        }
        for (const auto& item : entry)
        {
            const std::string key = Text(item.first, "a key");
            const std::size_t line = LineAt(item.first.Mark());
            const bool isOwn = rows.Get(key, line).value.kind == RowValue::Kind::Own;
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
    static std::size_t LineAt(const YAML::Mark& mark)
    {
        return static_cast<std::size_t>(mark.line + 1);
    }

    std::string m_source;
    YAML::Node m_rows;
};

} // namespace ns3

#endif /* YAML_ROWS_H */
