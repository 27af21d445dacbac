/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_KEY_KINDS_H
#define FABRIC_CONF_KEY_KINDS_H

/**
 * @file
 * Kinds of configuration keys: each function makes the rule of a key from its name, the member of
 * FabricConf that holds it, its legal range and a sentence; here those of one value. Included by
 * the table of keys only. Keys that stand for attributes: fabric-conf-attribute-kinds.h.
 */
#include "fabric-conf-rule.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

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

} // namespace ns3::conf_keys

#endif /* FABRIC_CONF_KEY_KINDS_H */
