/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_KEY_KINDS_H
#define FABRIC_CONF_KEY_KINDS_H

/**
 * @file
 * Kinds of configuration keys: each function makes the rule of a key from its name, the member that
 * holds it, its legal range and a sentence; here those of one value. Included by the table of keys
 * only.
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

/// A key that changes nothing here.
inline Rule
NoEffect(const char* name, const char* description)
{
    return {{name, "anything", "anything", "", description, false},
            [](FabricConf&, const InputLines&) {},
            [](const FabricConf&) { return std::string(); }};
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
