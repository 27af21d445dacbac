/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INPUT_PATH_H
#define INPUT_PATH_H

#include <string>

namespace ns3
{

/**
 * Find an input named in a configuration file. Such files travel between machines and trees, so the
 * path is tried as it is, then from the configuration file's directory, then by its base name
 * there.
 * @param path as the configuration says; not empty
 * @param confFile the configuration file
 * @return the first of these that exists, or an empty string
 */
std::string FindInput(const std::string& path, const std::string& confFile);

} // namespace ns3

#endif /* INPUT_PATH_H */
