/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TEXT_FABRIC_H
#define TEXT_FABRIC_H

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/nstime.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <sstream>
#include <string>

namespace ns3
{

/// Count in picoseconds from now on; ns-3 takes it once per process.
inline void
UsePicoseconds()
{
    if (Time::GetResolution() != Time::PS)
    {
        Time::SetResolution(Time::PS);
    }
}

/// A fabric from the texts of its files; the simulation ends with it.
class TextFabric
{
  public:
    TextFabric(const std::string& topology, const std::string& conf)
    {
        UsePicoseconds();
        std::istringstream topologyStream(topology);
        std::istringstream confStream(conf);
        m_topology = ClusterTopology::Read(topologyStream, "topology");
        m_conf = FabricConf::Read(confStream, "conf");
        m_conf.Check();
        fabric = CreateObject<RdmaFabric>();
        fabric->Build(m_topology, m_conf);
    }

    ~TextFabric()
    {
        Simulator::Destroy();
        fabric->Dispose();
    }

    TextFabric(const TextFabric&) = delete;
    TextFabric& operator=(const TextFabric&) = delete;

    Ptr<RdmaFabric> fabric;

  private:
    ClusterTopology m_topology; ///< the fabric's, and so is m_conf
    FabricConf m_conf;
};

} // namespace ns3

#endif /* TEXT_FABRIC_H */
