/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_FORMAT_H
#define FABRIC_CONF_FORMAT_H

#include "fabric-conf.h"

#include "ns3/rows.h"

#include <cstddef>
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

namespace conf_format
{

/// A key of the configuration: its row, and its part in a fabric.
struct KeyRow : Row
{
    std::string type{};                    ///< "flag", "microseconds", ...
    std::vector<std::string> attributes{}; ///< that it stands for; the first has the value in force
    bool hasEffect{true};                  ///< false: accepted for compatibility only
    std::string sameAs{}; ///< the key that it is another name of: the last one counts
    std::size_t place{0}; ///< of that key, or of this one, in the order in which they are applied
    /// A warning that it is idle comes also if a file has the key: it is no parameter of one
    /// algorithm among others, which a file lists in case it is chosen.
    bool isToldOfFiles{false};
    const ParameterNote* note{nullptr}; ///< of the member that has the value; null: there is none
    /// @return the value in force as the file would have it; empty if there is none
    std::function<std::string()> getInForce{};
};

} // namespace conf_format

/**
 * @ingroup rdma-qbb
 * @brief Notation of the values of a key.
 *
 * A format without `fields` and `take` accepts anything, without effect.
 */
struct FabricConfFormat
{
    using Values = std::vector<FabricConfValue>;
    using Fields = std::vector<std::string>;
    using Settings = std::vector<AttributeSetting>;

    std::string type;  ///< as KeyRow has it
    std::string range; ///< legal values, for people
    /// Read the fields of a line, of which there are as many: nullopt if a text is illegal.
    std::vector<std::function<std::optional<FabricConfValue>(std::string_view text)>> fields{};
    /// Writes a line's only value. Empty: WriteValue() does.
    std::function<std::string(const FabricConfValue& value)> write{};
    bool hasBlanks{false}; ///< the only value reaches to the end of the line
    /// Put the values where they belong; empty: the only value is the field's or the attributes'.
    std::function<Settings(FabricConf& conf,
                           const Values& values,
                           const Fields& fields,
                           const conf_format::KeyRow& key)>
        take{};
    /// @return the values in force that `take` has put somewhere
    std::function<std::string(const FabricConf& conf, const conf_format::KeyRow& key)> get{};
    std::string defaultValue{}; ///< of the key that `take` reads
    std::size_t optional{0};    ///< of the fields, the last ones, which a line may leave out
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
FabricConfFormat Nanos();
/// Seconds, which may be more than the clock can hold.
FabricConfFormat StopTime();
FabricConfFormat Rate();
/// MiB up to 1023, bytes from there.
FabricConfFormat BufferSize();
/// 0 means the same as 1.
FabricConfFormat AckInterval();
FabricConfFormat Path();
FabricConfFormat OneOf(const Words& words);
/// A word, or the TypeId name of a class derived from @p base. @param range of the words
FabricConfFormat PlugIn(const char* type,
                        const std::string& range,
                        const char* base,
                        const Words& words);
/// `ENGINE classes...`: groups with collectives that an engine carries out.
FabricConfFormat CollectiveEngine();
/// `n` and n pairs of a link rate and a value.
FabricConfFormat ByRate(const Scale& scale);
/// `priority weight`: the share of a priority; may be repeated.
FabricConfFormat QueueWeight();
/// The TypeId name of a class derived from RdmaTransport, or roce, or UEC: that chooses congestion
/// control, loss recovery and buffer policy of Ultra Ethernet, too, and takes PFC away.
FabricConfFormat ChosenTransport();
/// rud, rudi or rod: the delivery of Ultra Ethernet.
FabricConfFormat UltraEthernetDelivery();

/// nscc, rccc or both: the congestion control of Ultra Ethernet.
FabricConfFormat UltraEthernetCongestion();
/// The name of a SwitchModel, which has the buffer and the thresholds of all network switches.
FabricConfFormat ChosenSwitchModel();
/// 0 takes PFC from all priorities, 1 leaves it to those that carry RDMA.
FabricConfFormat PfcEnabled();
/// `policy switches...`: ROUTING for some switches; may be repeated.
FabricConfFormat RoutingAt(const Words& policies);
/// `value links...`: LINK_RETRY or LINK_CREDITS for some links; may be repeated.
/// @param most largest legal value @param member keeps the choices
FabricConfFormat LinksAt(const char* value,
                         int64_t most,
                         Parameter<std::vector<FabricConf::LinkChoice>> FabricConf::*member);
/// The TypeId name of a class derived from FabricMonitor; may be repeated.
FabricConfFormat Monitor();
/// `class plane`: the plane that a class of traffic takes; may be repeated.
FabricConfFormat PlaneOfClass();
/// `t a b [n]`: at t microseconds the links between nodes a and b change, or the nth of them;
/// `0 0 0` means none.
FabricConfFormat ChangeOfLink(bool up);
/// `t a b rate [n]`: at t microseconds they have another rate.
FabricConfFormat RateOfLink();
/// `t node`: at t microseconds all links of a node change.
FabricConfFormat ChangeOfNode(bool up);

/// @return a number or a text as a configuration writes it
std::string WriteValue(const FabricConfValue& value);

/// @return the words as a sentence lists them: "a or b"
std::string Listed(const Words& words);

/// @throw InputError that the key, which was given last, cannot be @p value
[[noreturn]] void Refuse(const FabricConf& conf, const KeyRow& key, std::string_view value);

} // namespace conf_format

} // namespace ns3

#endif /* FABRIC_CONF_FORMAT_H */
