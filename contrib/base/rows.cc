/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rows.h"

#include "csv-cell.h"
#include "input-error.h"
#include "nearest-name.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cctype>
#include <fmt/format.h>
#include <sstream>

namespace ns3
{

namespace
{

/// Most names that an error lists; with more, it gives the nearest alone.
constexpr std::size_t MOST_LISTED = 20;
constexpr std::size_t MOST_SHOWN = 80; ///< characters of an illegal value

} // namespace

void
RefuseUnknownKey(const std::string& source,
                 std::size_t line,
                 std::string_view name,
                 const std::vector<std::string>& known)
{
    throw InputError(source,
                     line,
                     fmt::format("unknown key '{}'", name),
                     (known.size() > MOST_LISTED ? "a known key" : ListWords(known)) +
                         NearestHint(name, known));
}

std::string
ListWords(const std::vector<std::string>& words)
{
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i)
    {
        list += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
    }
    return list;
}

std::optional<uint64_t>
WholeWithin(std::string_view text, uint64_t least, uint64_t most)
{
    const auto value = ParseUnsigned(text);
    return value && *value >= least && *value <= most ? value : std::nullopt;
}

std::optional<double>
RealWithin(std::string_view text, double least, double most)
{
    const auto value = ParseReal(text);
    return value && *value >= least && *value <= most ? value : std::nullopt;
}

std::optional<std::vector<uint32_t>>
WholesWithin(std::string_view text, uint64_t least, uint64_t most, std::size_t fewest)
{
    std::vector<uint32_t> values;
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;)
    {
        const auto value = WholeWithin(word, least, most);
        if (!value)
        {
            return std::nullopt;
        }
        values.push_back(static_cast<uint32_t>(*value));
    }
    return values.size() >= fewest ? std::optional(values) : std::nullopt;
}

std::string
RangeText(const std::string& noun, double least, double most)
{
    return fmt::format("{} from {:g} to {:g}", noun, least, most);
}

std::string
RangeText(const std::string& noun, uint64_t least, uint64_t most)
{
    return most == UINT64_MAX ? fmt::format("{}, {} or more", noun, least)
                              : fmt::format("{} from {} to {}", noun, least, most);
}

RowValue
Real(double& target, double least, double most, const std::string& noun)
{
    return Parsed(
        target,
        [least, most](std::string_view text) { return RealWithin(text, least, most); },
        RangeText(noun, least, most),
        target >= least && target <= most ? fmt::format("{:g}", target) : "",
        RowValue::Kind::Number);
}

RowValue
Text(std::string& target, const std::string& expected)
{
    const auto parse = [](std::string_view text) {
        return text.empty() ? std::nullopt : std::optional(text);
    };
    return Parsed(target, parse, expected, target, RowValue::Kind::Text);
}

RowValue
Wholes(std::vector<uint32_t>& target, uint64_t least, uint64_t most, std::size_t fewest)
{
    const auto parse = [=](std::string_view text) {
        return WholesWithin(text, least, most, fewest);
    };
    return Parsed(target, parse, RangeText("whole numbers", least, most), "", RowValue::Kind::List);
}

Rows::Rows(std::string source, std::vector<Row> rows)
    : m_source(std::move(source))
{
    for (Row& row : rows)
    {
        Entry& entry = m_entries.emplace_back();
        boost::split(entry.names, row.name, boost::is_any_of(","));
        entry.row = std::move(row);
    }
}

const Rows::Entry*
Rows::Find(std::string_view name) const
{
    const auto entry = std::ranges::find_if(m_entries, [name](const Entry& each) {
        return std::ranges::find(each.names, name) != each.names.end();
    });
    return entry == m_entries.end() ? nullptr : &*entry;
}

const Row&
Rows::Get(std::string_view name, std::size_t line) const
{
    if (const Entry* entry = Find(name))
    {
        return entry->row;
    }
    RefuseUnknownKey(m_source, line, name, GetNames());
}

void
Rows::Read(std::string_view name, std::string_view text, std::size_t line)
{
    const Row& row = Get(name, line);
    Entry& entry = m_entries[static_cast<std::size_t>(Find(name) - m_entries.data())];
    if (entry.line && !row.repeats)
    {
        throw InputError(m_source,
                         line,
                         fmt::format("the key '{}' occurs twice", name),
                         "each key once");
    }
    entry.line = line;
    if (!row.value.take(text))
    {
        Refuse(name, text, line);
    }
}

void
Rows::ReadPairs(std::span<const std::string_view> fields, std::size_t line)
{
    for (std::size_t i = 0; i < fields.size(); i += 2)
    {
        Read(fields[i], i + 1 < fields.size() ? fields[i + 1] : "", line);
    }
}

void
Rows::ReadVariables(
    const std::function<std::optional<std::string>(const std::string& name)>& lookup)
{
    for (const std::string& name : GetNames())
    {
        const auto value = lookup(name);
        if (value && !value->empty())
        {
            Read(name, *value, 0);
        }
    }
}

void
Rows::Refuse(std::string_view name, std::string_view text, std::size_t line) const
{
    const std::string_view shown = text.substr(0, MOST_SHOWN);
    const RowValue& value = Get(name, line).value;
    const bool isWord = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0]));
    throw InputError(m_source,
                     line,
                     fmt::format("{} is '{}{}'", name, shown, shown == text ? "" : "..."),
                     value.expected + (isWord ? NearestHint(text, value.words) : ""));
}

bool
Rows::IsGiven(std::string_view name) const
{
    const Entry* entry = Find(name);
    return entry && entry->line;
}

std::size_t
Rows::LineOf(std::string_view name) const
{
    return IsGiven(name) ? *Find(name)->line : 0;
}

std::vector<std::string>
Rows::GetNames() const
{
    std::vector<std::string> names;
    for (const Entry& entry : m_entries)
    {
        names.insert(names.end(), entry.names.begin(), entry.names.end());
    }
    return names;
}

std::vector<Rows::Idle>
Rows::FindIdle() const
{
    std::vector<Idle> idle;
    for (const Entry& entry : m_entries)
    {
        const std::string reason = entry.line && entry.row.idle ? entry.row.idle() : "";
        if (!reason.empty())
        {
            idle.push_back({*entry.line, entry.names[0] + " has no effect " + reason});
        }
    }
    return idle;
}

void
Rows::RefuseIdle() const
{
    for (const auto& [line, what] : FindIdle())
    {
        throw InputError(m_source, line, what, "a file without it");
    }
}

std::string
Rows::ToCsv() const
{
    std::string lines;
    for (const auto& [row, names, line] : m_entries)
    {
        const std::string& standard = row.value.standard;
        lines += fmt::format("{},{},{},{}\n",
                             CsvCell("``" + boost::join(names, "``, ``") + "``"),
                             CsvCell(row.value.expected),
                             CsvCell(standard.empty() ? "" : "``" + standard + "``"),
                             CsvCell(row.sentence));
    }
    return lines;
}

} // namespace ns3
