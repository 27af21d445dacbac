/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "logical-topology.h"

#include "ns3/input-error.h"
#include "ns3/units.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace AstraSim
{

namespace
{

nlohmann::json
ReadJsonObject(const std::string& path, const std::string& what)
{
    std::ifstream file(path);
    if (!file)
    {
        throw ns3::InputError(path, 0, "cannot be read", what);
    }
    try
    {
        auto json = nlohmann::json::parse(file);
        if (!json.is_object())
        {
            throw ns3::InputError(path, 1, "is no JSON object", what);
        }
        return json;
    }
    catch (const nlohmann::json::parse_error& error)
    {
        throw ns3::InputError(path, 0, std::string("is no valid JSON: ") + error.what(), what);
    }
}

} // namespace

LogicalTopology::LogicalTopology(std::vector<uint32_t> dimensions, const std::vector<int>& ranks)
    : m_dimensions(std::move(dimensions))
{
    uint32_t id = FIRST_GROUP_ID;
    m_world = {id++, GroupKind::Custom, "world", ranks};
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
            group.id = id++;
            group.name = "dim" + std::to_string(dimension);
        }
    }
}

std::vector<uint32_t>
ReadLogicalDimensions(const std::string& path)
{
    static const std::string EXPECTED = R"({"logical-dims": ["8", "2"]})";
    const auto json = ReadJsonObject(path, EXPECTED);
    for (const auto& [key, value] : json.items())
    {
        if (key != "logical-dims")
        {
            throw ns3::InputError(path, 0, "unknown key '" + key + "'", "logical-dims");
        }
    }
    if (!json.contains("logical-dims") || !json["logical-dims"].is_array() ||
        json["logical-dims"].empty() || json["logical-dims"].size() > 5)
    {
        throw ns3::InputError(path, 0, "has no list of 1 to 5 logical-dims", EXPECTED);
    }
    std::vector<uint32_t> dimensions;
    for (const auto& entry : json["logical-dims"])
    {
        const auto size =
            ns3::ParseUnsigned(entry.is_string() ? entry.get<std::string>() : entry.dump());
        if (!size || *size == 0 || *size > (1U << 24))
        {
            throw ns3::InputError(path, 0, "a dimension is " + entry.dump(), "a number of ranks");
        }
        dimensions.push_back(static_cast<uint32_t>(*size));
    }
    return dimensions;
}

std::vector<CommGroup>
ReadCommunicators(const std::string& path, const std::vector<int>& ranks)
{
    static const std::string EXPECTED = R"({"0": [0, 1, 2, 3], ...})";
    const auto json = ReadJsonObject(path, EXPECTED);
    std::vector<CommGroup> groups;
    for (const auto& [name, members] : json.items())
    {
        CommGroup group{static_cast<uint32_t>(groups.size()), GroupKind::Custom, name, {}};
        if (!members.is_array() || members.empty())
        {
            throw ns3::InputError(path,
                                  0,
                                  "communicator '" + name + "' is no list of ranks",
                                  EXPECTED);
        }
        std::set<uint64_t> seen;
        for (const auto& member : members)
        {
            if (!member.is_number_unsigned() || member.get<uint64_t>() >= ranks.size() ||
                !seen.insert(member.get<uint64_t>()).second)
            {
                throw ns3::InputError(path,
                                      0,
                                      "communicator '" + name + "' holds " + member.dump(),
                                      "each rank below " + std::to_string(ranks.size()) +
                                          " once at most");
            }
            group.ranks.push_back(ranks[member.get<uint64_t>()]);
        }
        groups.push_back(std::move(group));
    }
    return groups;
}

} // namespace AstraSim
