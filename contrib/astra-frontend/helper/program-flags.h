/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROGRAM_FLAGS_H
#define PROGRAM_FLAGS_H

#include <boost/program_options.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace AstraSim
{

/// @throw ns3::InputError about the command line
[[noreturn]] void RefuseFlag(const std::string& what, const std::string& expected);

/// Other names of flags, with dashes for underscores, and the names they stand for.
using FlagAliases = std::map<std::string, std::string>;

/// A sentence for --help on what ReadFlags() accepts.
inline constexpr const char* SPELLING_NOTE =
    "\nFlags of several letters take one dash or two, and _ or - within.\n";

/**
 * Read flags into the variables that @p description names. All programs spell flags alike: a flag
 * of several letters has one dash or two, and underscores or dashes within; --topology and --topo
 * are --network-topo, --conf and --config are --network-conf, where a program has these.
 * @param[out] values what was given
 * @param aliases of this program, besides those of all
 * @return arguments that are no known flag
 * @throw ns3::InputError for a value that cannot be read, a negative number, or an unknown word
 * with one dash
 */
std::vector<std::string> ReadFlags(const std::vector<std::string>& arguments,
                                   const boost::program_options::options_description& description,
                                   boost::program_options::variables_map& values,
                                   const FlagAliases& aliases = {});

/**
 * @param arguments as ReadFlags() has read them
 * @param others names that are left out
 * @return the flags that were given, unknown ones included, however they were spelt: "name", or
 * "name=value" for each value, in order
 */
std::vector<std::string> FlagsBut(const std::vector<std::string>& arguments,
                                  const boost::program_options::options_description& description,
                                  const std::set<std::string>& others);

/**
 * @param flag that has it, for the error
 * @return bytes of a size as nccl-tests reads it: 8, 1.5K, 32M, 1G
 * @throw ns3::InputError if it is none
 */
uint64_t ParseSizeFlag(const std::string& flag, const std::string& text);

/// Refuse @p flag and name the nearest flag of @p description. @throw ns3::InputError
[[noreturn]] void RefuseUnknownFlag(const std::string& flag,
                                    const boost::program_options::options_description& description);

} // namespace AstraSim

#endif /* PROGRAM_FLAGS_H */
