/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROGRAM_FLAGS_H
#define PROGRAM_FLAGS_H

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace AstraSim
{

/// @throw ns3::InputError about the command line
[[noreturn]] void RefuseFlag(const std::string& what, const std::string& expected);

/**
 * Read flags into the variables that @p description names.
 * @param[out] values what was given
 * @return arguments that are no known flag
 * @throw ns3::InputError for a value that cannot be read, or a negative number
 */
std::vector<std::string> ReadFlags(const std::vector<std::string>& arguments,
                                   const boost::program_options::options_description& description,
                                   boost::program_options::variables_map& values);

/// Refuse @p flag and name the nearest flag of @p description. @throw ns3::InputError
[[noreturn]] void RefuseUnknownFlag(const std::string& flag,
                                    const boost::program_options::options_description& description);

} // namespace AstraSim

#endif /* PROGRAM_FLAGS_H */
