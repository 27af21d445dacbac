/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REMOTE_MEMORY_H
#define REMOTE_MEMORY_H

#include "ns3/rank-network.h"

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// Place of memory beyond an NPU's own.
enum class RemoteMemoryType : uint8_t
{
    NoExpansion, ///< nowhere: loads and stores are refused
    PerNode,     ///< one per server, shared by its NPUs
    PerNpu,      ///< one per NPU
    Pool,        ///< one for all
};

/// Contents of a remote memory file.
struct RemoteMemoryConfig
{
    RemoteMemoryType type{RemoteMemoryType::NoExpansion};
    TimePs latency{0};            ///< remote-mem-latency
    double gigabytesPerSecond{0}; ///< remote-mem-bw, of each memory
    uint32_t npusPerNode{1};      ///< num-npus-per-node, of PER_NODE_MEMORY_EXPANSION
};

/// @param path a remote memory file (JSON) @return its contents @throw ns3::InputError
RemoteMemoryConfig ReadRemoteMemoryConfig(const std::string& path);

/// @return the keys, as Rows::ToCsv() has them
std::string DescribeRemoteMemoryKeys();

/// The remote memories of a job; accesses of one memory follow each other.
class RemoteMemory
{
  public:
    /// @param config of the memories @param ranks of the job
    RemoteMemory(const RemoteMemoryConfig& config, uint32_t ranks);

    /// @return whether there is any
    bool Exists() const
    {
        return m_config.type != RemoteMemoryType::NoExpansion;
    }

    /// Rank @p jobRank loads or stores @p bytes. @return the time at which it is done
    TimePs Access(uint32_t jobRank, uint64_t bytes, TimePs now);

  private:
    RemoteMemoryConfig m_config;
    std::vector<TimePs> m_busyUntil;
};

} // namespace AstraSim

#endif /* REMOTE_MEMORY_H */
