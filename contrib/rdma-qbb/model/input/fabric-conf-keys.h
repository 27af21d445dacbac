/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_KEYS_H
#define FABRIC_CONF_KEYS_H

#include "fabric-conf-format.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3::conf_format
{

/// The member of FabricConf that has a key's value; empty functions: there is none, or its format
/// has functions of its own.
struct Member
{
    std::function<void(FabricConf& conf, const FabricConfValue& value)> set;
    std::function<std::optional<FabricConfValue>(const FabricConf& conf)> get;
    std::function<const ParameterNote&(const FabricConf& conf)> note;
};

/// @return why a key changes nothing beside other keys: "without HAS_WIN"; empty if it does
using IdleReason = std::function<std::string(const FabricConf& conf, const ConfUse& use)>;

/// Writes the value of a key for a run's record.
enum class KeyTold : uint8_t
{
    InForce,  ///< as it is in force
    OfChosen, ///< as the chosen congestion control has it, as each has a default of its own
    Never,    ///< not shown: another key includes it
};

/// A key of the configuration: its legal values, and where they go.
struct KeyRow
{
    FabricConfKey key;
    FabricConfFormat format;
    Member field; ///< of a key that stands for no attribute
    /// Flags that get a value of their own when the key is given.
    std::vector<std::pair<std::string, bool>> alongside;
    std::string sameAs; ///< the key that it is another name of: the last one counts
    KeyTold told;
    std::vector<IdleReason> idle; ///< the first that is not empty counts
    /// A warning says so also if a file has the key: it is no parameter of one algorithm among
    /// others, which a file lists in case it is chosen.
    bool isToldOfFiles;

    /// Read the line's values. @return the new defaults of attributes
    /// @throw InputError naming key and range
    std::vector<AttributeSetting> Set(FabricConf& conf, const InputLines& line) const;

    /// @return the values in force as the file would have them; empty if there are none
    std::string Get(const FabricConf& conf) const;
};

/// @return the rows of all keys, in the order of the documentation
const std::vector<KeyRow>& AllRows();

/// @return the place of the key's row among AllRows(); their number if there is none
std::size_t PlaceOf(std::string_view name);

} // namespace ns3::conf_format

#endif /* FABRIC_CONF_KEYS_H */
