/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "remote-memory.h"

#include "json-file.h"

#include "ns3/clock-range.h"
#include "ns3/rows.h"

#include <algorithm>
#include <optional>

namespace AstraSim
{

namespace
{

constexpr double MOST = 1e18;

/// @param config receives the values @param unused receives those without effect
ns3::Rows
RowsOf(const std::string& path, RemoteMemoryConfig& config, uint64_t& unused)
{
    const auto parseNs = [](std::string_view text) {
        const auto ns = ns3::RealWithin(text, 0, MOST);
        return ns ? std::optional(ns3::RoundToPs(*ns * 1000)) : std::nullopt;
    };
    return {path,
            {{"memory-type",
              ns3::Word(config.type,
                        {{"NO_MEMORY_EXPANSION", RemoteMemoryType::NoExpansion},
                         {"PER_NODE_MEMORY_EXPANSION", RemoteMemoryType::PerNode},
                         {"PER_NPU_MEMORY_EXPANSION", RemoteMemoryType::PerNpu},
                         {"MEMORY_POOL", RemoteMemoryType::Pool}}),
              "no further memory, one for each node, one for each rank, or one for all"},
             {"remote-mem-latency",
              ns3::Parsed(config.latency,
                          parseNs,
                          "nanoseconds, 0 or more",
                          "0",
                          ns3::RowValue::Kind::Number),
              "of an access"},
             {"remote-mem-bw", ns3::Real(config.gigabytesPerSecond, 0, MOST), "GB/s"},
             {"num-npus-per-node",
              ns3::Whole(config.npusPerNode, 1, UINT32_MAX),
              "with ``PER_NODE_MEMORY_EXPANSION``, the ranks that share a memory"},
             {"num-nodes", ns3::Whole(unused, 0, UINT32_MAX), "accepted, no effect"},
             {"num-nvlink-switches", ns3::Whole(unused, 0, UINT32_MAX), "accepted, no effect"}}};
}

} // namespace

RemoteMemoryConfig
ReadRemoteMemoryConfig(const std::string& path)
{
    const JsonFile file(path, "a remote memory file in JSON");
    RemoteMemoryConfig config;
    uint64_t unused = 0;
    ns3::Rows rows = RowsOf(path, config, unused);
    file.ReadInto(rows);
    if (!rows.IsGiven("memory-type"))
    {
        file.Fail("memory-type", "has no memory-type", "e.g. NO_MEMORY_EXPANSION");
    }
    if (config.type != RemoteMemoryType::NoExpansion && config.gigabytesPerSecond <= 0)
    {
        file.Fail("remote-mem-bw", "has no remote-mem-bw", "GB/s above 0");
    }
    if (config.type == RemoteMemoryType::PerNode && !rows.IsGiven("num-npus-per-node"))
    {
        file.Fail("memory-type", "has no num-npus-per-node", "the NPUs that share a memory");
    }
    return config;
}

std::string
DescribeRemoteMemoryKeys()
{
    RemoteMemoryConfig config;
    uint64_t unused = 0;
    return RowsOf("", config, unused).ToCsv();
}

RemoteMemory::RemoteMemory(const RemoteMemoryConfig& config, uint32_t ranks)
    : m_config(config)
{
    switch (config.type)
    {
    case RemoteMemoryType::NoExpansion:
        break;
    case RemoteMemoryType::PerNode:
        m_busyUntil.resize((ranks + config.npusPerNode - 1) / config.npusPerNode, 0);
        break;
    case RemoteMemoryType::PerNpu:
        m_busyUntil.resize(ranks, 0);
        break;
    case RemoteMemoryType::Pool:
        m_busyUntil.resize(1, 0);
        break;
    }
}

TimePs
RemoteMemory::Access(uint32_t jobRank, uint64_t bytes, TimePs now)
{
    const bool isPerNode = m_config.type == RemoteMemoryType::PerNode;
    const uint32_t memory = isPerNode ? jobRank / m_config.npusPerNode : jobRank;
    TimePs& busyUntil = m_busyUntil[m_busyUntil.size() == 1 ? 0 : memory];
    const TimePs transfer =
        ns3::RoundToPs(static_cast<double>(bytes) * 1000.0 / m_config.gigabytesPerSecond);
    busyUntil = ns3::AddPs(std::max(busyUntil, now), transfer);
    return ns3::AddPs(busyUntil, m_config.latency);
}

} // namespace AstraSim
