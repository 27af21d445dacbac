/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "remote-memory.h"

#include "json-file.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace AstraSim
{

RemoteMemoryConfig
ReadRemoteMemoryConfig(const std::string& path)
{
    static const std::map<std::string, RemoteMemoryType> TYPES = {
        {"NO_MEMORY_EXPANSION", RemoteMemoryType::NoExpansion},
        {"PER_NODE_MEMORY_EXPANSION", RemoteMemoryType::PerNode},
        {"PER_NPU_MEMORY_EXPANSION", RemoteMemoryType::PerNpu},
        {"MEMORY_POOL", RemoteMemoryType::Pool},
    };
    const auto json = ReadJsonObject(path, "a remote memory file in JSON");
    RemoteMemoryConfig config;
    bool hasType = false;
    for (const auto& [key, value] : json.items())
    {
        const auto number = [&, &key = key, &value = value]() {
            if (!value.is_number() || value.get<double>() < 0)
            {
                throw ns3::InputError(path, 0, "'" + key + "' is " + value.dump(), "a number");
            }
            return value.get<double>();
        };
        if (key == "memory-type")
        {
            const auto type = TYPES.find(value.is_string() ? value.get<std::string>() : "");
            if (type == TYPES.end())
            {
                throw ns3::InputError(path,
                                      0,
                                      "'memory-type' is " + value.dump(),
                                      "NO_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION, "
                                      "PER_NPU_MEMORY_EXPANSION or MEMORY_POOL");
            }
            config.type = type->second;
            hasType = true;
        }
        else if (key == "remote-mem-latency")
        {
            config.latency = ns3::RoundToPs(number() * 1000);
        }
        else if (key == "remote-mem-bw")
        {
            config.gigabytesPerSecond = number();
        }
        else if (key == "num-npus-per-node")
        {
            config.npusPerNode = static_cast<uint32_t>(std::max(1.0, number()));
        }
        else if (key != "num-nodes" && key != "num-nvlink-switches")
        {
            throw ns3::InputError(path,
                                  0,
                                  "unknown key '" + key + "'",
                                  "memory-type, remote-mem-latency, remote-mem-bw, "
                                  "num-npus-per-node or num-nodes");
        }
    }
    if (!hasType)
    {
        throw ns3::InputError(path, 0, "has no memory-type", "e.g. NO_MEMORY_EXPANSION");
    }
    if (config.type != RemoteMemoryType::NoExpansion && config.gigabytesPerSecond <= 0)
    {
        throw ns3::InputError(path, 0, "has no remote-mem-bw", "GB/s above 0");
    }
    return config;
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
