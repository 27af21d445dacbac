/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_ATTRIBUTE_KINDS_H
#define FABRIC_CONF_ATTRIBUTE_KINDS_H

/**
 * @file
 * Kinds of configuration keys that stand for attributes of ns-3: each function makes the rule of a
 * key from its name, the attributes, its legal range and a sentence. Included by the table of keys
 * only.
 */
#include "fabric-conf-key-kinds.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3::conf_keys
{

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

} // namespace ns3::conf_keys

#endif /* FABRIC_CONF_ATTRIBUTE_KINDS_H */
