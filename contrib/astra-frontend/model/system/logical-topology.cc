/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "logical-topology.h"

#include "json-file.h"

#include "ns3/input-error.h"
#include "ns3/units.h"

#include <algorithm>
#include <bit>
#include <set>

namespace AstraSim
{

LogicalTopology::LogicalTopology(std::vector<uint32_t> dimensions, const std::vector<int>& ranks)
    : m_dimensions(std::move(dimensions))
{
    m_world = {m_nextId++, GroupKind::Custom, "world", ranks};
    uint32_t stride = 1;
    for (const uint32_t size : m_dimensions)
    {
        m_strides.push_back(stride);
        stride *= size;
    }
    for (uint32_t dimension = 0; dimension < m_dimensions.size(); ++dimension)
    {
        auto& groups = m_groups.emplace_back(ranks.size() / m_dimensions[dimension]);
        for (uint32_t rank = 0; rank < ranks.size(); ++rank)
        {
            groups[GetGroupIndex(dimension, rank)].ranks.push_back(ranks[rank]);
        }
        for (auto& group : groups)
        {
            group.id = m_nextId++;
            group.name = "dim" + std::to_string(dimension);
        }
    }
}

const CommGroup&
LogicalTopology::GetSubspace(uint32_t mask, uint32_t jobRank) const
{
    const uint32_t all = (1U << GetDimensionCount()) - 1;
    if (mask == all)
    {
        return m_world;
    }
    if (std::has_single_bit(mask))
    {
        return GetGroup(static_cast<uint32_t>(std::countr_zero(mask)), jobRank);
    }
    const auto isIn = [&](uint32_t rank) {
        for (uint32_t dimension = 0; dimension < GetDimensionCount(); ++dimension)
        {
            if (!(mask >> dimension & 1) &&
                GetCoordinate(dimension, rank) != GetCoordinate(dimension, jobRank))
            {
                return false;
            }
        }
        return true;
    };
    uint32_t first = jobRank;
    for (uint32_t dimension = 0; dimension < GetDimensionCount(); ++dimension)
    {
        first -= (mask >> dimension & 1) * GetCoordinate(dimension, jobRank) * m_strides[dimension];
    }
    const auto [it, isNew] = m_subspaces[mask].try_emplace(first);
    CommGroup& group = it->second;
    if (isNew)
    {
        group.id = m_nextId++;
        group.name = "dims";
        for (uint32_t dimension = 0; dimension < GetDimensionCount(); ++dimension)
        {
            group.name += mask >> dimension & 1 ? std::to_string(dimension) : "";
        }
        for (uint32_t rank = 0; rank < m_world.ranks.size(); ++rank)
        {
            if (isIn(rank))
            {
                group.ranks.push_back(m_world.ranks[rank]);
            }
        }
    }
    return group;
}

uint32_t
LogicalTopology::GetMask(const CommGroup& group) const
{
    if (group.ranks == m_world.ranks)
    {
        return (1U << GetDimensionCount()) - 1;
    }
    for (const auto& [mask, groups] : m_subspaces)
    {
        const auto found = std::ranges::find_if(groups, [&group](const auto& entry) {
            return entry.second.id == group.id;
        });
        if (found != groups.end())
        {
            return mask;
        }
    }
    for (uint32_t dimension = 0; dimension < m_groups.size(); ++dimension)
    {
        const auto& groups = m_groups[dimension];
        if (group.id >= groups.front().id && group.id <= groups.back().id)
        {
            return 1U << dimension;
        }
    }
    return 0;
}

std::vector<uint32_t>
ReadLogicalDimensions(const std::string& path)
{
    static const std::string EXPECTED = R"({"logical-dims": ["8", "2"]})";
    static const std::string KEY = "logical-dims";
    const JsonFile file(path, EXPECTED);
    const auto& json = file.GetObject();
    for (const auto& [key, value] : json.items())
    {
        if (key != KEY)
        {
            file.Fail(key, "unknown key '" + key + "'", KEY);
        }
    }
    if (!json.contains(KEY) || !json[KEY].is_array() || json[KEY].empty() || json[KEY].size() > 5)
    {
        file.Fail(KEY, "has no list of 1 to 5 logical-dims", EXPECTED);
    }
    std::vector<uint32_t> dimensions;
    for (const auto& entry : json[KEY])
    {
        const auto size =
            ns3::ParseUnsigned(entry.is_string() ? entry.get<std::string>() : entry.dump());
        if (!size || *size == 0 || *size > (1U << 24))
        {
            file.Fail(KEY, "a dimension is " + entry.dump(), "a number of ranks");
        }
        dimensions.push_back(static_cast<uint32_t>(*size));
    }
    return dimensions;
}

std::vector<CommGroup>
ReadCommunicators(const std::string& path, const std::vector<int>& ranks)
{
    static const std::string EXPECTED = R"({"0": [0, 1, 2, 3], ...})";
    const JsonFile file(path, EXPECTED);
    std::vector<CommGroup> groups;
    for (const auto& [name, members] : file.GetObject().items())
    {
        CommGroup group{static_cast<uint32_t>(groups.size()), GroupKind::Custom, name, {}};
        if (!members.is_array() || members.empty())
        {
            file.Fail(name, "communicator '" + name + "' is not a valid list of ranks", EXPECTED);
        }
        std::set<uint64_t> seen;
        for (const auto& member : members)
        {
            if (!member.is_number_unsigned() || member.get<uint64_t>() >= ranks.size() ||
                !seen.insert(member.get<uint64_t>()).second)
            {
                file.Fail(name,
                          "communicator '" + name + "' holds " + member.dump(),
                          "each rank below " + std::to_string(ranks.size()) + " once at most");
            }
            group.ranks.push_back(ranks[member.get<uint64_t>()]);
        }
        groups.push_back(std::move(group));
    }
    return groups;
}

} // namespace AstraSim
