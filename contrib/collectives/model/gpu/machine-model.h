/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MACHINE_MODEL_H
#define MACHINE_MODEL_H

#include "gpu-table.h"

#include "ns3/collective-types.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// @return the built-in profile of a GPU type. @throw ns3::InputError if there is none
GpuProfile FindGpuProfile(const std::string& gpuType);

/// The machine as collectives see it.
struct MachineModel
{
    GpuProfile gpu;             ///< H100's figures where nobody names a type
    std::string gpuType;        ///< as the topology has it; empty where it has none
    std::string source;         ///< the topology's file, for messages
    std::size_t gpuTypeLine{0}; ///< where the file says it; 0 if unknown
    uint32_t gpusPerServer{8};
    uint32_t nvswitchesPerServer{1}; ///< 0: NVLinks join GPUs directly, or there are none
    bool switchesJoinServers{true};  ///< whether one NVSwitch reaches all GPUs of a server (NVLS)
    bool isMesh{false};              ///< a link joins every two GPUs of a server, without switches
    bool isRailOnly{false};          ///< some GPUs meet in another GPU's NVLink only
    double nvlinkGBps{360};          ///< of a GPU in one direction, as the topology has it
    double nicGBps{50};              ///< of all NICs of one GPU together
    uint32_t nicsPerGpu{1};          ///< at least 1
    uint32_t gpusPerNic{1};          ///< above 1: neighbours of a server share a NIC of nicGBps
    /// Latency of the shortest path's links between NICs, one way; NCCL's latencies have it in
    /// them.
    TimePs networkDelay{0};
    /// Payload of the network's packets, which leave when a GPU has written them; 0 for none.
    uint64_t packetBytes{0};

    /// For a machine without a topology: servers of GPUs with direct links have no NVSwitch.
    void SetServersOf(const GpuProfile& profile)
    {
        // A GH200's NVLinks go to each other GPU, too, and are taken for an NVSwitch's, as are
        // links that join some GPUs only.
        const bool hasLinks = IsAmd(profile.generation) || !HasNccl(profile.generation);
        isMesh = hasLinks && profile.meshed && !profile.rings && gpusPerServer > 1;
        nvswitchesPerServer = isMesh ? 0 : nvswitchesPerServer;
    }

    /// @return the server of a rank
    uint32_t ServerOf(int rank) const
    {
        return static_cast<uint32_t>(rank) / gpusPerServer;
    }

    /// @return whether its NVSwitches may reduce
    bool HasNvls() const
    {
        return nvswitchesPerServer > 0 && switchesJoinServers && !gpu.meshed &&
               !IsAmd(gpu.generation) && gpu.generation != GpuGeneration::Ampere;
    }

    /// @return whether GPUs of a server reach each other without their NICs
    bool JoinsServers() const
    {
        return nvswitchesPerServer > 0 || isMesh;
    }
};

/// A group's ranks by server; NCCL calls servers nodes.
struct GroupShape
{
    /// Per server, in the order of the group's ranks: indices in the group.
    std::vector<std::vector<uint32_t>> nodes;

    GroupShape(const CommGroup& group, const MachineModel& machine);

    uint32_t GetRanks() const
    {
        return m_ranks;
    }

    uint32_t GetNodes() const
    {
        return static_cast<uint32_t>(nodes.size());
    }

    /// @return ranks of the node that has most
    uint32_t GetRanksPerNode() const
    {
        return m_ranksPerNode;
    }

    /// @return ranks of the node that has fewest
    uint32_t GetFewestRanks() const
    {
        return m_fewestRanks;
    }

    /// @return whether a link joins every two ranks of a node
    bool IsMesh() const
    {
        return m_isMesh;
    }

    /// @return the orders in which rings visit the GPUs of a server; null where any will do
    const ServerRings* GetRings() const
    {
        return m_rings;
    }

    /// @return whether every node has the same number of ranks
    bool IsBalanced() const
    {
        return m_fewestRanks == m_ranksPerNode;
    }

    /// @return how many of a node's ranks share a NIC
    uint32_t GetGpusPerNic() const
    {
        return m_gpusPerNic;
    }

    /// @return the part of a NIC that the node's ranks have while all GPUs that share it send
    /// alike: in groups of the same kind
    double GetNicShare() const
    {
        return static_cast<double>(m_gpusPerNic) / m_sharing;
    }

    /// @return a number of the NIC of a rank, or of its NICs: ranks that share one have the same
    uint32_t NicOf(uint32_t index) const
    {
        return m_nodeOf[index] * m_rails + m_railOf[index] / m_sharing;
    }

    /// @return the rail of a rank of the group: the GPU's place in its server
    uint32_t RailOf(uint32_t index) const
    {
        return m_railOf[index];
    }

    /// @return the rank of a node that is on a rail, if there is one
    std::optional<uint32_t> FindOnRail(uint32_t node, uint32_t rail) const
    {
        const uint32_t index = m_onRail[std::size_t{node} * m_rails + rail];
        return index == NONE ? std::nullopt : std::optional(index);
    }

    /// @return the node of each rank
    const std::vector<uint32_t>& GetServers() const
    {
        return m_nodeOf;
    }

    /// @return the number of the NIC of each rank, see NicOf()
    std::vector<uint32_t> GetNics() const
    {
        std::vector<uint32_t> nics;
        for (uint32_t rank = 0; rank < m_ranks; ++rank)
        {
            nics.push_back(NicOf(rank));
        }
        return nics;
    }

    /// @return the number of a rank in nodes[NodeOf(index)]
    uint32_t PlaceInNode(uint32_t index) const
    {
        return m_placeInNode[index];
    }

    /// @return the node of a rank of the group
    uint32_t NodeOf(uint32_t index) const
    {
        return m_nodeOf[index];
    }

  private:
    uint32_t m_ranks;
    uint32_t m_ranksPerNode{0};
    uint32_t m_fewestRanks{UINT32_MAX};
    static constexpr uint32_t NONE = UINT32_MAX;

    uint32_t m_rails;
    bool m_isMesh;
    const ServerRings* m_rings;
    uint32_t m_sharing; ///< GPUs of the machine that share a NIC
    uint32_t m_gpusPerNic{1};
    std::vector<uint32_t> m_nodeOf;
    std::vector<uint32_t> m_placeInNode;
    std::vector<uint32_t> m_railOf;
    std::vector<uint32_t> m_onRail; ///< by node and rail
};

} // namespace AstraSim

#endif /* MACHINE_MODEL_H */
