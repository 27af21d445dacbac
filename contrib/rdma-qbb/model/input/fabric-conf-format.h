/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_FORMAT_H
#define FABRIC_CONF_FORMAT_H

#include "fabric-conf.h"

#include "ns3/input-lines.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ns3
{

/// One value of a configuration: a flag, a count, picoseconds or bit/s; a real number; a text.
using FabricConfValue = std::variant<int64_t, double, std::string>;

/**
 * @ingroup rdma-qbb
 * @brief Notation of the values of a key.
 *
 * A format without `fields` and `take` accepts anything, without effect.
 */
struct FabricConfFormat
{
    using Values = std::vector<FabricConfValue>;
    using Settings = std::vector<AttributeSetting>;

    std::string type;  ///< as FabricConfKey has it
    std::string range; ///< as FabricConfKey has it
    /// Read the fields of a line, of which there are as many: nullopt if a text is illegal.
    std::vector<std::function<std::optional<FabricConfValue>(std::string_view text)>> fields{};
    /// Write the only value; empty: as WriteValue() does.
    std::function<std::string(const FabricConfValue& value)> write{};
    bool hasBlanks{false}; ///< the only value reaches to the end of the line
    /// Put the values where they belong; empty: the only value is the field's or the attributes'.
    std::function<
        Settings(FabricConf&, const Values&, const InputLines& line, const FabricConfKey& key)>
        take{};
    /// @return the values in force that `take` has put somewhere
    std::function<std::string(const FabricConf& conf, const FabricConfKey& key)> get{};
    std::string defaultValue{}; ///< of the key that `take` reads
};

/// The formats of keys.
namespace conf_format
{

/// A word of a configuration, and the text of the attribute that it stands for.
using Words = std::vector<std::pair<std::string, std::string>>;

/// A real number of 0 or more.
struct Scale
{
    double unit;       ///< of the attribute that 1 in the file stands for
    double most;       ///< largest legal value in the file
    const char* range; ///< legal values, for people
};

FabricConfFormat Flag();
FabricConfFormat Whole(const char* type, int64_t lowest, int64_t highest);
/// @param lowest is legal itself if @p withLowest
FabricConfFormat Real(double lowest, double highest, bool withLowest);
FabricConfFormat Scaled(const char* type, const Scale& scale);
FabricConfFormat Micros(bool mayBeZero);
/// Seconds, which may be more than the clock can hold.
FabricConfFormat StopTime();
FabricConfFormat Rate();
/// MiB up to 1023, bytes from there.
FabricConfFormat BufferSize();
/// 0 means the same as 1.
FabricConfFormat AckInterval();
FabricConfFormat Path();
FabricConfFormat OneOf(const Words& words);
/// A word, or the TypeId name of a class derived from @p base.
FabricConfFormat PlugIn(const char* type, std::string range, const char* base, const Words& words);
/// `ENGINE classes...`: groups with collectives that an engine carries out.
FabricConfFormat CollectiveEngine();
/// `n` and n pairs of a link rate and a value.
FabricConfFormat ByRate(const Scale& scale);
/// `priority weight`: the share of a priority; may be repeated.
FabricConfFormat QueueWeight();
/// 0 takes PFC from all priorities, 1 leaves it to those that carry RDMA.
FabricConfFormat PfcEnabled();
/// `policy switches...`: ROUTING for some switches; may be repeated.
FabricConfFormat RoutingAt(const Words& policies);
/// The TypeId name of a class derived from FabricMonitor; may be repeated.
FabricConfFormat Monitor();
/// `class plane`: the plane that a class of traffic takes; may be repeated.
FabricConfFormat PlaneOfClass();
/// `t a b`: at t microseconds the link between nodes a and b changes; `0 0 0` means none.
FabricConfFormat ChangeOfLink(bool up);
/// `t node`: at t microseconds all links of a node change.
FabricConfFormat ChangeOfNode(bool up);

/// @return a number or a text as a configuration writes it
std::string WriteValue(const FabricConfValue& value);

/// @return the words as a sentence lists them: "a or b"
std::string Listed(const Words& words);

/// @throw InputError that the key cannot be @p value
[[noreturn]] void Refuse(const InputLines& line, const FabricConfKey& key, std::string_view value);

} // namespace conf_format

} // namespace ns3

#endif /* FABRIC_CONF_FORMAT_H */
