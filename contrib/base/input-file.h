/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INPUT_FILE_H
#define INPUT_FILE_H

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

namespace ns3
{

/**
 * @file
 * The one way in which input files are opened. The answer is a stream or an InputError that names
 * the obstacle: a directory, a device, a loop of symbolic links, nothing.
 */

/// Largest file that is read as a whole.
inline constexpr uint64_t LARGEST_WHOLE_INPUT = uint64_t{256} << 20;

/**
 * @param path of a file, or /dev/null for an empty one
 * @param expected a description of the file, for the error
 * @throw InputError unless it is a file that can be read
 */
void CheckInputFile(const std::string& path, const std::string& expected = "a file");

/// Open a file as above, in binary. @return never null
std::unique_ptr<std::istream> OpenInputFile(const std::string& path,
                                            const std::string& expected = "a file");

/// @return all of a file @throw InputError as above, or if it is over LARGEST_WHOLE_INPUT bytes
std::string ReadInputFile(const std::string& path, const std::string& expected = "a file");

/// @return whether a path leads to anything; false, not an exception, where that cannot be known
bool InputExists(const std::string& path);

} // namespace ns3

#endif /* INPUT_FILE_H */
