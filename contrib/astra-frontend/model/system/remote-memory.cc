/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "remote-memory.h"

#include "json-file.h"

#include "ns3/clock-range.h"

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
    const JsonFile file(path, "a remote memory file in JSON");
    const auto& json = file.GetObject();
    RemoteMemoryConfig config;
    for (const auto& [key, value] : json.items())
    {
        const auto fail = [&file, &key = key, &value = value](const char* expected) {
            file.Fail(key, "'" + key + "' is " + value.dump(), expected);
        };
        const auto number = [&fail, &value = value]() {
            if (!value.is_number() || value.get<double>() < 0)
            {
                fail("a number that is not negative");
            }
            return value.get<double>();
        };
        if (key == "memory-type")
        {
            const auto type = TYPES.find(value.is_string() ? value.get<std::string>() : "");
            if (type == TYPES.end())
            {
                fail("NO_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION or "
                     "MEMORY_POOL");
            }
            config.type = type->second;
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
            if (!value.is_number_unsigned() || value == 0 || value > UINT32_MAX)
            {
                fail("a whole number of at least 1");
            }
            config.npusPerNode = value.get<uint32_t>();
        }
        else if (key != "num-nodes" && key != "num-nvlink-switches")
        {
            file.Fail(key,
                      "unknown key '" + key + "'",
                      "memory-type, remote-mem-latency, remote-mem-bw, num-npus-per-node or "
                      "num-nodes");
        }
    }
    if (!json.contains("memory-type"))
    {
        file.Fail("memory-type", "has no memory-type", "e.g. NO_MEMORY_EXPANSION");
    }
    if (config.type != RemoteMemoryType::NoExpansion && config.gigabytesPerSecond <= 0)
    {
        file.Fail("remote-mem-bw", "has no remote-mem-bw", "GB/s above 0");
    }
    if (config.type == RemoteMemoryType::PerNode && !json.contains("num-npus-per-node"))
    {
        file.Fail("memory-type", "has no num-npus-per-node", "the NPUs that share a memory");
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
