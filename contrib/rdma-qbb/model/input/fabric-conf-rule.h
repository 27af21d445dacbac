/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_RULE_H
#define FABRIC_CONF_RULE_H

#include "fabric-conf.h"

#include "ns3/input-lines.h"

#include <functional>
#include <string>
#include <vector>

namespace ns3
{

/// A key of the configuration, how to describe it, and how to read it.
struct FabricConfKeyRule
{
    FabricConfKey key;
    /// Reads the current line's values into the configuration, or fails naming key and range; empty
    /// for keys that stand for attributes.
    std::function<void(FabricConf& conf, const InputLines& line)> set;
    /// Writes the values in force as the file would have them; empty if there are none.
    std::function<std::string(const FabricConf& conf)> get;
    /// What the line sets, for keys that stand for attributes; or fails.
    std::function<std::vector<AttributeSetting>(const FabricConf& conf, const InputLines& line)>
        settings{};
    /// Writes the value of an attribute that the key stands for as the file would have it.
    std::function<std::string(const Ptr<const AttributeValue>& value)> textOf{};
    const char* sameAs{nullptr}; ///< the key that it is another name of: the last of them counts
};

} // namespace ns3

#endif /* FABRIC_CONF_RULE_H */
