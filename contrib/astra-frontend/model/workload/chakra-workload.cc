/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chakra-workload.h"

#include "astra-frontend/model/system/logical-topology.h"
#include "chakra-rank.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace AstraSim
{

namespace
{

constexpr uint32_t COMPUTE_LAYER = 0;
constexpr uint32_t MEMORY_LAYER = 1;
constexpr uint32_t FIRST_COLLECTIVE_LAYER = 1; // CollectiveOp::None has none

/// @return the kind that a name such as TP0 tells, as scripts/workload.py names groups
GroupKind
KindOf(const std::string& name)
{
    const auto number = name.find_last_not_of("0123456789") + 1; // 0 if there are digits only
    if (number < name.size())
    {
        for (const auto kind : {GroupKind::Tp,
                                GroupKind::Dp,
                                GroupKind::Ep,
                                GroupKind::DpEp,
                                GroupKind::Pp,
                                GroupKind::Cp})
        {
            if (std::string_view(name).substr(0, number) == ToString(kind))
            {
                return kind;
            }
        }
    }
    return GroupKind::Custom;
}

} // namespace

ChakraWorkload::ChakraWorkload(std::string prefix,
                               std::string communicators,
                               const RemoteMemoryConfig& memory)
    : m_prefix(std::move(prefix)),
      m_communicators(std::move(communicators)),
      m_memoryConfig(memory)
{
    while (ns3::InputExists(PathOf(m_rankCount)))
    {
        ++m_rankCount;
    }
    if (ns3::InputExists(PathOf(m_rankCount + 1)) || m_rankCount == 0)
    {
        throw ns3::InputError(PathOf(m_rankCount), 0, "does not exist", "a trace for every rank");
    }
}

std::string
ChakraWorkload::PathOf(uint32_t rank) const
{
    return m_prefix + "." + std::to_string(rank) + ".et";
}

uint32_t
ChakraWorkload::GetRankCount() const
{
    return m_rankCount;
}

void
ChakraWorkload::Bind(const std::vector<int>& ranks)
{
    m_world = {0, GroupKind::Custom, "world", ranks};
    m_memory = std::make_unique<RemoteMemory>(m_memoryConfig, static_cast<uint32_t>(ranks.size()));
    if (m_communicators.empty())
    {
        return;
    }
    for (auto& group : ReadCommunicators(m_communicators, ranks))
    {
        group.id = static_cast<uint32_t>(m_groups.size()) + 1;
        const std::string name = group.name;
        m_groups.emplace(name, std::move(group));
    }
}

std::unique_ptr<RankWorkload>
ChakraWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    return std::make_unique<ChakraRank>(*this, rank, sys);
}

uint64_t
ChakraWorkload::GetCollectiveCount() const
{
    return 0;
}

uint32_t
ChakraWorkload::GetPassCount() const
{
    return 1;
}

uint32_t
ChakraWorkload::GetLayerCount() const
{
    return FIRST_COLLECTIVE_LAYER + static_cast<uint32_t>(CollectiveOp::Barrier) + 1;
}

std::string_view
ChakraWorkload::GetLayerName(uint32_t layer) const
{
    switch (layer)
    {
    case COMPUTE_LAYER:
        return "compute";
    case MEMORY_LAYER:
        return "memory";
    default:
        return ToString(static_cast<CollectiveOp>(layer - FIRST_COLLECTIVE_LAYER));
    }
}

uint32_t
ChakraWorkload::LayerOf(const ChakraNode& node)
{
    const auto collective = [](CollectiveOp op) {
        return FIRST_COLLECTIVE_LAYER + static_cast<uint32_t>(op);
    };
    switch (node.type)
    {
    case ChakraNode::Type::MemLoad:
    case ChakraNode::Type::MemStore:
        return MEMORY_LAYER;
    case ChakraNode::Type::Send:
    case ChakraNode::Type::Receive:
        return collective(CollectiveOp::SendRecv);
    case ChakraNode::Type::Collective:
        return collective(node.op);
    case ChakraNode::Type::Metadata:
    case ChakraNode::Type::Compute:
        break;
    }
    return COMPUTE_LAYER;
}

const std::string&
ChakraWorkload::GetFileName() const
{
    return m_prefix;
}

const CommGroup*
ChakraWorkload::FindGroup(const std::string& name) const
{
    if (name.empty())
    {
        return &m_world;
    }
    const auto found = m_groups.find(name);
    return found == m_groups.end() ? nullptr : &found->second;
}

void
ChakraWorkload::DefineGroups(const ChakraNode& node, const ChakraTrace& trace)
{
    if (node.inputs.find("pg_name") == std::string::npos)
    {
        return;
    }
    using Json = nlohmann::json;
    Json table = Json::parse(node.inputs, nullptr, false);
    // PyTorch wraps the table, as text, in a list.
    if (table.is_array() && table.size() == 1 && table[0].is_string())
    {
        table = Json::parse(table[0].get<std::string>(), nullptr, false);
    }
    if (!table.is_array())
    {
        trace.Fail(node.id, "holds no table of process groups", "a JSON list of {pg_name, ranks}");
    }
    for (const auto& entry : table)
    {
        if (!entry.is_object() || !entry.contains("pg_name") || !entry.contains("ranks") ||
            !entry["ranks"].is_array())
        {
            trace.Fail(node.id, "holds " + entry.dump(), "a process group {pg_name, ranks}");
        }
        const std::string name = entry["pg_name"].is_string() ? entry["pg_name"].get<std::string>()
                                                              : entry["pg_name"].dump();
        CommGroup group{static_cast<uint32_t>(m_groups.size()) + 1, KindOf(name), name, {}};
        for (const auto& rank : entry["ranks"])
        {
            if (!rank.is_number_unsigned() || rank.get<uint64_t>() >= m_world.ranks.size())
            {
                trace.Fail(node.id,
                           "has rank " + rank.dump() + " in process group " + name,
                           "ranks below " + std::to_string(m_world.ranks.size()));
            }
            group.ranks.push_back(m_world.ranks[rank.get<uint64_t>()]);
        }
        if (group.ranks.empty())
        {
            group.ranks = m_world.ranks; // as PyTorch writes the default group
        }
        const auto [place, isNew] = m_groups.emplace(name, group);
        if (!isNew && place->second.ranks != group.ranks)
        {
            trace.Fail(node.id,
                       "defines process group " + name + " differently from another rank",
                       "the same ranks in every file");
        }
    }
}

} // namespace AstraSim
