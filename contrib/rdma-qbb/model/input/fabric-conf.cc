/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-conf.h"

#include "fabric-conf-keys.h"
#include "input-error.h"
#include "input-lines.h"
#include "nearest-name.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <utility>

namespace ns3
{

namespace
{

const FabricConfKeyRule&
RuleOf(const InputLines& line)
{
    const std::string_view name = line.Fields()[0];
    const auto& rules = FabricConfRules();
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const auto& r) { return r.key.name == name; });
    if (rule == rules.end())
    {
        std::vector<std::string> names;
        std::transform(rules.begin(), rules.end(), std::back_inserter(names), [](const auto& r) {
            return r.key.name;
        });
        line.Fail("unknown key " + std::string(name),
                  "a known key; the nearest is " + NearestName(name, names));
    }
    return *rule;
}

void
SetFromLine(FabricConf& conf, const InputLines& line)
{
    const FabricConfKeyRule& rule = RuleOf(line);
    if (line.Fields().size() < 2)
    {
        line.Fail(rule.key.name + " has no value", rule.key.range);
    }
    if (!rule.key.hasEffect)
    {
        conf.warnings.push_back(line.Name() + ":" +
                                (line.Line() ? std::to_string(line.Line()) + ": " : " ") +
                                rule.key.name + " is accepted and has no effect");
    }
    rule.set(conf, line);
    conf.given.push_back(rule.key.name);
}

/// Only the keys of a map that was given, or nearest to a rate that was not.
template <typename Value>
Value
AtNearestRate(const std::map<uint64_t, Value>& values, uint64_t rateBps)
{
    const auto above = values.lower_bound(rateBps);
    if (above == values.end())
    {
        return std::prev(above)->second;
    }
    if (above == values.begin() || above->first == rateBps)
    {
        return above->second;
    }
    const auto below = std::prev(above);
    return above->first - rateBps < rateBps - below->first ? above->second : below->second;
}

} // namespace

FabricConf
FabricConf::Read(const std::string& path)
{
    FabricConf conf;
    conf.source = path;
    InputLines lines(path);
    while (lines.Next())
    {
        SetFromLine(conf, lines);
    }
    conf.Check();
    return conf;
}

FabricConf
FabricConf::Read(std::istream& text, const std::string& name)
{
    FabricConf conf;
    conf.source = name;
    InputLines lines(text, name);
    while (lines.Next())
    {
        SetFromLine(conf, lines);
    }
    conf.Check();
    return conf;
}

void
FabricConf::Set(const std::string& keyAndValue, const std::string& origin)
{
    std::string text = keyAndValue;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos && text.find(' ') > equals)
    {
        text[equals] = ' ';
    }
    std::istringstream stream(text);
    InputLines line(stream, origin);
    if (!line.Next())
    {
        throw InputError(origin, 0, "'" + keyAndValue + "' names no key", "KEY=value");
    }
    SetFromLine(*this, line);
}

bool
FabricConf::IsGiven(std::string_view key) const
{
    return std::find(given.begin(), given.end(), key) != given.end();
}

void
FabricConf::Check()
{
    for (const auto& [rate, kmin] : kminBytes)
    {
        const auto kmax = kmaxBytes.find(rate);
        if (kmax != kmaxBytes.end() && kmax->second < kmin)
        {
            throw InputError(source,
                             0,
                             "for " + FormatDataRate(rate) + " KMIN_MAP says " +
                                 std::to_string(kmin / 1000) + " KB and KMAX_MAP says " +
                                 std::to_string(kmax->second / 1000) + " KB",
                             "kmin up to kmax");
        }
    }
    if (flatKminBytes && flatKmaxBytes && *flatKmaxBytes < *flatKminBytes)
    {
        throw InputError(source, 0, "KMIN is larger than KMAX", "KMIN up to KMAX");
    }
    const int64_t stopPs = stopTimePs;
    if (qlenMonStartPs && *qlenMonStartPs > stopPs && *qlenMonStartPs / 1000 <= stopPs)
    {
        qlenMonStartPs = *qlenMonStartPs / 1000;
        if (qlenMonEndPs)
        {
            qlenMonEndPs = *qlenMonEndPs / 1000;
        }
        warnings.push_back(source + ": QLEN_MON_START in microseconds would be after "
                                    "SIMULATOR_STOP_TIME; QLEN_MON_START and QLEN_MON_END are "
                                    "taken as nanoseconds, as the HPCC simulator does");
    }
    if (monEndPs < monStartPs)
    {
        throw InputError(source, 0, "MON_END is before MON_START", "a later time");
    }
    if (qlenMonEndPs.value_or(monEndPs) < qlenMonStartPs.value_or(monStartPs))
    {
        throw InputError(source, 0, "QLEN_MON_END is before QLEN_MON_START", "a later time");
    }
}

EcnRamp
FabricConf::EcnFor(uint64_t rateBps)
{
    const double scale = static_cast<double>(rateBps) / 25e9;
    EcnRamp ramp{flatKminBytes.value_or(std::llround(100e3 * scale)),
                 flatKmaxBytes.value_or(std::llround(400e3 * scale)),
                 flatPmax.value_or(0.2)};
    bool listed = true;
    const auto take = [&](const auto& map, auto& value) {
        if (!map.empty())
        {
            value = AtNearestRate(map, rateBps);
            listed = listed && map.contains(rateBps);
        }
    };
    take(kminBytes, ramp.kminBytes);
    take(kmaxBytes, ramp.kmaxBytes);
    take(pmax, ramp.pmax);
    if (!listed)
    {
        const std::string warning = source + ": KMIN_MAP, KMAX_MAP and PMAX_MAP do not all list " +
                                    FormatDataRate(rateBps) + "; the nearest listed rate is taken";
        if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
        {
            warnings.push_back(warning);
        }
    }
    return ramp;
}

std::vector<FabricConfKey>
FabricConfKeys()
{
    std::vector<FabricConfKey> keys;
    for (const FabricConfKeyRule& rule : FabricConfRules())
    {
        keys.push_back(rule.key);
    }
    return keys;
}

std::vector<std::pair<std::string, std::string>>
FabricConfValues(const FabricConf& conf)
{
    std::vector<std::pair<std::string, std::string>> values;
    for (const FabricConfKeyRule& rule : FabricConfRules())
    {
        std::string value = rule.get ? rule.get(conf) : "";
        if (!value.empty())
        {
            values.emplace_back(rule.key.name, std::move(value));
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
        text << "]\n";
    }
    return text.str();
}

std::string
FabricConfMarkdown()
{
    std::ostringstream text;
    text << "| key | value | legal range | default | meaning |\n|---|---|---|---|---|\n";
    for (const FabricConfKey& key : FabricConfKeys())
    {
        text << "| `" << key.name << "` | " << key.type << " | " << key.range << " | "
             << key.defaultValue << " | " << key.description << " |\n";
    }
    return text.str();
}

} // namespace ns3
