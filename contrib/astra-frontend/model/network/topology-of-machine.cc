/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topology-of-machine.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

using ns3::ClusterTopology;

namespace
{

using Kind = ClusterTopology::NodeKind;

constexpr double BITS_OF_GB = 8e9;
constexpr TimePs NVLINK_DELAY = 25'000; ///< as in topologies that gen_Topo_Template.py writes

/// Makes the nodes and links of a machine, the GPUs first.
class ClusterBuilder
{
  public:
    ClusterBuilder(const MachineModel& machine, uint32_t servers)
        : m_machine(machine),
          m_gpus(servers * machine.gpusPerServer)
    {
        m_topology.gpusPerServer = machine.gpusPerServer;
        m_topology.gpuType = machine.gpuType;
        m_topology.source = machine.source;
        m_topology.kind.assign(m_gpus, Kind::Host);
    }

    ClusterTopology Make()
    {
        for (uint32_t first = 0; first < m_gpus; first += m_machine.gpusPerServer)
        {
            JoinServer(first);
        }
        JoinNics();
        m_topology.Index();
        return std::move(m_topology);
    }

  private:
    uint32_t AddNode(Kind kind)
    {
        m_topology.kind.push_back(kind);
        return static_cast<uint32_t>(m_topology.kind.size() - 1);
    }

    void AddLink(uint32_t a, uint32_t b, double rateGBps, TimePs delay)
    {
        ClusterTopology::Link link{};
        link.a = a;
        link.b = b;
        link.rateBps = static_cast<uint64_t>(std::llround(std::max(1.0, rateGBps * BITS_OF_GB)));
        link.delayPs = delay;
        m_topology.links.push_back(link);
    }

    /// Add the NVLinks of the server of a first GPU.
    void JoinServer(uint32_t first)
    {
        const uint32_t end = first + m_machine.gpusPerServer;
        if (m_machine.isMesh)
        {
            const double rate = m_machine.nvlinkGBps / (m_machine.gpusPerServer - 1);
            for (uint32_t a = first; a < end; ++a)
            {
                for (uint32_t b = a + 1; b < end; ++b)
                {
                    AddLink(a, b, rate, NVLINK_DELAY);
                }
            }
            return;
        }
        for (uint32_t i = 0; i < m_machine.nvswitchesPerServer; ++i)
        {
            const uint32_t node = AddNode(Kind::NvSwitch);
            for (uint32_t gpu = first; gpu < end; ++gpu)
            {
                AddLink(gpu,
                        node,
                        m_machine.nvlinkGBps / m_machine.nvswitchesPerServer,
                        NVLINK_DELAY);
            }
        }
    }

    void JoinNics()
    {
        const TimePs delay = m_machine.networkDelay / 2;
        const double rate = m_machine.nicGBps / m_machine.nicsPerGpu;
        for (uint32_t plane = 0; plane < m_machine.nicsPerGpu; ++plane)
        {
            const uint32_t network = AddNode(Kind::Switch);
            for (uint32_t gpu = 0; gpu < m_gpus;)
            {
                // A server's last NIC may have fewer GPUs.
                const uint32_t left = m_machine.gpusPerServer - gpu % m_machine.gpusPerServer;
                const uint32_t end = gpu + std::min(left, m_machine.gpusPerNic);
                const bool isShared = end - gpu > 1;
                const uint32_t nic = isShared ? AddNode(Kind::Switch) : gpu;
                for (; gpu < end; ++gpu)
                {
                    if (isShared)
                    {
                        AddLink(gpu, nic, rate, 0);
                    }
                }
                AddLink(nic, network, rate, delay);
            }
        }
    }

    const MachineModel& m_machine;
    uint32_t m_gpus;
    ClusterTopology m_topology;
};

} // namespace

ClusterTopology
TopologyOfMachine(const MachineModel& machine, uint32_t servers)
{
    return ClusterBuilder(machine, servers).Make();
}

void
ScaleSharedNics(ClusterTopology& topology, double part)
{
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        if (const auto nic = topology.FindSharedNic(node))
        {
            uint64_t& rate = topology.links[nic->uplink].rateBps;
            rate = static_cast<uint64_t>(std::llround(static_cast<double>(rate) * part));
        }
    }
}

} // namespace AstraSim
