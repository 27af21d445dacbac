/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_KEYS_H
#define IDLE_KEYS_H

#include "fabric-conf.h"

#include <string>
#include <vector>

namespace ns3
{

/// A default of an attribute that a flag or the environment gives.
struct GivenAttribute
{
    std::string name;   ///< ns3::RdmaHw::Mtu
    std::string origin; ///< the flag, or the variable of the environment and the name
};

/**
 * @brief Keys that a flag gives (`--set`), and attributes, that change nothing.
 *
 * They change nothing if nobody read them, if another flag replaces them, or if other keys make
 * them idle: a parameter of an algorithm that is not chosen, a threshold where nothing is marked.
 * Of the keys in a file, only those that choose planes or engines are looked at: a configuration
 * lists the parameters of all algorithms.
 *
 * Call it when all that follows the configuration is made.
 *
 * @return a warning for each
 */
std::vector<std::string> DescribeIdle(const FabricConf& conf,
                                      const std::vector<GivenAttribute>& attributes,
                                      const ConfUse& use);

/// @throw InputError if a flag gives a key (`--set`) and another the attribute that it stands for
void RefuseSetTwice(const FabricConf& conf, const std::vector<GivenAttribute>& attributes);

} // namespace ns3

#endif /* IDLE_KEYS_H */
