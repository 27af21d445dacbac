/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_CUSTOM_KINDS_H
#define FABRIC_CONF_CUSTOM_KINDS_H

/**
 * @file
 * Keys that stand for attributes in a way of their own: values by link rate, weights of priorities,
 * a buffer in MiB or bytes, one timeout for several attributes. Included by the table of keys only.
 */
#include "fabric-conf-attribute-kinds.h"

#include "ns3/queue-weights.h"
#include "ns3/rate-map.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3::conf_keys
{

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

#endif /* FABRIC_CONF_CUSTOM_KINDS_H */
