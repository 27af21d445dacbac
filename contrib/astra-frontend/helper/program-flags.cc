/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "program-flags.h"

#include "ns3/input-error.h"
#include "ns3/nearest-name.h"

#include <cctype>

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

} // namespace

void
RefuseFlag(const std::string& what, const std::string& expected)
{
    throw ns3::InputError("command line", 0, what, expected);
}

std::vector<std::string>
ReadFlags(const std::vector<std::string>& arguments,
          const po::options_description& description,
          po::variables_map& values)
{
    try
    {
        const auto style =
            po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
        const auto parsed = po::command_line_parser(arguments)
                                .options(description)
                                .style(style)
                                .allow_unregistered()
                                .run();
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

void
RefuseUnknownFlag(const std::string& flag, const po::options_description& description)
{
    std::string name = flag.substr(0, flag.find('='));
    name.erase(0, name.find_first_not_of('-'));
    std::vector<std::string> known;
    for (const auto& option : description.options())
    {
        known.push_back(option->long_name());
    }
    RefuseFlag("unknown flag '" + flag + "'",
               "a flag of --help; the nearest is --" + ns3::NearestName(name, known));
}

} // namespace AstraSim
