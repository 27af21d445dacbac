/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_KEY_KINDS_H
#define FABRIC_CONF_KEY_KINDS_H

/**
 * @file
 * Kinds of configuration keys: each function makes the rule of a key from its name, the member that
 * holds it, its legal range and a sentence. Included by the table of keys only.
 */
#include "fabric-conf-keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace ns3::conf_keys
{

using Rule = FabricConfKeyRule;

inline constexpr int64_t PS_PER_US = 1'000'000;
inline constexpr int64_t PS_PER_S = 1'000'000'000'000;
inline constexpr int64_t BYTES_PER_KB = 1000;

[[noreturn]] inline void
Refuse(const InputLines& line, const FabricConfKey& key, std::string_view value)
{
    line.Fail(key.name + " cannot be '" + std::string(value) + "'", key.type + ", " + key.range);
}

/// @return the only value of the line
inline std::string_view
One(const InputLines& line, const FabricConfKey& key)
{
    if (line.Fields().size() != 2)
    {
        line.Fail(key.name + " has " + std::to_string(line.Fields().size() - 1) + " values",
                  "one: " + key.type);
    }
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

inline Rule
Flag(const char* name, bool FabricConf::*member, const char* description)
{
    return Single(
        {name, "flag", "0 or 1", "", description, true},
        member,
        [](std::string_view text) -> std::optional<bool> {
            if (text != "0" && text != "1")
            {
                return std::nullopt;
            }
            return text == "1";
        },
        [](bool value) { return value ? "1" : "0"; });
}

inline std::string
TextIfSet(double value)
{
    return Text(value);
}

inline std::string
TextIfSet(const std::optional<double>& value)
{
    return value ? Text(*value) : "";
}

inline std::string
CountIfSet(const std::optional<uint64_t>& value)
{
    return value ? std::to_string(*value) : "";
}

template <typename Number>
Rule
Real(const char* name,
     Number FabricConf::*member,
     std::pair<double, double> range,
     const char* description,
     bool withLowest = true)
{
    const std::string legal =
        (withLowest ? "from " : "above ") + Text(range.first) + " to " + Text(range.second);
    return Single(
        {name, "number", legal, "", description, true},
        member,
        [range, withLowest](std::string_view text) {
            auto value = ParseReal(text);
            if (value && (*value < range.first || *value > range.second ||
                          (!withLowest && *value == range.first)))
            {
                value.reset();
            }
            return value;
        },
        [](const Number& value) { return TextIfSet(value); });
}

template <typename Number>
Rule
Whole(const char* name,
      Number FabricConf::*member,
      std::pair<uint64_t, uint64_t> range,
      const char* type,
      const char* description)
{
    return Single(
        {name,
         type,
         "from " + std::to_string(range.first) + " to " + std::to_string(range.second),
         "",
         description,
         true},
        member,
        [range](std::string_view text) {
            auto value = ParseUnsigned(text);
            if (value && (*value < range.first || *value > range.second))
            {
                value.reset();
            }
            return value;
        },
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

template <typename Time>
Rule
Micros(const char* name, Time FabricConf::*member, bool mayBeZero, const char* description)
{
    return Single(
        {name, "microseconds", mayBeZero ? "0 or more" : "above 0", "", description, true},
        member,
        [mayBeZero](std::string_view text) {
            auto value = ParseScaled(text, PS_PER_US);
            if (value && *value == 0 && !mayBeZero)
            {
                value.reset();
            }
            return value;
        },
        [](const Time& value) { return MicrosOf(value); });
}

inline Rule
Rate(const char* name, uint64_t FabricConf::*member, const char* description)
{
    return Single({name, "rate", "a rate such as 50Mb/s", "", description, true},
                  member,
                  ParseDataRateBps,
                  FormatDataRate);
}

inline Rule
File(const char* name, std::string FabricConf::*member, const char* description)
{
    FabricConfKey key{name, "file", "a path", FabricConf{}.*member, description, true};
    return {key,
            [member](FabricConf& conf, const InputLines& line) { conf.*member = line.RestFrom(1); },
            [member](const FabricConf& conf) { return conf.*member; }};
}

template <typename Choice, std::size_t N>
Rule
OneOf(const char* name,
      Choice FabricConf::*member,
      const std::array<std::pair<const char*, Choice>, N>& choices,
      const char* description)
{
    std::string legal;
    for (const auto& [text, choice] : choices)
    {
        legal += (legal.empty() ? "" : " or ") + std::string(text);
    }
    return Single(
        {name, "word", legal, "", description, true},
        member,
        [choices](std::string_view text) -> std::optional<Choice> {
            for (const auto& [known, choice] : choices)
            {
                if (text == known)
                {
                    return choice;
                }
            }
            return std::nullopt;
        },
        [choices](Choice value) {
            const auto named = std::find_if(choices.begin(), choices.end(), [value](const auto& c) {
                return c.second == value;
            });
            return named->first;
        });
}

/// The words for routing policies.
inline constexpr std::array<std::pair<const char*, FabricConf::Routing>, 6> ROUTINGS{
    {{"ecmp", FabricConf::Routing::Ecmp},
     {"flowlet", FabricConf::Routing::Flowlet},
     {"adaptive-flowlet", FabricConf::Routing::AdaptiveFlowlet},
     {"adaptive", FabricConf::Routing::Adaptive},
     {"spray", FabricConf::Routing::Spray},
     {"random-spray", FabricConf::Routing::RandomSpray}}};

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
    const auto first = ParseUnsigned(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseUnsigned(text.substr(dash + 1));
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
                const auto routing =
                    std::find_if(ROUTINGS.begin(), ROUTINGS.end(), [&](const auto& known) {
                        return known.first == fields[1];
                    });
                if (routing == ROUTINGS.end())
                {
                    Refuse(line, key, fields[1]);
                }
                if (fields.size() < 3)
                {
                    line.Fail(key.name + " names no switches", key.range);
                }
                FabricConf::RoutingChoice choice{routing->second, {}, line.Line()};
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
                    const auto routing =
                        std::find_if(ROUTINGS.begin(), ROUTINGS.end(), [&](const auto& known) {
                            return known.second == choice.routing;
                        });
                    text += (text.empty() ? "" : "; ") + std::string(routing->first);
                    for (const FabricConf::RoutingPlace& place : choice.places)
                    {
                        text += " " + place.text;
                    }
                }
                return text;
            }};
}

/// A key that changes nothing here.
inline Rule
NoEffect(const char* name, const char* description)
{
    return {{name, "anything", "anything", "", description, false},
            [](FabricConf&, const InputLines&) {},
            [](const FabricConf&) { return std::string(); }};
}

/// `n` and n pairs of a rate and a value; unit is what a value of 1 is stored as.
template <typename Value, typename Parse>
Rule
RateMap(const char* name,
        std::map<uint64_t, Value> FabricConf::*member,
        const char* range,
        double unit,
        Parse parse,
        const char* description)
{
    FabricConfKey key{name, "n, then n times: rate in bit/s, value", range, "", description, true};
    const auto get = [member, unit](const FabricConf& conf) {
        const std::map<uint64_t, Value>& map = conf.*member;
        std::string text = map.empty() ? "" : std::to_string(map.size());
        for (const auto& [rate, value] : map)
        {
            text += " " + std::to_string(rate) + " " + Text(static_cast<double>(value) / unit);
        }
        return text;
    };
    const auto set = [key, member, parse](FabricConf& conf, const InputLines& line) {
        const auto& fields = line.Fields();
        const auto count = ParseUnsigned(fields[1]);
        const std::size_t values = fields.size() - 2;
        if (!count || *count == 0 || *count > 1'000'000 || values != *count * 2)
        {
            line.Fail(key.name + " says " + std::string(fields[1]) + " pairs and has " +
                          std::to_string(values) + " values",
                      "n, then 2 n values");
        }
        std::map<uint64_t, Value> map;
        for (std::size_t i = 2; i < fields.size(); i += 2)
        {
            const auto rate = ParseDataRateBps(fields[i]);
            const auto value = parse(fields[i + 1]);
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
        conf.*member = std::move(map);
    };
    return {key, set, get};
}

/// `t a b`: at t microseconds the link between nodes a and b changes; `0 0 0` means none.
inline Rule
LinkChange(const char* name, bool up, const char* description)
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
            if (fields.size() != 4)
            {
                line.Fail(key.name + " has " + std::to_string(fields.size() - 1) + " values",
                          "3: " + key.type);
            }
            const auto timePs = ParseScaled(fields[1], PS_PER_US);
            const auto a = ParseUnsigned(fields[2]);
            const auto b = ParseUnsigned(fields[3]);
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
                if (fields.size() != 3)
                {
                    line.Fail(key.name + " has " + std::to_string(fields.size() - 1) + " values",
                              "2: " + key.type);
                }
                const auto timePs = ParseScaled(fields[1], PS_PER_US);
                const auto node = ParseUnsigned(fields[2]);
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

/// `priority weight`: the share of a priority; may be repeated.
inline Rule
QueueWeight(const char* name, const char* description)
{
    constexpr uint64_t MAX_WEIGHT = 1000;
    FabricConfKey key{name,
                      "priority and weight",
                      "a priority from 1 to 7 and a weight from 1 to 1000; may be repeated",
                      "",
                      description,
                      true};
    return {key,
            [key](FabricConf& conf, const InputLines& line) {
                const auto& fields = line.Fields();
                if (fields.size() != 3)
                {
                    line.Fail(key.name + " has " + std::to_string(fields.size() - 1) + " values",
                              "2: " + key.type);
                }
                const auto priority = ParseUnsigned(fields[1]);
                const auto weight = ParseUnsigned(fields[2]);
                if (!priority || *priority == 0 || *priority >= conf.queueWeights.size())
                {
                    Refuse(line, key, fields[1]);
                }
                if (!weight || *weight == 0 || *weight > MAX_WEIGHT)
                {
                    Refuse(line, key, fields[2]);
                }
                conf.queueWeights[*priority] = static_cast<uint32_t>(*weight);
            },
            [](const FabricConf& conf) {
                std::string text;
                for (std::size_t priority = 1; priority < conf.queueWeights.size(); ++priority)
                {
                    if (conf.queueWeights[priority] != 1)
                    {
                        text += (text.empty() ? "" : "; ") + std::to_string(priority) + " " +
                                std::to_string(conf.queueWeights[priority]);
                    }
                }
                return text;
            }};
}

inline Rule
CcMode()
{
    FabricConfKey key{"CC_MODE",
                      "number or TypeId",
                      "0 or 12 none, 1 DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP, 10 HPCC-PINT, or a TypeId "
                      "such as ns3::RdmaSwift",
                      "1",
                      "Congestion control.",
                      true};
    return {key,
            [key](FabricConf& conf, const InputLines& line) {
                const std::string_view text = One(line, key);
                const auto number = ParseUnsigned(text);
                if (!number)
                {
                    if (text.starts_with("-") || (text[0] >= '0' && text[0] <= '9'))
                    {
                        Refuse(line, key, text);
                    }
                    conf.ccTypeId = text;
                    return;
                }
                constexpr std::array<uint64_t, 7> KNOWN{0, 1, 3, 7, 8, 10, 12};
                if (std::find(KNOWN.begin(), KNOWN.end(), *number) == KNOWN.end())
                {
                    Refuse(line, key, text);
                }
                // ASTRA-sim's back end calls "none, only a window" 12.
                conf.ccMode = *number == 12 ? 0 : *number;
                conf.ccTypeId.clear();
            },
            [](const FabricConf& conf) {
                return conf.ccTypeId.empty() ? std::to_string(conf.ccMode) : conf.ccTypeId;
            }};
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
                const auto value = ParseScaled(text, PS_PER_S, &tooLarge);
                if ((!value && !tooLarge) || value == 0)
                {
                    Refuse(line, key, text);
                }
                conf.stopTimePs = value.value_or(TIME_PS_MAX);
            },
            [](const FabricConf& conf) {
                return conf.stopTimePs == TIME_PS_MAX
                           ? "no limit"
                           : Text(static_cast<double>(conf.stopTimePs) / PS_PER_S);
            }};
}

inline std::optional<uint64_t>
ParseBufferBytes(std::string_view text)
{
    const auto value = ParseUnsigned(text);
    if (!value || *value == 0 || *value > (1ULL << 50))
    {
        return std::nullopt;
    }
    return *value < 1024 ? *value << 20 : *value;
}

inline std::string
BufferText(uint64_t bytes)
{
    constexpr uint64_t MIB = 1 << 20;
    return std::to_string(bytes % MIB == 0 && bytes / MIB < 1024 ? bytes / MIB : bytes);
}

inline std::optional<uint64_t>
ParseKiloBytes(std::string_view text)
{
    return ParseScaled(text, BYTES_PER_KB);
}

inline std::optional<double>
ParseProbability(std::string_view text)
{
    auto value = ParseReal(text);
    if (value && (*value < 0 || *value > 1))
    {
        value.reset();
    }
    return value;
}

} // namespace ns3::conf_keys

#endif /* FABRIC_CONF_KEY_KINDS_H */
