/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_KEYS_H
#define IDLE_KEYS_H

#include "fabric-conf.h"

#include <functional>
#include <string>
#include <string_view>
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

/**
 * Keys that other keys make idle: a parameter of an algorithm that is not chosen, a threshold where
 * nothing is marked. Call it when what was given is in force (FabricConf::Apply()).
 *
 * @return why the key changes nothing, for DescribeIdleKeys(); empty if it does
 */
std::string ReasonToBeIdle(const FabricConf& conf, const FabricConfKey& key);

/// @return whether a key is a parameter of some congestion control or loss recovery
bool IsOfPlugIn(const FabricConfKey& key);

/// @return whether one of the attributes that a key stands for belongs to such a class
/// @param prefixes beginnings of names, such as "ns3::SwitchMmu::"
bool StandsForAny(const FabricConfKey& key, const std::vector<std::string_view>& prefixes);

} // namespace ns3

#endif /* IDLE_KEYS_H */
