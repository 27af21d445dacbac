/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_ROW_KINDS_H
#define FABRIC_CONF_ROW_KINDS_H

/**
 * @file
 * Kinds of configuration keys whose line has several values, or which may be repeated: routing by
 * switch, values by link rate, changes of links and nodes at a time, weights of priorities.
 * Included by the table of keys only.
 */
#include "fabric-conf-key-kinds.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ns3::conf_keys
{

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
            RequireValues(line, key, 3);
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
                RequireValues(line, key, 2);
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
                RequireValues(line, key, 2);
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

} // namespace ns3::conf_keys

#endif /* FABRIC_CONF_ROW_KINDS_H */
