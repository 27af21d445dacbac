/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rate-map.h"

#include "ns3/units.h"

#include <fmt/format.h>
#include <istream>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>

namespace ns3
{

ATTRIBUTE_HELPER_CPP(RateMap);

RateMap::RateMap(std::map<uint64_t, double> byRateBps)
    : m_byRateBps(std::move(byRateBps))
{
}

std::optional<double>
RateMap::At(uint64_t rateBps) const
{
    if (m_byRateBps.empty())
    {
        return m_forAll;
    }
    const auto above = m_byRateBps.lower_bound(rateBps);
    if (above == m_byRateBps.end())
    {
        return std::prev(above)->second;
    }
    if (above == m_byRateBps.begin() || above->first == rateBps)
    {
        return above->second;
    }
    const auto below = std::prev(above);
    return above->first - rateBps < rateBps - below->first ? above->second : below->second;
}

bool
RateMap::Lists(uint64_t rateBps) const
{
    return m_byRateBps.empty() || m_byRateBps.contains(rateBps);
}

std::ostream&
operator<<(std::ostream& text, const RateMap& map)
{
    if (const auto value = map.GetForAll())
    {
        text << fmt::format("{}", *value);
    }
    const char* separator = "";
    for (const auto& [rateBps, value] : map.GetByRate())
    {
        text << fmt::format("{}{}={}", separator, FormatDataRate(rateBps), value);
        separator = " ";
    }
    return text;
}

std::istream&
operator>>(std::istream& text, RateMap& map)
{
    std::map<uint64_t, double> byRateBps;
    std::optional<double> forAll;
    bool legal = true;
    for (std::string word; text >> word;)
    {
        const std::size_t equals = word.find('=');
        const bool hasRate = equals != std::string::npos;
        const uint64_t rateBps = hasRate ? ParseDataRateBps(word.substr(0, equals)).value_or(0) : 0;
        const double value = ParseReal(hasRate ? word.substr(equals + 1) : word).value_or(-1);
        const bool isNew = hasRate ? rateBps > 0 && !forAll && !byRateBps.contains(rateBps)
                                   : !forAll && byRateBps.empty();
        if (value < 0 || !isNew)
        {
            legal = false;
        }
        else if (hasRate)
        {
            byRateBps[rateBps] = value;
        }
        else
        {
            forAll = value;
        }
    }
    map = forAll ? RateMap(*forAll) : RateMap(std::move(byRateBps));
    text.clear(legal ? std::ios::eofbit : std::ios::eofbit | std::ios::failbit);
    return text;
}

} // namespace ns3
