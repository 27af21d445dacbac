/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "program-flags.h"

#include "ns3/input-error.h"
#include "ns3/nearest-name.h"
#include "ns3/rows.h"
#include "ns3/units.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>

namespace AstraSim
{

namespace
{

namespace po = boost::program_options;

/// None of the numbers that flags take may be negative; unsigned parsing would wrap them.
void
RefuseNegatives(const po::parsed_options& parsed)
{
    for (const auto& option : parsed.options)
    {
        for (const std::string& value : option.value)
        {
            if (!option.unregistered && value.size() > 1 && value[0] == '-' &&
                std::isdigit(static_cast<unsigned char>(value[1])))
            {
                RefuseFlag("--" + option.string_key + " is " + value,
                           "a number that is not negative");
            }
        }
    }
}

/// A flag's name in some programs or simulators, and its name here.
const std::map<std::string, std::string> ALIASES_OF_ALL = {
    {"topo", "network-topo"},
    {"topology", "network-topo"},
    {"conf", "network-conf"},
    {"config", "network-conf"},
};

/// A letter's value may follow it at once, as in -t16 and -w./micro.txt, but -network is not -n
/// with the value etwork.
bool
IsWord(const std::string& written)
{
    return written.size() > 1 && std::isalpha(static_cast<unsigned char>(written[1]));
}

} // namespace

void
RefuseFlag(const std::string& what, const std::string& expected)
{
    throw ns3::InputError("command line", 0, what, expected);
}

FlagTable::Row&
FlagTable::Row::Alias(std::initializer_list<const char*> names)
{
    aliases.assign(names.begin(), names.end());
    return *this;
}

FlagTable::Row&
FlagTable::Row::Record(const char* newKey)
{
    key = newKey;
    return *this;
}

std::string
FlagTable::Row::Spelt() const
{
    return letter ? std::string("-") + letter : "--" + name;
}

FlagTable::Row&
FlagTable::Row::Expect(std::function<bool(double)> holds, const char* joint, std::string expected)
{
    checks.emplace_back([this, holds = std::move(holds), joint, expected = std::move(expected)] {
        if (!holds(number()))
        {
            RefuseFlag(Spelt() + joint + text(), expected);
        }
    });
    return *this;
}

FlagTable::Row&
FlagTable::Row::AtLeast(uint64_t least, const std::string& expected)
{
    return Expect([least](double given) { return given >= static_cast<double>(least); },
                  " is ",
                  expected.empty() ? std::to_string(least) + " or more" : expected);
}

FlagTable::Row&
FlagTable::Row::Within(double least, double most, const std::string& expected)
{
    return Expect([least, most](double given) { return given >= least && given <= most; },
                  " is ",
                  expected);
}

FlagTable::Row&
FlagTable::Row::AboveZero()
{
    return Expect([](double given) { return std::isfinite(given) && given > 0; },
                  " is ",
                  "a number above 0");
}

FlagTable::Row&
FlagTable::Row::Choices(double most, const std::string& expected)
{
    return Expect([most](double given) { return given <= most; }, " ", expected);
}

FlagTable::Row&
FlagTable::Row::Needs(const char* other, std::function<bool()> newHasEffect)
{
    idle = "has no effect without " + std::string(other);
    hasEffect = std::move(newHasEffect);
    return *this;
}

FlagTable::Row&
FlagTable::Row::HasNone(const std::string& reason, std::function<bool()> isAsked)
{
    idle = "has no effect: " + reason;
    hasEffect = [isAsked = std::move(isAsked)] { return !isAsked(); };
    return *this;
}

FlagTable::FlagTable(const std::string& usage)
    : m_description(usage)
{
}

FlagTable::Row&
FlagTable::AddRow(FlagSubject subject,
                  const char* names,
                  const po::value_semantic* semantic,
                  const std::string& help)
{
    m_description.add_options()(names, semantic, help.c_str());
    Row& row = m_rows.emplace_back();
    const std::string all = names;
    row.name = all.substr(0, all.find(','));
    row.letter = row.name.size() < all.size() ? all.back() : '\0';
    row.subject = subject;
    return row;
}

FlagTable::Row&
FlagTable::AddText(FlagSubject subject,
                   const char* names,
                   std::function<void(const std::string& text)> read,
                   const std::string& help)
{
    Row& row = AddRow(subject, names, po::value<std::string>(), help);
    row.checks.emplace_back(
        [this, &row, read = std::move(read)] { read(m_values[row.name].as<std::string>()); });
    return row;
}

FlagTable::Row&
FlagTable::AddBool(FlagSubject subject, const char* names, bool& target, const std::string& help)
{
    return AddRow(subject, names, po::value(&target), help, target);
}

FlagTable::Row&
FlagTable::AddWord(FlagSubject subject,
                   const char* names,
                   std::vector<std::string> words,
                   std::function<void(std::size_t index)> take,
                   const std::string& help,
                   const char* alone)
{
    auto* semantic = po::value<std::string>();
    Row& row = AddRow(subject, names, alone ? semantic->implicit_value(alone) : semantic, help);
    row.checks.emplace_back([this, &row, words = std::move(words), take = std::move(take)] {
        const auto& word = m_values[row.name].as<std::string>();
        const auto found = std::find(words.begin(), words.end(), word);
        if (found == words.end())
        {
            RefuseFlag("--" + row.name + " " + word, ns3::ListWords(words));
        }
        take(static_cast<std::size_t>(found - words.begin()));
    });
    return row;
}

FlagTable::Row&
FlagTable::AddIdle(const char* names, const std::string& help)
{
    Row& row = AddRow(FlagSubject::Output, names, po::value<std::string>(), help);
    row.idle = "is accepted and has no effect";
    row.hasEffect = [] { return false; };
    return row;
}

std::string
FlagTable::KnownName(const std::string& written) const
{
    std::string dashed = written;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    std::string underscored = written;
    std::replace(underscored.begin(), underscored.end(), '-', '_');
    std::vector<std::string> candidates = {written, dashed, underscored};
    for (const Row& row : m_rows)
    {
        if (std::find(row.aliases.begin(), row.aliases.end(), dashed) != row.aliases.end())
        {
            candidates.push_back(row.name);
        }
    }
    if (const auto alias = ALIASES_OF_ALL.find(dashed); alias != ALIASES_OF_ALL.end())
    {
        candidates.push_back(alias->second);
    }
    for (const std::string& name : candidates)
    {
        if (name.size() > 1 && m_description.find_nothrow(name, false))
        {
            return name;
        }
    }
    return "";
}

/// @return the arguments with every known flag of several letters as --its-name
std::vector<std::string>
FlagTable::Normalise(const std::vector<std::string>& arguments) const
{
    std::vector<std::string> result;
    for (const std::string& argument : arguments)
    {
        const auto begin = argument.find_first_not_of('-');
        if (begin == 0 || begin > 2)
        {
            result.push_back(argument);
            continue;
        }
        const auto equals = argument.find('=');
        const std::string written = argument.substr(begin, equals - begin);
        const std::string name = KnownName(written);
        const std::string value = equals == std::string::npos ? "" : argument.substr(equals);
        if (!name.empty())
        {
            result.push_back("--" + name + value);
        }
        else if (begin == 1 && IsWord(written))
        {
            RefuseUnknown(argument);
        }
        else if (written.size() == 1 && !value.empty())
        {
            result.insert(result.end(), {argument.substr(0, equals), value.substr(1)});
        }
        else
        {
            result.push_back(argument);
        }
    }
    return result;
}

std::vector<std::string>
FlagTable::Read(const std::vector<std::string>& arguments)
{
    try
    {
        const auto style =
            po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
        const po::parsed_options parsed = po::command_line_parser(Normalise(arguments))
                                              .options(m_description)
                                              .style(style)
                                              .allow_unregistered()
                                              .run();
        RefuseNegatives(parsed);
        po::store(parsed, m_values);
        po::notify(m_values);
        m_given = parsed.options;
        return po::collect_unrecognized(parsed.options, po::include_positional);
    }
    catch (const po::error& error)
    {
        RefuseFlag(error.what(), "flags as --help says");
    }
}

void
FlagTable::RefuseTwice() const
{
    std::map<const void*, const Row*> firsts;
    for (const Row& row : m_rows)
    {
        if (!row.target || !IsGiven(row.name))
        {
            continue;
        }
        const auto [first, isFirst] = firsts.emplace(row.target, &row);
        if (!isFirst)
        {
            RefuseFlag(first->second->Spelt() + " and " + row.Spelt() + " are the same flag",
                       "one of them");
        }
    }
}

std::vector<std::string>
FlagTable::Check() const
{
    RefuseTwice();
    std::vector<std::string> warnings;
    for (const Row& row : m_rows)
    {
        for (const auto& check : row.checks)
        {
            if (IsGiven(row.name))
            {
                check();
            }
        }
    }
    for (const Row& row : m_rows)
    {
        if (row.hasEffect && IsGiven(row.name) && !row.hasEffect())
        {
            warnings.push_back("--" + row.name + " " + row.idle);
        }
    }
    return warnings;
}

std::vector<std::string>
FlagTable::GetModelFlags() const
{
    std::vector<std::string> flags;
    for (const auto& option : m_given)
    {
        if (option.unregistered)
        {
            flags.push_back(boost::algorithm::join(option.original_tokens, " "));
            continue;
        }
        const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&option](const Row& each) {
            return each.name == option.string_key;
        });
        if (row != m_rows.end() && row->subject != FlagSubject::Model)
        {
            continue;
        }
        if (option.value.empty())
        {
            flags.push_back(option.string_key);
        }
        for (const std::string& value : option.value)
        {
            flags.push_back(option.string_key + "=" + value);
        }
    }
    return flags;
}

nlohmann::ordered_json
FlagTable::GetRecorded() const
{
    auto recorded = nlohmann::ordered_json::object();
    for (const Row& row : m_rows)
    {
        if (!row.key.empty())
        {
            recorded[row.key] = row.value();
        }
    }
    return recorded;
}

std::string
FlagTable::Help() const
{
    std::ostringstream text;
    text << m_description;
    return text.str();
}

void
FlagTable::RefuseUnknown(const std::string& flag) const
{
    if (!flag.starts_with('-'))
    {
        RefuseFlag("argument '" + flag + "' belongs to no flag", "flags as --help says");
    }
    std::string name = flag.substr(0, flag.find('='));
    name.erase(0, name.find_first_not_of('-'));
    std::vector<std::string> known;
    for (const Row& row : m_rows)
    {
        known.push_back(row.name);
    }
    for (const auto& [alias, target] : ALIASES_OF_ALL)
    {
        if (m_description.find_nothrow(target, false))
        {
            known.push_back(alias);
        }
    }
    RefuseFlag("unknown flag '" + flag + "'",
               "a flag of --help" + ns3::NearestHint(name, known, "--"));
}

uint64_t
ParseSizeFlag(const std::string& flag, const std::string& text)
{
    int64_t unit = 1;
    std::string number = text;
    switch (text.empty() ? ' ' : std::toupper(static_cast<unsigned char>(text.back())))
    {
    case 'G':
        unit = 1 << 30;
        number.pop_back();
        break;
    case 'M':
        unit = 1 << 20;
        number.pop_back();
        break;
    case 'K':
        unit = 1 << 10;
        number.pop_back();
        break;
    default:
        break;
    }
    const auto bytes = ns3::ParseScaled(number, unit);
    if (!bytes)
    {
        RefuseFlag(flag + ": \"" + text + "\" is not a valid size",
                   "bytes, or a number with K, M or G");
    }
    return static_cast<uint64_t>(*bytes);
}

} // namespace AstraSim
