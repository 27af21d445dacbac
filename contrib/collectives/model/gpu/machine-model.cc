/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "machine-model.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace AstraSim
{

GpuProfile
FindGpuProfile(const std::string& gpuType)
{
    const GpuTable table;
    const GpuProfile* profile = table.Find(gpuType);
    if (!profile)
    {
        throw ns3::InputError("GPU type",
                              0,
                              "'" + gpuType + "' is not a known GPU type",
                              table.Expected(gpuType));
    }
    return *profile;
}

GroupShape::GroupShape(const CommGroup& group, const MachineModel& machine)
    : m_ranks(static_cast<uint32_t>(group.ranks.size())),
      m_rails(machine.gpusPerServer),
      m_isMesh(machine.isMesh),
      m_rings(machine.gpusPerServer == ServerRings::GPUS ? machine.gpu.rings : nullptr),
      m_sharing(machine.gpusPerNic),
      m_nodeOf(group.ranks.size()),
      m_placeInNode(group.ranks.size()),
      m_railOf(group.ranks.size())
{
    std::unordered_map<uint32_t, uint32_t> nodeOfServer;
    for (uint32_t i = 0; i < group.ranks.size(); ++i)
    {
        // Where only NICs join the GPUs of a server, each is a node of its own: its neighbours are
        // as far as any other.
        const uint32_t server = machine.JoinsServers() ? machine.ServerOf(group.ranks[i])
                                                       : static_cast<uint32_t>(group.ranks[i]);
        const auto [it, isNew] =
            nodeOfServer.try_emplace(server, static_cast<uint32_t>(nodes.size()));
        if (isNew)
        {
            nodes.emplace_back();
        }
        m_placeInNode[i] = static_cast<uint32_t>(nodes[it->second].size());
        nodes[it->second].push_back(i);
        m_nodeOf[i] = it->second;
        m_railOf[i] = static_cast<uint32_t>(group.ranks[i]) % m_rails;
    }
    m_onRail.assign(nodes.size() * m_rails, NONE);
    for (uint32_t i = 0; i < m_ranks; ++i)
    {
        m_onRail[std::size_t{m_nodeOf[i]} * m_rails + m_railOf[i]] = i;
    }
    std::set<uint32_t> nics;
    for (const uint32_t index : nodes.empty() ? std::vector<uint32_t>{} : nodes.front())
    {
        nics.insert(NicOf(index));
    }
    m_gpusPerNic = nics.empty() ? 1 : static_cast<uint32_t>(nodes.front().size() / nics.size());
    for (const auto& node : nodes)
    {
        m_ranksPerNode = std::max(m_ranksPerNode, static_cast<uint32_t>(node.size()));
        m_fewestRanks = std::min(m_fewestRanks, static_cast<uint32_t>(node.size()));
    }
}

} // namespace AstraSim
