/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_ROW_KINDS_H
#define FABRIC_CONF_ROW_KINDS_H

/**
 * @file
 * Kinds of configuration keys whose line has several values, or which may be repeated: routing by
 * switch, planes of traffic, changes of links and nodes at a time.
 * Included by the table of keys only.
 */
#include "fabric-conf-attribute-kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ns3::conf_keys
{

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

} // namespace ns3::conf_keys

#endif /* FABRIC_CONF_ROW_KINDS_H */
