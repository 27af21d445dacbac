/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAKRA_WORKLOAD_H
#define CHAKRA_WORKLOAD_H

#include "astra-frontend/model/chakra/chakra-trace.h"
#include "astra-frontend/model/system/remote-memory.h"
#include "astra-frontend/model/system/workload.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Chakra execution traces, one file per rank: PREFIX.0.et, PREFIX.1.et, ...
 *
 * Its "layers" are kinds of nodes (compute, memory, and each collective), since a trace has
 * millions of nodes and no layers.
 */
class ChakraWorkload : public Workload
{
  public:
    /**
     * @param prefix of the files
     * @param communicators a communicator file, or empty
     * @param memory remote memory
     * @throw ns3::InputError if there is no file of rank 0 or one is missing between others
     */
    ChakraWorkload(const std::string& prefix,
                   std::string communicators,
                   const RemoteMemoryConfig& memory);

    void Bind(const std::vector<int>& ranks) override;
    std::unique_ptr<RankWorkload> CreateRank(uint32_t rank, Sys& sys) override;

    /// @return the "layer" of a node
    static uint32_t LayerOf(const ChakraNode& node);

    /// @return the group a node names; null if there is none of that name
    const CommGroup* FindGroup(const std::string& name) const;

    /// Take the process groups from a metadata node. @param trace named in errors
    void DefineGroups(const ChakraNode& node, const ChakraTrace& trace);

    /// @return the network's rank of a rank of the job, or -1 if there is none
    int NetworkRank(uint32_t jobRank) const
    {
        return jobRank < m_world.ranks.size() ? m_world.ranks[jobRank] : -1;
    }

    RemoteMemory& GetRemoteMemory()
    {
        return *m_memory;
    }

    /// @return the trace file of @p rank
    std::string PathOf(uint32_t rank) const;

  private:
    /// @return whether a rank has a trace although one below it has none
    bool HasLaterTrace() const;

    std::string m_communicators;
    RemoteMemoryConfig m_memoryConfig;
    CommGroup m_world;
    std::map<std::string, CommGroup> m_groups;
    std::unique_ptr<RemoteMemory> m_memory;
};

} // namespace AstraSim

#endif /* CHAKRA_WORKLOAD_H */
