/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-list.h"

#include "ns3/input-error.h"
#include "ns3/units.h"

#include <set>

namespace AstraSim
{

std::optional<std::vector<uint32_t>>
ParseRankList(std::string_view text)
{
    constexpr uint64_t LARGEST = 1U << 24;
    std::vector<uint32_t> ranks;
    std::set<uint32_t> seen;
    while (true)
    {
        const auto comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        const auto dash = part.find('-');
        const auto first = ns3::ParseUnsigned(part.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : ns3::ParseUnsigned(part.substr(dash + 1));
        if (!first || !last || *last < *first || *last > LARGEST)
        {
            return std::nullopt;
        }
        for (uint64_t rank = *first; rank <= *last; ++rank)
        {
            if (!seen.insert(static_cast<uint32_t>(rank)).second)
            {
                return std::nullopt;
            }
            ranks.push_back(static_cast<uint32_t>(rank));
        }
        if (comma == std::string_view::npos)
        {
            return ranks;
        }
        text.remove_prefix(comma + 1);
    }
}

JobPlacement
ParseJobPlacement(const std::string& text)
{
    const auto at = text.rfind('@');
    if (at == std::string::npos)
    {
        return {text, {}};
    }
    const auto ranks = ParseRankList(std::string_view(text).substr(at + 1));
    if (!ranks)
    {
        throw ns3::InputError("command line",
                              0,
                              "'" + text.substr(at + 1) + "' is not a valid list of ranks",
                              "ranks and ranges, each rank once: FILE@0-63 or FILE@0,2,4-7");
    }
    return {text.substr(0, at), *ranks};
}

} // namespace AstraSim
