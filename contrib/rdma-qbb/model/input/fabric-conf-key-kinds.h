/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_KEY_KINDS_H
#define FABRIC_CONF_KEY_KINDS_H

#include "fabric-conf-rule.h"

#include "ns3/boolean.h"
#include "ns3/clock-range.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/queue-weights.h"
#include "ns3/rate-map.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/**
 * @file
 * Kinds of configuration keys: each function makes the rule of a key from its name, the member of
 * FabricConf that holds it, its legal range and a sentence; here those of one value. Included by
 * the table of keys only.
 */

namespace ns3::conf_keys
{

using Rule = FabricConfKeyRule;

inline constexpr int64_t PS_PER_US = 1'000'000;

[[noreturn]] inline void
Refuse(const InputLines& line, const FabricConfKey& key, std::string_view value)
{
    line.Fail(key.name + " cannot be '" + std::string(value) + "'", key.type + ", " + key.range);
}

/// Refuse a line that has not @p count values after its key.
inline void
RequireValues(const InputLines& line, const FabricConfKey& key, std::size_t count)
{
    const std::size_t values = line.Fields().size() - 1;
    if (values != count)
    {
        line.Fail(key.name + " has " + std::to_string(values) + " values",
                  (count == 1 ? "one" : std::to_string(count)) + ": " + key.type);
    }
}

/// @return the only value of the line
inline std::string_view
One(const InputLines& line, const FabricConfKey& key)
{
    RequireValues(line, key, 1);
    return line.Fields()[1];
}

/// @return the shortest text that reads back as the value
inline std::string
Text(double value)
{
    std::array<char, 32> text;
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end};
}

/**
 * Gives a rule to a key of one value.
 * @param parse reads the value; returns nullopt for what is illegal
 * @param format writes the value as parse reads it
 */
template <typename Member, typename Parse, typename Format>
Rule
Single(FabricConfKey key, Member member, Parse parse, Format format)
{
    key.defaultValue = format(FabricConf{}.*member);
    const auto set = [key, member, parse](FabricConf& conf, const InputLines& line) {
        const std::string_view text = One(line, key);
        const auto value = parse(text);
        if (!value)
        {
            Refuse(line, key, text);
        }
        conf.*member = *value;
    };
    const auto get = [member, format](const FabricConf& conf) {
        return std::string(format(conf.*member));
    };
    return {std::move(key), set, get};
}

/// @return a whole number; it may end in ".0", as Python's division writes it
inline std::optional<uint64_t>
ParseWhole(std::string_view text)
{
    const std::size_t point = std::min(text.find('.'), text.size());
    const bool isWhole = text.find_first_not_of('0', point + 1) == std::string_view::npos;
    return isWhole ? ParseUnsigned(text.substr(0, point)) : std::nullopt;
}

inline std::optional<bool>
ParseFlag(std::string_view text)
{
    const auto value = ParseWhole(text);
    return value && *value <= 1 ? std::optional(*value == 1) : std::nullopt;
}

inline Rule
Flag(const char* name, bool FabricConf::*member, const char* description)
{
    return Single({name, "flag", "0 or 1", "", description, true},
                  member,
                  ParseFlag,
                  [](bool value) { return value ? "1" : "0"; });
}

/// What a whole number may be.
struct WholeRange
{
    uint64_t lowest;
    uint64_t highest;

    std::string Text() const
    {
        return "from " + std::to_string(lowest) + " to " + std::to_string(highest);
    }

    std::optional<uint64_t> Parse(std::string_view text) const
    {
        const auto value = ParseWhole(text);
        return value && *value >= lowest && *value <= highest ? value : std::nullopt;
    }
};

template <typename Number>
Rule
Whole(const char* name,
      Number FabricConf::*member,
      WholeRange range,
      const char* type,
      const char* description)
{
    return Single(
        {name, type, range.Text(), "", description, true},
        member,
        [range](std::string_view text) { return range.Parse(text); },
        [](uint64_t value) { return std::to_string(value); });
}

inline std::string
MicrosOf(int64_t ps)
{
    return Text(static_cast<double>(ps) / PS_PER_US);
}

inline std::string
MicrosOf(const std::optional<int64_t>& ps)
{
    return ps ? MicrosOf(*ps) : "";
}

inline std::optional<int64_t>
ParseMicros(std::string_view text, bool mayBeZero)
{
    const auto value = ParseScaled(text, PS_PER_US);
    return value == 0 && !mayBeZero ? std::nullopt : value;
}

template <typename Time>
Rule
Micros(const char* name, Time FabricConf::*member, bool mayBeZero, const char* description)
{
    return Single(
        {name, "microseconds", mayBeZero ? "0 or more" : "above 0", "", description, true},
        member,
        [mayBeZero](std::string_view text) { return ParseMicros(text, mayBeZero); },
        [](const Time& value) { return MicrosOf(value); });
}

inline Rule
File(const char* name, std::string FabricConf::*member, const char* description)
{
    FabricConfKey key{name, "file", "a path", FabricConf{}.*member, description, true};
    return {key,
            [member](FabricConf& conf, const InputLines& line) { conf.*member = line.RestFrom(1); },
            [member](const FabricConf& conf) { return conf.*member; }};
}

/// A key whose every value gives the same here.
inline Rule
CheckedOnly(const char* name, WholeRange range, const char* description)
{
    FabricConfKey key{name, "number", range.Text(), "", description, true};
    return {key,
            [key, range](FabricConf&, const InputLines& line) {
                const std::string_view text = One(line, key);
                if (!range.Parse(text))
                {
                    Refuse(line, key, text);
                }
            },
            [](const FabricConf&) { return std::string(); }};
}

/// A key that changes nothing here.
inline Rule
NoEffect(const char* name, const char* description)
{
    return {{name, "anything", "anything", "", description, false},
            [](FabricConf&, const InputLines&) {},
            [](const FabricConf&) { return std::string(); }};
}

inline Rule
StopTime()
{
    FabricConfKey key{"SIMULATOR_STOP_TIME",
                      "seconds",
                      "above 0; larger than the clock can hold (about 106 days): no limit",
                      "no limit",
                      "The simulation ends at this simulated time even if flows are left.",
                      true};
    return {key,
            [key](FabricConf& conf, const InputLines& line) {
                const std::string_view text = One(line, key);
                bool tooLarge = false;
                const auto value = ParseScaled(text, PS_PER_SECOND, &tooLarge);
                if ((!value && !tooLarge) || value == 0)
                {
                    Refuse(line, key, text);
                }
                conf.stopTimePs = value.value_or(TIME_PS_MAX);
            },
            [](const FabricConf& conf) {
                return conf.stopTimePs == TIME_PS_MAX
                           ? "no limit"
                           : Text(static_cast<double>(conf.stopTimePs) / PS_PER_SECOND);
            }};
}

// --- Kinds of configuration keys that stand for attributes of ns-3: each function makes
// the rule of a key from its name, the attributes, its legal range and a sentence.
// Included by the table of keys only.

/// The attributes that have a key's value; as FindAttributes() takes them.
using Attributes = std::vector<std::string>;

/// Attributes that get a value of their own when the key is given.
using Constants = std::vector<std::pair<std::string, bool>>;

/// @return the setting, or fails with the key's name and what the attribute takes
inline AttributeSetting
Checked(AttributeSetting setting, const InputLines& line, const FabricConfKey& key)
{
    if (!IsLegal(setting))
    {
        const auto declared = FindAttributes(setting.name);
        const Ptr<const AttributeChecker> checker =
            declared.empty() ? nullptr : declared.front().information.checker;
        line.Fail(key.name + " cannot be '" + std::string(line.RestFrom(1)) + "'",
                  checker ? "as " + setting.name + ": " + checker->GetUnderlyingTypeInformation()
                          : "a value that " + setting.name + " takes");
    }
    return setting;
}

inline int64_t
RawOf(const TimeValue& value)
{
    return value.Get().GetPicoSeconds();
}

inline uint64_t
RawOf(const DataRateValue& value)
{
    return value.Get().GetBitRate();
}

template <typename Value>
auto
RawOf(const Value& value)
{
    return value.Get();
}

inline Ptr<AttributeValue>
ValueOf(int64_t ps, const TimeValue*)
{
    return Create<TimeValue>(PicoSeconds(ps));
}

inline Ptr<AttributeValue>
ValueOf(uint64_t bps, const DataRateValue*)
{
    return Create<DataRateValue>(DataRate(bps));
}

template <typename Raw, typename Value>
Ptr<AttributeValue>
ValueOf(Raw raw, const Value*)
{
    return Create<Value>(raw);
}

/**
 * Gives a rule to a key whose one value attributes have.
 * @tparam Value type of the attributes
 * @param parse reads the value; returns nullopt for what is illegal
 * @param format writes the value as parse reads it
 */
template <typename Value, typename Parse, typename Format>
Rule
Attribute(FabricConfKey key,
          const Attributes& attributes,
          Parse parse,
          Format format,
          const Constants& constants = {})
{
    key.attributes = attributes;
    const auto textOf = [format](const Ptr<const AttributeValue>& value) {
        return std::string(format(RawOf(dynamic_cast<const Value&>(*value))));
    };
    const std::string first = attributes.front();
    key.defaultValue = textOf(GetOriginalDefault(first));
    const auto settings = [key, parse, constants](const FabricConf&, const InputLines& line) {
        const std::string_view text = One(line, key);
        const auto value = parse(text);
        if (!value)
        {
            Refuse(line, key, text);
        }
        std::vector<AttributeSetting> all;
        for (const std::string& attribute : key.attributes)
        {
            all.push_back(Checked({attribute, ValueOf(*value, static_cast<const Value*>(nullptr))},
                                  line,
                                  key));
        }
        for (const auto& [attribute, constant] : constants)
        {
            all.push_back({attribute, Create<BooleanValue>(constant)});
        }
        return all;
    };
    const auto get = [textOf, first](const FabricConf&) { return textOf(GetDefault(first)); };
    return {key, nullptr, get, settings, textOf};
}

inline Rule
Flag(const char* name, const char* attribute, const char* description)
{
    return Attribute<BooleanValue>({name, "flag", "0 or 1", "", description, true},
                                   {attribute},
                                   ParseFlag,
                                   [](bool value) { return value ? "1" : "0"; });
}

inline Rule
Micros(const char* name, const char* attribute, bool mayBeZero, const char* description)
{
    return Attribute<TimeValue>(
        {name, "microseconds", mayBeZero ? "0 or more" : "above 0", "", description, true},
        {attribute},
        [mayBeZero](std::string_view text) { return ParseMicros(text, mayBeZero); },
        [](int64_t ps) { return MicrosOf(ps); });
}

inline Rule
Whole(const char* name,
      const char* attribute,
      WholeRange range,
      const char* type,
      const char* description)
{
    return Attribute<UintegerValue>(
        {name, type, range.Text(), "", description, true},
        {attribute},
        [range](std::string_view text) { return range.Parse(text); },
        [](uint64_t value) { return std::to_string(value); });
}

/// What a real number may be.
struct RealRange
{
    double lowest;
    double highest;
    bool withLowest{true};

    std::string Describe() const
    {
        return (withLowest ? "from " : "above ") + Text(lowest) + " to " + Text(highest);
    }

    std::optional<double> Parse(std::string_view text) const
    {
        const auto value = ParseReal(text);
        const bool legal =
            value && *value >= lowest && *value <= highest && (withLowest || *value != lowest);
        return legal ? value : std::nullopt;
    }
};

inline Rule
Real(const char* name, const Attributes& attributes, RealRange range, const char* description)
{
    return Attribute<DoubleValue>(
        {name, "number", range.Describe(), "", description, true},
        attributes,
        [range](std::string_view text) { return range.Parse(text); },
        Text);
}

inline Rule
Rate(const char* name,
     const Attributes& attributes,
     const char* description,
     const Constants& constants = {})
{
    return Attribute<DataRateValue>(
        {name, "rate", "a rate with its unit, such as 50Mb/s", "", description, true},
        attributes,
        ParseRateWithUnit,
        FormatDataRate,
        constants);
}

/// A word of a configuration and what it means to the attribute.
using Words = std::vector<std::pair<const char*, const char*>>;

inline std::string
Listed(const Words& words)
{
    std::string legal;
    for (const auto& [word, meaning] : words)
    {
        legal += (legal.empty() ? "" : " or ") + std::string(word);
    }
    return legal;
}

/// @return the word for a meaning; the meaning itself if there is none
inline std::string
WordOf(const std::string& meaning, const Words& words)
{
    const auto named = std::find_if(words.begin(), words.end(), [&](const auto& each) {
        return each.second == meaning;
    });
    return named == words.end() ? meaning : named->first;
}

/// @return the TypeId's name that a word, or the name itself, stands for; nullopt if it is none of
/// a class that can be made and is derived from @p base
inline std::optional<std::string>
TypeNameOf(std::string_view text, const Words& words, const char* base)
{
    const auto number = ParseWhole(text);
    const std::string word = number ? std::to_string(*number) : std::string(text);
    const auto named = std::find_if(words.begin(), words.end(), [&](const auto& each) {
        return each.first == word;
    });
    std::string name = named == words.end() ? word : named->second;
    TypeId type;
    const bool exists = TypeId::LookupByNameFailSafe(name, &type) ||
                        TypeId::LookupByNameFailSafe(name = "ns3::" + name, &type);
    return exists && type.HasConstructor() && type.IsChildOf(TypeId::LookupByName(base))
               ? std::optional(name)
               : std::nullopt;
}

/// A rule whose value is a word of a few; the attribute is set by a text.
template <typename Meaning>
Rule
ByText(FabricConfKey key, const char* attribute, Meaning meaning, const Words& words)
{
    key.attributes = {attribute};
    const auto textOf = [words, attribute](const Ptr<const AttributeValue>& value) {
        const Ptr<const AttributeChecker> checker =
            FindAttributes(attribute).front().information.checker;
        return WordOf(value->SerializeToString(checker), words);
    };
    key.defaultValue = textOf(GetOriginalDefault(attribute));
    const auto settings = [key, meaning](const FabricConf&, const InputLines& line) {
        const std::string_view text = One(line, key);
        const std::optional<std::string> value = meaning(text);
        if (!value)
        {
            Refuse(line, key, text);
        }
        const AttributeSetting setting{key.attributes.front(), Create<StringValue>(*value)};
        return std::vector{Checked(setting, line, key)};
    };
    const auto get = [textOf, attribute](const FabricConf&) {
        return textOf(GetDefault(attribute));
    };
    return {key, nullptr, get, settings};
}

inline Rule
OneOf(const char* name, const char* attribute, const Words& words, const char* description)
{
    return ByText(
        {name, "word", Listed(words), "", description, true},
        attribute,
        [words](std::string_view text) -> std::optional<std::string> {
            const auto named = std::find_if(words.begin(), words.end(), [&](const auto& each) {
                return each.first == text;
            });
            return named == words.end() ? std::nullopt : std::optional<std::string>(named->second);
        },
        words);
}

/// A plug-in: a word of @p words, or the TypeId name of a class derived from @p base.
inline Rule
PlugIn(FabricConfKey key, const char* attribute, const char* base, const Words& words)
{
    return ByText(
        std::move(key),
        attribute,
        [words, base](std::string_view text) { return TypeNameOf(text, words, base); },
        words);
}

/// The words for routing policies.
inline const Words ROUTINGS{{"ecmp", "ns3::EcmpRouting"},
                            {"flowlet", "ns3::FlowletRouting"},
                            {"adaptive-flowlet", "ns3::AdaptiveFlowletRouting"},
                            {"adaptive", "ns3::AdaptiveRouting"},
                            {"spray", "ns3::SprayRouting"},
                            {"random-spray", "ns3::RandomSprayRouting"}};

// --- Kinds of configuration keys whose line has several values, or which may be repeated:
// routing by switch, planes of traffic, changes of links and nodes at a time. Included by
// the table of keys only.

/// @return a layer's name, a node id or a range of them
inline std::optional<FabricConf::RoutingPlace>
ParseRoutingPlace(std::string_view text)
{
    FabricConf::RoutingPlace place;
    place.text = text;
    constexpr std::array<std::string_view, 3> LAYERS{"asw", "psw", "core"};
    const auto layer = std::find(LAYERS.begin(), LAYERS.end(), text);
    if (layer != LAYERS.end())
    {
        place.layer = static_cast<uint32_t>(layer - LAYERS.begin()) + 1;
        return place;
    }
    const std::size_t dash = text.find('-');
    const auto first = ParseWhole(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseWhole(text.substr(dash + 1));
    if (!first || !last || *first > *last || *last > UINT32_MAX)
    {
        return std::nullopt;
    }
    place.first = static_cast<uint32_t>(*first);
    place.last = static_cast<uint32_t>(*last);
    return place;
}

/// `policy switches...`: ROUTING for some switches; may be repeated.
inline Rule
RoutingAt(const char* name, const char* description)
{
    FabricConfKey key{name,
                      "policy and switches",
                      "a word of ROUTING, then asw, psw, core, node ids or ranges of them such as "
                      "40-47; may be repeated",
                      "",
                      description,
                      true};
    return {key,
            [key](FabricConf& conf, const InputLines& line) {
                const auto& fields = line.Fields();
                const auto policy = TypeNameOf(fields[1], ROUTINGS, "ns3::RoutingPolicy");
                if (!policy)
                {
                    Refuse(line, key, fields[1]);
                }
                if (fields.size() < 3)
                {
                    line.Fail(key.name + " names no switches", key.range);
                }
                FabricConf::RoutingChoice choice{*policy, {}, line.Line()};
                for (std::size_t i = 2; i < fields.size(); ++i)
                {
                    const auto place = ParseRoutingPlace(fields[i]);
                    if (!place)
                    {
                        Refuse(line, key, fields[i]);
                    }
                    choice.places.push_back(*place);
                }
                conf.routingAt.push_back(std::move(choice));
            },
            [](const FabricConf& conf) {
                std::string text;
                for (const FabricConf::RoutingChoice& choice : conf.routingAt)
                {
                    text += (text.empty() ? "" : "; ") + WordOf(choice.policy, ROUTINGS);
                    for (const FabricConf::RoutingPlace& place : choice.places)
                    {
                        text += " " + place.text;
                    }
                }
                return text;
            }};
}

/// `class plane`: the plane that a class of traffic takes; may be repeated.
inline Rule
PlaneOfClass(const char* name, const char* description)
{
    FabricConfKey key{
        name,
        "class of traffic and a number",
        "TP, DP, EP, DP_EP, PP, CP, CUSTOM, MESSAGES or KV, then a NIC of the hosts from 0; "
        "may be repeated",
        "",
        description,
        true};
    return {key,
            [key](FabricConf& conf, const InputLines& line) {
                RequireValues(line, key, 2);
                const auto plane = ParseWhole(line.Fields()[2]);
                if (!plane || *plane > UINT16_MAX)
                {
                    Refuse(line, key, line.Fields()[2]);
                }
                conf.planes.push_back(
                    {std::string(line.Fields()[1]), static_cast<uint32_t>(*plane), line.Line()});
            },
            [](const FabricConf& conf) {
                std::string text;
                for (const FabricConf::PlaneChoice& choice : conf.planes)
                {
                    text += (text.empty() ? "" : "; ") + choice.trafficClass + " " +
                            std::to_string(choice.plane);
                }
                return text;
            }};
}

/// `t a b`: at t microseconds the link between nodes a and b changes; `0 0 0` means none.
inline Rule
LinkTurns(const char* name, bool up, const char* description)
{
    FabricConfKey key{name,
                      "microseconds and two node ids",
                      "0 0 0 for none; may be repeated",
                      "0 0 0",
                      description,
                      true};
    return {
        key,
        [key, up](FabricConf& conf, const InputLines& line) {
            const auto& fields = line.Fields();
            RequireValues(line, key, 3);
            const auto timePs = ParseScaled(fields[1], PS_PER_US);
            const auto a = ParseWhole(fields[2]);
            const auto b = ParseWhole(fields[3]);
            for (std::size_t i = 1; i < 4; ++i)
            {
                if ((i == 1 && !timePs) || (i == 2 && (!a || *a > UINT32_MAX)) ||
                    (i == 3 && (!b || *b > UINT32_MAX)))
                {
                    Refuse(line, key, fields[i]);
                }
            }
            if (*timePs == 0 && *a == 0 && *b == 0)
            {
                return;
            }
            if (*a == *b)
            {
                line.Fail(key.name + " names node " + std::to_string(*a) + " twice",
                          "the two ends of a link");
            }
            conf.linkEvents.push_back(
                {*timePs, static_cast<uint32_t>(*a), static_cast<uint32_t>(*b), up, line.Line()});
        },
        [up](const FabricConf& conf) {
            std::string text;
            for (const LinkEvent& event : conf.linkEvents)
            {
                if (event.up == up && event.b != LinkEvent::ALL_LINKS)
                {
                    text += (text.empty() ? "" : "; ") + MicrosOf(event.timePs) + " " +
                            std::to_string(event.a) + " " + std::to_string(event.b);
                }
            }
            return text;
        }};
}

/// `t node`: at t microseconds all links of a node change.
inline Rule
NodeChange(const char* name, bool up, const char* description)
{
    FabricConfKey key{name,
                      "microseconds and a node id",
                      "a time of 0 or more and a node; may be repeated",
                      "",
                      description,
                      true};
    return {key,
            [key, up](FabricConf& conf, const InputLines& line) {
                const auto& fields = line.Fields();
                RequireValues(line, key, 2);
                const auto timePs = ParseScaled(fields[1], PS_PER_US);
                const auto node = ParseWhole(fields[2]);
                if (!timePs)
                {
                    Refuse(line, key, fields[1]);
                }
                if (!node || *node >= LinkEvent::ALL_LINKS)
                {
                    Refuse(line, key, fields[2]);
                }
                conf.linkEvents.push_back(
                    {*timePs, static_cast<uint32_t>(*node), LinkEvent::ALL_LINKS, up, line.Line()});
            },
            [up](const FabricConf& conf) {
                std::string text;
                for (const LinkEvent& event : conf.linkEvents)
                {
                    if (event.up == up && event.b == LinkEvent::ALL_LINKS)
                    {
                        text += (text.empty() ? "" : "; ") + MicrosOf(event.timePs) + " " +
                                std::to_string(event.a);
                    }
                }
                return text;
            }};
}

// --- Keys that stand for attributes in a way of their own: values by link rate, weights
// of priorities, a buffer in MiB or bytes, one timeout for several attributes. Included by
// the table of keys only.

/// What a value by rate is counted in.
struct RateUnit
{
    double unit;       ///< what 1 in the file is to the attribute
    double most;       ///< largest legal value in the file
    const char* range; ///< legal values, for people

    std::optional<double> Parse(std::string_view text) const
    {
        const auto value = ParseReal(text);
        return value && *value >= 0 && *value <= most ? std::optional(*value * unit) : std::nullopt;
    }
};

inline RateMap
RateMapInForce(const char* attribute)
{
    return AttributeDefault<RateMapValue>(attribute);
}

/// One value for all rates.
inline Rule
ForAllRates(const char* name,
            const char* attribute,
            const char* type,
            RateUnit unit,
            const char* description)
{
    FabricConfKey key{name, type, unit.range, "", description, true, {attribute}};
    const auto settings = [key, unit](const FabricConf&, const InputLines& line) {
        const std::string_view text = One(line, key);
        const auto value = unit.Parse(text);
        if (!value)
        {
            Refuse(line, key, text);
        }
        return std::vector{
            AttributeSetting{key.attributes.front(), Create<RateMapValue>(RateMap(*value))}};
    };
    const auto get = [attribute, unit](const FabricConf&) {
        const auto value = RateMapInForce(attribute).GetForAll();
        return value ? Text(*value / unit.unit) : "";
    };
    return {key, nullptr, get, settings};
}

/// `n` and n pairs of a rate and a value.
inline Rule
ByRate(const char* name, const char* attribute, RateUnit unit, const char* description)
{
    FabricConfKey key{name,
                      "n, then n times: rate in bit/s, value",
                      unit.range,
                      "",
                      description,
                      true,
                      {attribute}};
    const auto settings = [key, unit](const FabricConf&, const InputLines& line) {
        const auto& fields = line.Fields();
        const auto count = ParseWhole(fields[1]);
        const std::size_t values = fields.size() - 2;
        if (!count || *count == 0 || *count > 1'000'000 || values != *count * 2)
        {
            line.Fail(key.name + " says " + std::string(fields[1]) + " pairs and has " +
                          std::to_string(values) + " values",
                      "n, then 2 n values");
        }
        std::map<uint64_t, double> map;
        for (std::size_t i = 2; i < fields.size(); i += 2)
        {
            const auto rate = ParseDataRateBps(fields[i]);
            const auto value = unit.Parse(fields[i + 1]);
            if (!rate || *rate == 0)
            {
                Refuse(line, key, fields[i]);
            }
            if (!value)
            {
                Refuse(line, key, fields[i + 1]);
            }
            if (!map.emplace(*rate, *value).second)
            {
                line.Fail(key.name + " lists " + std::string(fields[i]) + " twice",
                          "each rate once");
            }
        }
        return std::vector{AttributeSetting{key.attributes.front(),
                                            Create<RateMapValue>(RateMap(std::move(map)))}};
    };
    const auto get = [attribute, unit](const FabricConf&) {
        const RateMap map = RateMapInForce(attribute);
        std::string text = map.GetByRate().empty() ? "" : std::to_string(map.GetByRate().size());
        for (const auto& [rate, value] : map.GetByRate())
        {
            text += " " + std::to_string(rate) + " " + Text(value / unit.unit);
        }
        return text;
    };
    return {key, nullptr, get, settings};
}

/// `priority weight`: the share of a priority; may be repeated.
inline Rule
QueueWeight(const char* name, const char* attribute, const char* description)
{
    FabricConfKey key{name,
                      "priority and weight",
                      "a priority from 1 to 7 and a weight from 1 to 1000; may be repeated",
                      "",
                      description,
                      true,
                      {attribute}};
    const auto settings = [key](const FabricConf& conf, const InputLines& line) {
        const auto& fields = line.Fields();
        RequireValues(line, key, 2);
        QueueWeights weights;
        for (const auto& [place, ofKey] : conf.settings)
        {
            if (!ofKey.empty() && ofKey.front().name == key.attributes.front())
            {
                weights = dynamic_cast<const QueueWeightsValue&>(*ofKey.front().value).Get();
            }
        }
        const auto priority = ParseWhole(fields[1]);
        const auto weight = ParseWhole(fields[2]);
        if (!priority || !weights.Set(*priority, 1))
        {
            Refuse(line, key, fields[1]);
        }
        if (!weight || !weights.Set(*priority, *weight))
        {
            Refuse(line, key, fields[2]);
        }
        return std::vector{
            AttributeSetting{key.attributes.front(), Create<QueueWeightsValue>(weights)}};
    };
    const auto get = [attribute](const FabricConf&) {
        const QueueWeights weights = AttributeDefault<QueueWeightsValue>(attribute);
        std::string text;
        for (std::size_t priority = 1; priority < weights.weights.size(); ++priority)
        {
            if (weights.weights[priority] != 1)
            {
                text += (text.empty() ? "" : "; ") + std::to_string(priority) + " " +
                        std::to_string(weights.weights[priority]);
            }
        }
        return text;
    };
    return {key, nullptr, get, settings};
}

/// MiB up to 1023, bytes from there.
inline Rule
BufferSize(const char* name, const char* attribute, const char* description)
{
    constexpr uint64_t MIB = 1 << 20;
    return Attribute<UintegerValue>(
        {name, "MiB below 1024, else bytes", "above 0", "", description, true},
        {attribute},
        [](std::string_view text) -> std::optional<uint64_t> {
            const auto value = ParseWhole(text);
            if (!value || *value == 0 || *value > (1ULL << 50))
            {
                return std::nullopt;
            }
            return *value < 1024 ? *value * MIB : *value;
        },
        [](uint64_t bytes) {
            return std::to_string(bytes % MIB == 0 && bytes / MIB < 1024 ? bytes / MIB : bytes);
        });
}

/// 0 means what 1 means.
inline Rule
AckInterval(const char* name, const char* attribute, const char* description)
{
    const WholeRange range{0, INT64_MAX};
    return Attribute<UintegerValue>(
        {name, "packets up to 1, bytes above", range.Text(), "", description, true},
        {attribute},
        [range](std::string_view text) {
            const auto value = range.Parse(text);
            return value == 0 ? 1 : value;
        },
        [](uint64_t value) { return std::to_string(value); });
}

/// The timeouts of both loss recoveries; 0 leaves them as they are.
inline Rule
Rto(const char* name, const char* description)
{
    constexpr const char* GO_BACK_N = "ns3::RdmaGoBackN::Timeout";
    constexpr const char* IRN_HIGH = "ns3::RdmaIrn::RtoHigh";
    constexpr const char* IRN_LOW = "ns3::RdmaIrn::RtoLow";
    FabricConfKey key{name,
                      "microseconds",
                      "0 or more",
                      "0",
                      description,
                      true,
                      {GO_BACK_N, IRN_HIGH, IRN_LOW}};
    const auto settings = [key](const FabricConf&, const InputLines& line) {
        const std::string_view text = One(line, key);
        const auto rtoPs = ParseMicros(text, true);
        if (!rtoPs)
        {
            Refuse(line, key, text);
        }
        std::vector<AttributeSetting> all;
        for (const std::string& attribute : key.attributes)
        {
            const Time own = dynamic_cast<const TimeValue&>(*GetOriginalDefault(attribute)).Get();
            const bool bounded = *rtoPs == 0 || attribute == IRN_LOW;
            const Time rto = *rtoPs == 0 ? own : PicoSeconds(*rtoPs);
            all.push_back(
                Checked({attribute, Create<TimeValue>(bounded ? std::min(own, rto) : rto)},
                        line,
                        key));
        }
        return all;
    };
    const auto get = [](const FabricConf&) {
        const Time rto = AttributeDefault<TimeValue>(IRN_HIGH);
        const Time own = dynamic_cast<const TimeValue&>(*GetOriginalDefault(IRN_HIGH)).Get();
        return rto == own ? "0" : MicrosOf(rto.GetPicoSeconds());
    };
    return {key, nullptr, get, settings};
}

} // namespace ns3::conf_keys

#endif /* FABRIC_CONF_KEY_KINDS_H */
