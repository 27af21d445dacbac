/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-conf-format.h"

#include "link-changes.h"
#include "rdma-qbb/model/attribute/collective-offload.h"
#include "rdma-qbb/model/attribute/switch-model.h"

#include "ns3/boolean.h"
#include "ns3/clock-range.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/queue-weights.h"
#include "ns3/rate-map.h"
#include "ns3/string.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace ns3::conf_format
{

namespace
{

constexpr int64_t PS_PER_US = 1'000'000;

using Format = FabricConfFormat;
using Key = KeyRow;
using Fields = Format::Fields;
using Value = FabricConfValue;
using Settings = Format::Settings;
using Values = Format::Values;

int64_t
Int(const Value& value)
{
    return std::get<int64_t>(value);
}

Ptr<AttributeValue>
Text(const char* text)
{
    return Create<StringValue>(text);
}

std::string
MicrosText(int64_t ps)
{
    return WriteValue(static_cast<double>(ps) / PS_PER_US);
}

/// @return a whole number within bounds
std::optional<int64_t>
WholeWithin(std::string_view text, int64_t lowest = 0, int64_t highest = INT64_MAX)
{
    const auto value = ParseWhole(text);
    const bool isLegal = value && *value <= static_cast<uint64_t>(highest) &&
                         *value >= static_cast<uint64_t>(lowest);
    return isLegal ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

auto
WholeIn(int64_t lowest, int64_t highest)
{
    return [=](std::string_view text) { return WholeWithin(text, lowest, highest); };
}

auto
MicrosFrom(int64_t leastPs)
{
    return [=](std::string_view text) {
        const auto ps = ParseScaled(text, PS_PER_US);
        return ps && *ps >= leastPs ? ps : std::nullopt;
    };
}

auto
Parser(const Scale& scale)
{
    return [scale](std::string_view text) {
        const auto value = ParseReal(text);
        const bool isLegal = value && *value >= 0 && *value <= scale.most;
        return isLegal ? std::optional(*value * scale.unit) : std::nullopt;
    };
}

/// @return the word for a text of an attribute; the text itself if there is none
std::string
WordOf(const std::string& text, const Words& words)
{
    const auto word =
        std::ranges::find_if(words, [&](const auto& each) { return each.second == text; });
    return word == words.end() ? text : word->first;
}

std::optional<std::string>
MeaningOf(std::string_view text, const Words& words)
{
    const auto word =
        std::ranges::find_if(words, [&](const auto& each) { return each.first == text; });
    return word == words.end() ? std::nullopt : std::optional(word->second);
}

/// @return the TypeId's name that a word, or the name itself, stands for; nullopt if it is none of
/// a class that can be made and is derived from @p base
std::optional<std::string>
TypeNameOf(std::string_view text, const Words& words, const char* base)
{
    const auto number = WholeWithin(text);
    const std::string word = number ? std::to_string(*number) : std::string(text);
    const auto meaning = MeaningOf(word, words);
    std::string name = meaning.value_or(word);
    TypeId type;
    const bool exists = TypeId::LookupByNameFailSafe(name, &type) ||
                        TypeId::LookupByNameFailSafe(name = "ns3::" + name, &type);
    const bool isLegal =
        exists &&
        (meaning || (type.HasConstructor() && type.IsChildOf(TypeId::LookupByName(base))));
    return isLegal ? std::optional(name) : std::nullopt;
}

/// @return a writer of texts of attributes, or flags, as words
auto
WordWriter(const Words& words)
{
    return [words](const Value& value) {
        const auto* flag = std::get_if<int64_t>(&value);
        return WordOf(flag ? fmt::to_string(*flag != 0) : std::get<std::string>(value), words);
    };
}

/// @return the value of a field @throw InputError if it is illegal
template <typename T>
T
Legal(const std::optional<T>& value, const FabricConf& conf, const Key& key, std::string_view field)
{
    if (!value)
    {
        Refuse(conf, key, field);
    }
    return *value;
}

/// @return a layer's name, a node id or a range of them
std::optional<FabricConf::RoutingPlace>
ParseRoutingPlace(std::string_view text)
{
    constexpr std::array<std::string_view, 3> LAYERS{"asw", "psw", "core"};
    const auto layer = std::ranges::find(LAYERS, text);
    if (layer != LAYERS.end())
    {
        return {{std::string(text), static_cast<uint32_t>(layer - LAYERS.begin()) + 1, 0, 0}};
    }
    const std::size_t dash = text.find('-');
    const auto parse = WholeIn(0, UINT32_MAX);
    const auto first = parse(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse(text.substr(dash + 1));
    return first && last && *first <= *last
               ? std::optional(FabricConf::RoutingPlace{std::string(text),
                                                        0,
                                                        static_cast<uint32_t>(*first),
                                                        static_cast<uint32_t>(*last)})
               : std::nullopt;
}

/// @return a class of links, or the two nodes that links are between
std::optional<FabricConf::LinkPlace>
ParseLinkPlace(std::string_view text)
{
    using Class = FabricConf::LinkPlace::Class;
    if (text == "hosts" || text == "switches")
    {
        return {{std::string(text), text == "hosts" ? Class::Hosts : Class::Switches}};
    }
    const std::size_t dash = text.find('-');
    const auto parse = WholeIn(0, UINT32_MAX);
    const auto a = parse(text.substr(0, dash));
    const auto b = dash == std::string_view::npos ? std::nullopt : parse(text.substr(dash + 1));
    return a && b ? std::optional(FabricConf::LinkPlace{std::string(text),
                                                        Class::Between,
                                                        static_cast<uint32_t>(*a),
                                                        static_cast<uint32_t>(*b)})
                  : std::nullopt;
}

/// Changes of a link, or of all links of a node.
Format
Change(const char* type, const char* range, bool up, bool isOfNode)
{
    Format format{type, range, {MicrosFrom(0), WholeIn(0, LinkEvent::ALL_LINKS - 1)}};
    if (!isOfNode)
    {
        format.fields.push_back(format.fields.back());
        format.fields.push_back(WholeIn(1, UINT32_MAX));
        format.optional = 1;
    }
    format.take = [=](FabricConf& conf, const Values& values, const Fields&, const Key& key) {
        const auto a = static_cast<uint32_t>(Int(values[1]));
        const auto b = isOfNode ? LinkEvent::ALL_LINKS : static_cast<uint32_t>(Int(values[2]));
        const bool isNone = Int(values[0]) == 0 && a == 0 && b == 0;
        if (a == b && !isNone)
        {
            conf.FailAt({key.name},
                        fmt::format("{} names node {} twice", key.name, a),
                        "the two ends of a link");
        }
        if (!isNone)
        {
            const auto number = values.size() > 3 ? static_cast<uint32_t>(Int(values[3])) : 0;
            conf.linkEvents.push_back({Int(values[0]), a, b, up, conf.origins.back().line, number});
        }
        return Settings{};
    };
    format.get = [=](const FabricConf& conf, const Key&) {
        std::vector<std::string> texts;
        for (const LinkEvent& event : conf.linkEvents)
        {
            if (event.IsOfState() && event.up == up &&
                (event.b == LinkEvent::ALL_LINKS) == isOfNode)
            {
                texts.push_back(MicrosText(event.timePs) + " " + EndsOf(event));
            }
        }
        return fmt::format("{}", fmt::join(texts, "; "));
    };
    format.defaultValue = isOfNode ? "" : "0 0 0";
    return format;
}

} // namespace

void
Refuse(const FabricConf& conf, const Key& key, std::string_view value)
{
    conf.FailAt({key.name},
                fmt::format("{} cannot be '{}'", key.name, value),
                key.type + ", " + key.value.expected);
}

std::string
WriteValue(const Value& value)
{
    if (const auto* text = std::get_if<std::string>(&value))
    {
        return *text;
    }
    if (const auto* whole = std::get_if<int64_t>(&value))
    {
        return std::to_string(*whole);
    }
    std::array<char, 32> text; // shortest text that reads back as the same value
    const auto end = std::to_chars(text.begin(), text.end(), std::get<double>(value)).ptr;
    return {text.data(), end};
}

std::string
Listed(const Words& words)
{
    std::string text;
    for (const auto& [word, meaning] : words)
    {
        text += (text.empty() ? "" : " or ") + word;
    }
    return text;
}

Format
Flag()
{
    return {"flag", "0 or 1", {WholeIn(0, 1)}};
}

Format
Whole(const char* type, int64_t lowest, int64_t highest)
{
    return {type, fmt::format("from {} to {}", lowest, highest), {WholeIn(lowest, highest)}};
}

Format
Real(double lowest, double highest, bool withLowest)
{
    return {"number",
            (withLowest ? "from " : "above ") + WriteValue(lowest) + " to " + WriteValue(highest),
            {[=](std::string_view text) {
                const auto value = ParseReal(text);
                const bool isLegal = value && *value >= lowest && *value <= highest &&
                                     (withLowest || *value != lowest);
                return isLegal ? value : std::nullopt;
            }}};
}

Format
Scaled(const char* type, const Scale& scale)
{
    return {type, scale.range, {Parser(scale)}, [unit = scale.unit](const Value& value) {
                return WriteValue(std::get<double>(value) / unit);
            }};
}

Format
Micros(bool mayBeZero)
{
    return {"microseconds",
            mayBeZero ? "0 or more" : "above 0",
            {MicrosFrom(mayBeZero ? 0 : 1)},
            [](const Value& value) { return MicrosText(Int(value)); }};
}

Format
Nanos()
{
    return {"nanoseconds",
            "above 0",
            {[](std::string_view text) {
                const auto ps = ParseScaled(text, 1000);
                return ps && *ps > 0 ? ps : std::nullopt;
            }},
            [](const Value& ps) { return WriteValue(static_cast<double>(Int(ps)) / 1000); }};
}

Format
StopTime()
{
    return {"seconds",
            "above 0; larger than the clock can hold (about 106 days): no limit",
            {[](std::string_view text) {
                bool isTooLarge = false;
                const auto ps = ParseScaled(text, PS_PER_SECOND, &isTooLarge);
                return ps == 0 ? std::nullopt : isTooLarge ? std::optional(TIME_PS_MAX) : ps;
            }},
            [](const Value& ps) {
                return Int(ps) == TIME_PS_MAX
                           ? "no limit"
                           : WriteValue(static_cast<double>(Int(ps)) / PS_PER_SECOND);
            }};
}

Format
Rate()
{
    return {"rate",
            "a rate with its unit, such as 50Mb/s",
            {[](std::string_view text) {
                const auto bps = ParseRateWithUnit(text);
                return bps ? std::optional(static_cast<int64_t>(*bps)) : std::nullopt;
            }},
            [](const Value& bps) { return FormatDataRate(static_cast<uint64_t>(Int(bps))); }};
}

Format
BufferSize()
{
    constexpr int64_t MIB = 1 << 20;
    return {"MiB below 1024, else bytes",
            "above 0",
            {[](std::string_view text) {
                const auto size = WholeWithin(text, 1, int64_t{1} << 50);
                return size && *size < 1024 ? *size * MIB : size;
            }},
            [](const Value& bytes) {
                const bool isInMib = Int(bytes) % MIB == 0 && Int(bytes) / MIB < 1024;
                return std::to_string(Int(bytes) / (isInMib ? MIB : 1));
            }};
}

Format
AckInterval()
{
    Format format = Whole("packets up to 1, bytes above", 0, INT64_MAX);
    format.fields = {[](std::string_view text) {
        const auto interval = WholeWithin(text);
        return interval == 0 ? 1 : interval;
    }};
    return format;
}

Format
Path()
{
    return {"file", "a path", {[](std::string_view text) { return std::string(text); }}, {}, true};
}

Format
OneOf(const Words& words)
{
    return {"word",
            Listed(words),
            {[words](std::string_view text) { return MeaningOf(text, words); }},
            WordWriter(words)};
}

Format
PlugIn(const char* type, const std::string& range, const char* base, const Words& words)
{
    return {type,
            fmt::format("{}a class derived from {}", range.empty() ? "" : range + ", or ", base),
            {[words, base](std::string_view text) { return TypeNameOf(text, words, base); }},
            WordWriter(words)};
}

Format
CollectiveEngine()
{
    const auto parse = [](std::string_view text) {
        const bool isLegal = CollectiveOffload::Parse(text).has_value();
        return isLegal ? std::optional(std::string(text)) : std::nullopt;
    };
    return {"words", CollectiveOffload::EXPECTED, {parse}, {}, true};
}

Format
ByRate(const Scale& scale)
{
    Format format{"n, then n times: rate in bit/s, value", scale.range};
    format.take = [scale](FabricConf& conf, const Values&, const Fields& fields, const Key& key) {
        const auto count = WholeWithin(fields[0], 1, 1'000'000);
        const std::size_t values = fields.size() - 1;
        if (!count || values != static_cast<std::size_t>(*count) * 2)
        {
            conf.FailAt(
                {key.name},
                fmt::format("{} says {} pairs and has {} values", key.name, fields[0], values),
                "n, then 2 n values");
        }
        std::map<uint64_t, double> map;
        for (std::size_t i = 1; i < fields.size(); i += 2)
        {
            const auto rate = ParseDataRateBps(fields[i]);
            const uint64_t bps = Legal(rate == 0 ? std::nullopt : rate, conf, key, fields[i]);
            const double value = Legal(Parser(scale)(fields[i + 1]), conf, key, fields[i + 1]);
            if (!map.emplace(bps, value).second)
            {
                conf.FailAt({key.name},
                            fmt::format("{} lists {} twice", key.name, fields[i]),
                            "each rate once");
            }
        }
        return Settings{{key.attributes.front(), Create<RateMapValue>(RateMap(std::move(map)))}};
    };
    format.get = [scale](const FabricConf&, const Key& key) {
        const RateMap map = LookAtDefault<RateMapValue>(key.attributes.front());
        std::string text = map.GetByRate().empty() ? "" : fmt::to_string(map.GetByRate().size());
        for (const auto& [rate, value] : map.GetByRate())
        {
            text += fmt::format(" {} {}", rate, WriteValue(value / scale.unit));
        }
        return text;
    };
    return format;
}

Format
QueueWeight()
{
    Format format{"priority and weight",
                  "a priority from 1 to 7 and a weight from 1 to 1000; may be repeated",
                  {WholeIn(1, 7), WholeIn(1, QueueWeights::MAX_WEIGHT)}};
    format.take = [](FabricConf& conf, const Values& values, const Fields&, const Key& key) {
        const std::string& attribute = key.attributes.front();
        const Ptr<const AttributeValue> given = conf.FindSetting(attribute);
        auto weights =
            given ? dynamic_cast<const QueueWeightsValue&>(*given).Get() : QueueWeights();
        weights.Set(static_cast<uint64_t>(Int(values[0])), static_cast<uint64_t>(Int(values[1])));
        return Settings{{attribute, Create<QueueWeightsValue>(weights)}};
    };
    format.get = [](const FabricConf&, const Key& key) {
        const auto weights = LookAtDefault<QueueWeightsValue>(key.attributes.front()).weights;
        std::vector<std::string> texts;
        for (std::size_t priority = 1; priority < weights.size(); ++priority)
        {
            if (weights[priority] != 1)
            {
                texts.push_back(fmt::format("{} {}", priority, weights[priority]));
            }
        }
        return fmt::format("{}", fmt::join(texts, "; "));
    };
    return format;
}

Format
ChosenTransport()
{
    const Words words{{"roce", "ns3::RdmaTransport"}, {"UEC", "ns3::UecTransport"}};
    Format format = PlugIn("word or TypeId", Listed(words), "ns3::RdmaTransport", words);
    format.take = [](FabricConf&, const Values& values, const Fields&, const Key& key) {
        const auto& name = std::get<std::string>(values[0]);
        Settings settings{{key.attributes.front(), Create<StringValue>(name)}};
        if (name == "ns3::UecTransport")
        {
            settings.push_back({"ns3::RdmaHw::CongestionControl", Text("ns3::UecNscc")});
            settings.push_back({"ns3::RdmaHw::LossRecoveryType", Text("ns3::UecDelivery")});
            settings.push_back({"ns3::RdmaHw::AckHighPriority", Create<BooleanValue>(true)});
            settings.push_back({"ns3::SwitchMmu::BufferPolicyType", Text("ns3::UecTrimming")});
            settings.push_back({"ns3::SwitchMmu::LosslessMask", Create<UintegerValue>(0)});
        }
        return settings;
    };
    format.get = [words](const FabricConf&, const Key& key) {
        return WordOf(LookAtDefault<TypeIdValue>(key.attributes.front()).GetName(), words);
    };
    format.defaultValue = "roce";
    return format;
}

Format
UltraEthernetDelivery()
{
    // Attributes: whether packets keep their order, and whether receivers have no state.
    Format format = OneOf({{"rud", "rud"}, {"rudi", "rudi"}, {"rod", "rod"}});
    format.take = [](FabricConf&, const Values& values, const Fields&, const Key& key) {
        const auto& word = std::get<std::string>(values[0]);
        return Settings{{key.attributes[0], Create<BooleanValue>(word == "rod")},
                        {key.attributes[1], Create<BooleanValue>(word == "rudi")}};
    };
    format.get = [](const FabricConf&, const Key& key) {
        const bool rod = LookAtDefault<BooleanValue>(key.attributes[0]);
        const bool rudi = LookAtDefault<BooleanValue>(key.attributes[1]);
        return std::string(rod ? "rod" : rudi ? "rudi" : "rud");
    };
    format.defaultValue = "rud";
    return format;
}

Format
UltraEthernetCongestion()
{
    // Attributes: whether senders have windows, whether receivers grant credits, and whether the
    // last hop marks packets: it has none to mark if receivers pace it.
    Format format = OneOf({{"nscc", "nscc"}, {"rccc", "rccc"}, {"both", "both"}});
    format.take = [](FabricConf&, const Values& values, const Fields&, const Key& key) {
        const auto& word = std::get<std::string>(values[0]);
        return Settings{{key.attributes[0], Create<BooleanValue>(word != "rccc")},
                        {key.attributes[1], Create<BooleanValue>(word != "nscc")},
                        {key.attributes[2], Create<BooleanValue>(word == "nscc")}};
    };
    format.get = [](const FabricConf&, const Key& key) {
        const bool nscc = LookAtDefault<BooleanValue>(key.attributes[0]);
        const bool rccc = LookAtDefault<BooleanValue>(key.attributes[1]);
        return std::string(nscc && rccc ? "both" : rccc ? "rccc" : "nscc");
    };
    format.defaultValue = "nscc";
    return format;
}

Format
ChosenSwitchModel()
{
    Words words;
    for (const SwitchModel& model : SwitchModel::All())
    {
        words.emplace_back(model.name, model.name);
    }
    Format format = OneOf(words);
    format.take = [](FabricConf& conf, const Values& values, const Fields&, const Key&) {
        const auto& name = std::get<std::string>(values[0]);
        const SwitchModel& model = *SwitchModel::Find(name);
        conf.switchModel.Edit() = name;
        Settings settings{
            {"ns3::SwitchMmu::BufferBytes", Create<UintegerValue>(model.bufferBytes)},
            {"ns3::SwitchMmu::Alpha", Create<DoubleValue>(model.alpha)},
            {"ns3::SwitchMmu::LossyAlpha", Create<DoubleValue>(model.lossyAlpha)},
            {"ns3::SwitchMmu::LossyQueueAlpha", Create<DoubleValue>(model.lossyQueueAlpha)}};
        if (model.pfcResponsePs)
        {
            settings.push_back({"ns3::SwitchMmu::PfcResponseTime",
                                Create<TimeValue>(PicoSeconds(model.pfcResponsePs))});
        }
        return settings;
    };
    format.get = [](const FabricConf& conf, const Key&) { return conf.switchModel.Look(); };
    return format;
}

Format
PfcEnabled()
{
    Format format = Flag();
    format.take = [](FabricConf&, const Values& values, const Fields&, const Key& key) {
        const std::string& attribute = key.attributes.front();
        return Int(values[0]) ? Settings{{attribute, GetOriginalDefault(attribute)}}
                              : Settings{{attribute, Create<UintegerValue>(0)}};
    };
    return format;
}

Format
RoutingAt(const Words& policies)
{
    Format format{"policy and switches",
                  "a word of ROUTING, then asw, psw, core, node ids or ranges of them such as "
                  "40-47; may be repeated"};
    format.take =
        [policies](FabricConf& conf, const Values&, const Fields& fields, const Key& key) {
            const auto policy = TypeNameOf(fields[0], policies, "ns3::RoutingPolicy");
            FabricConf::RoutingChoice choice{Legal(policy, conf, key, fields[0]),
                                             {},
                                             conf.origins.back().line};
            if (fields.size() < 2)
            {
                conf.FailAt({key.name}, key.name + " names no switches", key.value.expected);
            }
            for (std::size_t i = 1; i < fields.size(); ++i)
            {
                choice.places.push_back(Legal(ParseRoutingPlace(fields[i]), conf, key, fields[i]));
            }
            conf.routingAt.Edit().push_back(std::move(choice));
            return Settings{};
        };
    format.get = [policies](const FabricConf& conf, const Key&) {
        std::string text;
        for (const FabricConf::RoutingChoice& choice : conf.routingAt.Look())
        {
            text += (text.empty() ? "" : "; ") + WordOf(choice.policy, policies);
            for (const FabricConf::RoutingPlace& place : choice.places)
            {
                text += " " + place.text;
            }
        }
        return text;
    };
    return format;
}

Format
LinksAt(const char* value,
        int64_t most,
        Parameter<std::vector<FabricConf::LinkChoice>> FabricConf::*member)
{
    Format format{std::string(value) + " and links",
                  fmt::format("{}, then hosts (links from hosts), switches (links between network "
                              "switches) or pairs of node ids such as 3-40; may be repeated",
                              value)};
    format.take = [=](FabricConf& conf, const Values&, const Fields& fields, const Key& key) {
        const auto given = Legal(WholeWithin(fields[0], 0, most), conf, key, fields[0]);
        FabricConf::LinkChoice choice{static_cast<uint64_t>(given), {}, conf.origins.back().line};
        if (fields.size() < 2)
        {
            conf.FailAt({key.name}, key.name + " names no links", key.value.expected);
        }
        for (std::size_t i = 1; i < fields.size(); ++i)
        {
            choice.places.push_back(Legal(ParseLinkPlace(fields[i]), conf, key, fields[i]));
        }
        (conf.*member).Edit().push_back(std::move(choice));
        return Settings{};
    };
    format.get = [=](const FabricConf& conf, const Key&) {
        std::vector<std::string> texts;
        for (const FabricConf::LinkChoice& choice : (conf.*member).Look())
        {
            texts.push_back(fmt::to_string(choice.value));
            for (const FabricConf::LinkPlace& place : choice.places)
            {
                texts.back() += " " + place.text;
            }
        }
        return fmt::format("{}", fmt::join(texts, "; "));
    };
    return format;
}

Format
Monitor()
{
    Format format = PlugIn("TypeId", "", "ns3::FabricMonitor", {});
    format.range += "; may be repeated";
    format.take = [](FabricConf& conf, const Values& values, const Fields&, const Key&) {
        conf.monitors.Edit().push_back(std::get<std::string>(values[0]));
        return Settings{};
    };
    format.get = [](const FabricConf& conf, const Key&) {
        return fmt::format("{}", fmt::join(conf.monitors.Look(), "; "));
    };
    return format;
}

Format
PlaneOfClass()
{
    Format format{"class of traffic and a number",
                  "TP, DP, EP, DP_EP, PP, CP, CUSTOM, MESSAGES or KV, then a NIC of the hosts from "
                  "0; may be repeated"};
    format.fields = {Path().fields.front(), WholeIn(0, UINT16_MAX)};
    format.take = [](FabricConf& conf, const Values& values, const Fields&, const Key&) {
        conf.planes.Edit().push_back({std::get<std::string>(values[0]),
                                      static_cast<uint32_t>(Int(values[1])),
                                      conf.origins.back().line});
        return Settings{};
    };
    format.get = [](const FabricConf& conf, const Key&) {
        std::vector<std::string> texts;
        for (const FabricConf::PlaneChoice& choice : conf.planes.Look())
        {
            texts.push_back(fmt::format("{} {}", choice.trafficClass, choice.plane));
        }
        return fmt::format("{}", fmt::join(texts, "; "));
    };
    return format;
}

Format
ChangeOfLink(bool up)
{
    return Change("microseconds, two node ids and a number of a link",
                  "a number from 1, or none: all links between the two; 0 0 0 for none; may be "
                  "repeated",
                  up,
                  false);
}

Format
RateOfLink()
{
    Format format{
        "microseconds, two node ids, a rate and a number of a link",
        "a rate with its unit, at most that of the topology; a number from 1, or none: all "
        "links between the two; may be repeated",
        {MicrosFrom(0),
         WholeIn(0, LinkEvent::ALL_LINKS - 1),
         WholeIn(0, LinkEvent::ALL_LINKS - 1),
         Rate().fields.front(),
         WholeIn(1, UINT32_MAX)}};
    format.optional = 1;
    format.take = [](FabricConf& conf, const Values& values, const Fields& fields, const Key& key) {
        const auto number = values.size() > 4 ? static_cast<uint32_t>(Int(values[4])) : 0;
        const auto rateBps = static_cast<uint64_t>(Int(values[3]));
        if (rateBps == 0)
        {
            conf.FailAt({key.name},
                        fmt::format("{} cannot be '{}'", key.name, fields[3]),
                        "a rate above 0, or LINK_DOWN");
        }
        conf.linkEvents.push_back({Int(values[0]),
                                   static_cast<uint32_t>(Int(values[1])),
                                   static_cast<uint32_t>(Int(values[2])),
                                   true,
                                   conf.origins.back().line,
                                   number,
                                   rateBps});
        return Settings{};
    };
    format.get = [](const FabricConf& conf, const Key&) {
        std::vector<std::string> texts;
        for (const LinkEvent& event : conf.linkEvents)
        {
            if (!event.IsOfState())
            {
                texts.push_back(MicrosText(event.timePs) + " " + EndsOf(event));
            }
        }
        return fmt::format("{}", fmt::join(texts, "; "));
    };
    return format;
}

Format
ChangeOfNode(bool up)
{
    return Change("microseconds and a node id",
                  "a time of 0 or more and a node; may be repeated",
                  up,
                  true);
}

} // namespace ns3::conf_format
