/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_KEYS_H
#define FABRIC_CONF_KEYS_H

#include "fabric-conf-rule.h"

#include <vector>

namespace ns3
{

/// @return the rules of all keys, in the order of the documentation
const std::vector<FabricConfKeyRule>& FabricConfRules();

} // namespace ns3

#endif /* FABRIC_CONF_KEYS_H */
