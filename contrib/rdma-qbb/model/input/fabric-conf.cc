/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-conf.h"

#include "fabric-conf-keys.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/input-lines.h"
#include "ns3/nearest-name.h"
#include "ns3/rate-map.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <sstream>
#include <utility>

namespace ns3
{

namespace
{

using conf_format::KeyRow;
using conf_format::KeyRows;
using Keys = std::vector<KeyRow>;

/// @return the key of a name; null if there is none
const KeyRow*
Find(const Keys& keys, std::string_view name)
{
    const auto key = std::ranges::find(keys, name, &KeyRow::name);
    return key == keys.end() ? nullptr : &*key;
}

/// Refuse the unknown key of a line, and those of all lines after it: another simulator's file may
/// have several, and one error names all of them.
[[noreturn]] void
RefuseUnknown(InputLines& lines, const Keys& keys)
{
    constexpr std::size_t MOST = 20; // names in an error about another program's file
    std::vector<std::string> names;
    std::ranges::transform(keys, std::back_inserter(names), &KeyRow::name);
    const std::string key(lines.Fields()[0]);
    const std::size_t line = lines.Line();
    std::string others;
    std::size_t count = 0;
    while (lines.Next())
    {
        const std::string_view name = lines.Fields()[0];
        if (!Find(keys, name) && ++count <= MOST)
        {
            others += fmt::format("{} {} (line {})", others.empty() ? "" : ",", name, lines.Line());
        }
    }
    others = count == 0
                 ? ""
                 : fmt::format(" and {} more:{}{}", count, others, count > MOST ? ", ..." : "");
    throw InputError(lines.Name(),
                     line,
                     "unknown key " + key + others,
                     "a known key" + NearestHint(key, names));
}

/// A key that occurs twice in a file has its last value: say so.
void
WarnOfRepetition(FabricConf& conf, const InputLines& line, const KeyRow& key)
{
    if (line.Line() == 0 || key.repeats)
    {
        return; // line 0: --set replaces the file's value on purpose
    }
    const auto before = std::ranges::find(conf.given, key.name);
    if (before != conf.given.end())
    {
        conf.warnings.push_back(fmt::format("{}:{}: {} replaces that of line {}",
                                            line.Name(),
                                            line.Line(),
                                            key.name,
                                            conf.origins[before - conf.given.begin()].line));
    }
}

void
SetFromLine(FabricConf& conf, const Keys& keys, InputLines& line)
{
    const std::string name(line.Fields()[0]);
    const KeyRow* key = Find(keys, name);
    if (!key)
    {
        RefuseUnknown(line, keys);
    }
    WarnOfRepetition(conf, line, *key);
    const std::string_view value = line.RestFrom(1);
    if (value.empty())
    {
        line.Fail(name + " has no value", key->value.expected);
    }
    if (!key->hasEffect)
    {
        conf.warnings.push_back(line.Name() + ":" +
                                (line.Line() ? std::to_string(line.Line()) + ": " : " ") + name +
                                " is accepted and has no effect");
    }
    conf.given.push_back(name);
    conf.origins.push_back({line.Name(), line.Line()});
    if (!key->value.take(value))
    {
        conf_format::Refuse(conf, *key, value);
    }
}

/// Set one key. @param origin its name in errors
void
SetFromText(FabricConf& conf, const Keys& keys, std::string text, const std::string& givenAs)
{
    // The origin in errors is cut: a command line may be long.
    constexpr std::size_t longest = 80;
    const std::string origin =
        givenAs.size() > longest ? givenAs.substr(0, longest) + "..." : givenAs;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos && text.find(' ') > equals)
    {
        text[equals] = ' ';
    }
    std::istringstream stream(text);
    InputLines line(stream, origin);
    line.LeaveOutNumbers();
    if (equals == 0 || !line.Next())
    {
        throw InputError(origin, 0, "no key is named", "KEY=value");
    }
    SetFromLine(conf, keys, line);
}

/// Set the keys of all lines.
void
SetFromLines(FabricConf& conf, InputLines& lines)
{
    const Keys keys = KeyRows(conf);
    while (lines.Next())
    {
        SetFromLine(conf, keys, lines);
    }
}

/// @return the map of a key, if it was given
std::optional<RateMap>
GivenMap(const FabricConf& conf, const char* attribute)
{
    const Ptr<const AttributeValue> value = conf.FindSetting(attribute);
    return value ? std::optional(dynamic_cast<const RateMapValue&>(*value).Get()) : std::nullopt;
}

/// @throw InputError if marking would begin above the length at which it is certain
void
CheckMarking(const FabricConf& conf)
{
    const auto kmin = GivenMap(conf, "ns3::SwitchMmu::EcnKmin");
    const auto kmax = GivenMap(conf, "ns3::SwitchMmu::EcnKmax");
    if (!kmin || !kmax)
    {
        return;
    }
    if (kmin->GetForAll() && kmax->GetForAll() && *kmax->GetForAll() < *kmin->GetForAll())
    {
        conf.FailAt({"KMIN", "KMAX"}, "KMIN is larger than KMAX", "KMIN up to KMAX");
    }
    for (const auto& [rateBps, bytes] : kmin->GetByRate())
    {
        const auto most = kmax->GetByRate().find(rateBps);
        if (most != kmax->GetByRate().end() && most->second < bytes)
        {
            conf.FailAt({"KMIN", "KMAX", "KMIN_MAP", "KMAX_MAP"},
                        fmt::format("for {} KMIN_MAP says {:.0f} KB and KMAX_MAP says {:.0f} KB",
                                    FormatDataRate(rateBps),
                                    bytes / 1000,
                                    most->second / 1000),
                        "kmin up to kmax");
        }
    }
}

} // namespace

FabricConf
FabricConf::Read(const std::string& path)
{
    FabricConf conf;
    conf.source = path;
    InputLines lines(path);
    SetFromLines(conf, lines);
    conf.Check();
    return conf;
}

FabricConf
FabricConf::Read(std::istream& text, const std::string& name)
{
    FabricConf conf;
    conf.source = name;
    InputLines lines(text, name);
    SetFromLines(conf, lines);
    conf.Check();
    return conf;
}

void
FabricConf::Set(const std::string& keyAndValue, const std::string& origin)
{
    SetFromText(*this, KeyRows(*this), keyAndValue, origin);
}

void
FabricConf::SetFromFlags(const std::vector<std::string>& values)
{
    const Keys keys = KeyRows(*this);
    std::map<std::size_t, std::string> firsts; // by the key's place
    for (const std::string& setting : values)
    {
        SetFromText(*this, keys, setting, "--set " + setting);
        const KeyRow& key = *Find(keys, given.back());
        const auto [first, isFirst] = firsts.emplace(key.place, origins.back().file);
        if (!isFirst && !key.repeats)
        {
            throw InputError(origins.back().file,
                             0,
                             fmt::format("{} sets the same key", first->second),
                             "each key once");
        }
    }
}

FabricConf::Origin
FabricConf::OriginOf(std::initializer_list<std::string_view> keys) const
{
    for (std::size_t i = given.size(); i-- > 0;)
    {
        if (std::ranges::find(keys, given[i]) != keys.end())
        {
            return origins[i];
        }
    }
    return {source, 0};
}

void
FabricConf::FailAt(std::initializer_list<std::string_view> keys,
                   const std::string& what,
                   const std::string& expected) const
{
    const Origin origin = OriginOf(keys);
    throw InputError(origin.file, origin.line, what, expected);
}

void
FabricConf::FailAtLine(std::size_t line,
                       std::string_view key,
                       const std::string& what,
                       const std::string& expected) const
{
    const Origin origin = line ? Origin{source, line} : OriginOf({key});
    throw InputError(origin.file, origin.line, std::string(key) + " " + what, expected);
}

bool
FabricConf::IsGiven(std::string_view key) const
{
    return std::ranges::find(given, key) != given.end();
}

void
FabricConf::Check()
{
    CheckMarking(*this);
    const int64_t stopPs = stopTimePs.Look();
    const int64_t startPs = monStartPs.Look();
    const int64_t endPs = monEndPs.Look();
    auto& qlenStartPs = qlenMonStartPs.Edit();
    auto& qlenEndPs = qlenMonEndPs.Edit();
    if (qlenStartPs && *qlenStartPs > stopPs && *qlenStartPs / 1000 <= stopPs)
    {
        qlenStartPs = *qlenStartPs / 1000;
        if (qlenEndPs)
        {
            qlenEndPs = *qlenEndPs / 1000;
        }
        warnings.push_back(source + ": QLEN_MON_START in microseconds would be after "
                                    "SIMULATOR_STOP_TIME; QLEN_MON_START and QLEN_MON_END are "
                                    "taken as nanoseconds, as the HPCC simulator does");
    }
    if (endPs < startPs)
    {
        FailAt({"MON_START", "MON_END"}, "MON_END is before MON_START", "a later time");
    }
    if (qlenEndPs.value_or(endPs) < qlenStartPs.value_or(startPs))
    {
        FailAt({"MON_START", "MON_END", "QLEN_MON_START", "QLEN_MON_END"},
               "QLEN_MON_END is before QLEN_MON_START",
               "a later time");
    }
}

void
FabricConf::CountLinkEventsAsFlowsDo(int64_t firstStartPs)
{
    constexpr int64_t HPCC_START_PS = 2 * PS_PER_SECOND;
    const bool isBefore = std::ranges::all_of(linkEvents, [](const auto& event) {
        return event.timePs < HPCC_START_PS;
    });
    if (firstStartPs < HPCC_START_PS || !isBefore)
    {
        return;
    }
    std::size_t moved = 0;
    for (LinkEvent& event : linkEvents)
    {
        if (event.timePs > 0) // else the link is missing from the start
        {
            event.timePs += HPCC_START_PS;
            ++moved;
        }
    }
    if (moved)
    {
        const Origin origin =
            OriginOf({"LINK_DOWN", "LINK_UP", "LINK_RATE", "NODE_DOWN", "NODE_UP"});
        warnings.push_back(origin.file + ": all flows start at 2 s or later, so the times of "
                                         "LINK_DOWN, LINK_UP, LINK_RATE, NODE_DOWN and NODE_UP "
                                         "count from 2 s, as in the HPCC simulator");
    }
}

Ptr<const AttributeValue>
FabricConf::FindSetting(const std::string& attribute) const
{
    Ptr<const AttributeValue> last;
    for (const auto& [place, ofKey] : settings)
    {
        for (const AttributeSetting& setting : ofKey)
        {
            last = setting.name == attribute ? setting.value : last;
        }
    }
    return last;
}

std::vector<AttributeSetting>
FabricConf::Apply() const
{
    std::vector<AttributeSetting> replaced;
    for (const auto& [place, ofKey] : settings)
    {
        for (const AttributeSetting& setting : ofKey)
        {
            const auto before = SetDefault(setting);
            replaced.insert(replaced.end(), before.begin(), before.end());
        }
    }
    return replaced;
}

std::vector<FabricConfKey>
FabricConfKeys()
{
    FabricConf conf;
    std::vector<FabricConfKey> keys;
    for (const KeyRow& row : KeyRows(conf))
    {
        keys.push_back({row.name,
                        row.type,
                        row.value.expected,
                        row.value.standard,
                        row.sentence,
                        row.hasEffect,
                        row.attributes});
    }
    return keys;
}

std::vector<std::pair<std::string, std::string>>
FabricConfValues(const FabricConf& conf)
{
    FabricConf copy = conf;
    std::vector<std::pair<std::string, std::string>> values;
    for (const KeyRow& key : KeyRows(copy))
    {
        std::string value = key.getInForce();
        if (!value.empty())
        {
            values.emplace_back(key.name, std::move(value));
        }
    }
    return values;
}

std::string
FabricConfHelp()
{
    std::size_t width = 0;
    for (const FabricConfKey& key : FabricConfKeys())
    {
        width = std::max(width, key.name.size());
    }
    std::ostringstream text;
    for (const FabricConfKey& key : FabricConfKeys())
    {
        text << "  " << key.name << std::string(width + 2 - key.name.size(), ' ') << key.description
             << " [" << key.type << "; " << key.range;
        if (!key.defaultValue.empty())
        {
            text << "; default " << key.defaultValue;
        }
        for (const std::string& attribute : key.attributes)
        {
            text << "; " << attribute;
        }
        text << "]\n";
    }
    return text.str();
}

} // namespace ns3
