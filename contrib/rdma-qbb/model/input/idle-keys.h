/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_KEYS_H
#define IDLE_KEYS_H

#include "fabric-conf.h"

#include <functional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @brief Keys that a flag gives (`--set`), and that change nothing.
 *
 * Keys in a file are not looked at: a configuration lists the parameters of all algorithms.
 *
 * @param conf the configuration
 * @param reason says why a key changes nothing, such as "without ENABLE_TRACE"; empty if it does
 * @return a warning for each
 */
std::vector<std::string> DescribeIdleKeys(
    const FabricConf& conf,
    const std::function<std::string(const FabricConfKey& key)>& reason);

/// A default of an attribute that a flag or the environment gives.
struct GivenAttribute
{
    std::string name;   ///< ns3::RdmaHw::Mtu
    std::string origin; ///< the flag, or the variable of the environment and the name
};

/**
 * @brief The same of attributes.
 * @param attributes those that were given
 * @param reason as for DescribeIdleKeys(); asked about each key that stands for an attribute, or
 * about a nameless one
 * @return a warning for each that changes nothing
 */
std::vector<std::string> DescribeIdleAttributes(
    const std::vector<GivenAttribute>& attributes,
    const std::function<std::string(const FabricConfKey& key)>& reason);

/// @throw InputError if a flag gives a key (`--set`) and another the attribute that it stands for
void RefuseSetTwice(const FabricConf& conf, const std::vector<GivenAttribute>& attributes);

/**
 * Keys that other keys make idle: a parameter of an algorithm that is not chosen, a threshold where
 * nothing is marked. Call it when what was given is in force (FabricConf::Apply()).
 *
 * @return why the key changes nothing, for DescribeIdleKeys(); empty if it does
 */
std::string ReasonToBeIdle(const FabricConf& conf, const FabricConfKey& key);

} // namespace ns3

#endif /* IDLE_KEYS_H */
