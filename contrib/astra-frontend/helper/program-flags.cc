/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "program-flags.h"

#include "ns3/input-error.h"
#include "ns3/nearest-name.h"
#include "ns3/units.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <cctype>
#include <set>

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

/// What a flag is called in some programs or simulators, and its name here.
const FlagAliases ALIASES_OF_ALL = {
    {"topo", "network-topo"},
    {"topology", "network-topo"},
    {"conf", "network-conf"},
    {"config", "network-conf"},
};

/// @return the name that a description has for a flag, or an empty string
std::string
KnownName(const std::string& written,
          const po::options_description& description,
          const FlagAliases& aliases)
{
    std::string dashed = written;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    std::string underscored = written;
    std::replace(underscored.begin(), underscored.end(), '-', '_');
    std::vector<std::string> candidates = {written, dashed, underscored};
    for (const FlagAliases* names : {&aliases, &ALIASES_OF_ALL})
    {
        if (const auto alias = names->find(dashed); alias != names->end())
        {
            candidates.push_back(alias->second);
        }
    }
    for (const std::string& name : candidates)
    {
        if (name.size() > 1 && description.find_nothrow(name, false))
        {
            return name;
        }
    }
    return "";
}

/// A letter's value may follow it at once, as in -t16 and -w./micro.txt, but -network is not -n
/// with the value etwork.
bool
IsWord(const std::string& written)
{
    return written.size() > 1 && std::isalpha(static_cast<unsigned char>(written[1]));
}

/// @return the arguments with every known flag of several letters as --its-name
std::vector<std::string>
Normalise(const std::vector<std::string>& arguments,
          const po::options_description& description,
          const FlagAliases& aliases)
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
        const std::string name = KnownName(written, description, aliases);
        const std::string value = equals == std::string::npos ? "" : argument.substr(equals);
        if (!name.empty())
        {
            result.push_back("--" + name + value);
        }
        else if (begin == 1 && IsWord(written))
        {
            RefuseUnknownFlag(argument, description);
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

po::parsed_options
ParseFlags(const std::vector<std::string>& arguments,
           const po::options_description& description,
           const FlagAliases& aliases)
{
    const auto style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    return po::command_line_parser(Normalise(arguments, description, aliases))
        .options(description)
        .style(style)
        .allow_unregistered()
        .run();
}

} // namespace

void
RefuseFlag(const std::string& what, const std::string& expected)
{
    throw ns3::InputError("command line", 0, what, expected);
}

std::vector<std::string>
ReadFlags(const std::vector<std::string>& arguments,
          const po::options_description& description,
          po::variables_map& values,
          const FlagAliases& aliases)
{
    try
    {
        const po::parsed_options parsed = ParseFlags(arguments, description, aliases);
        RefuseNegatives(parsed);
        po::store(parsed, values);
        po::notify(values);
        return po::collect_unrecognized(parsed.options, po::include_positional);
    }
    catch (const po::error& error)
    {
        RefuseFlag(error.what(), "flags as --help says");
    }
}

std::vector<std::string>
FlagsBut(const std::vector<std::string>& arguments,
         const po::options_description& description,
         const std::set<std::string>& others)
{
    std::vector<std::string> flags;
    for (const auto& option : ParseFlags(arguments, description, {}).options)
    {
        if (others.contains(option.string_key))
        {
            continue;
        }
        if (option.unregistered)
        {
            flags.push_back(boost::algorithm::join(option.original_tokens, " "));
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

void
RefuseUnknownFlag(const std::string& flag, const po::options_description& description)
{
    if (!flag.starts_with('-'))
    {
        RefuseFlag("argument '" + flag + "' belongs to no flag", "flags as --help says");
    }
    std::string name = flag.substr(0, flag.find('='));
    name.erase(0, name.find_first_not_of('-'));
    std::vector<std::string> known;
    for (const auto& option : description.options())
    {
        known.push_back(option->long_name());
    }
    for (const auto& [alias, target] : ALIASES_OF_ALL)
    {
        if (description.find_nothrow(target, false))
        {
            known.push_back(alias);
        }
    }
    RefuseFlag("unknown flag '" + flag + "'",
               "a flag of --help" + ns3::NearestHint(name, known, "--"));
}

} // namespace AstraSim
