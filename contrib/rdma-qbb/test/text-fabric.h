/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TEXT_FABRIC_H
#define TEXT_FABRIC_H

#include "applied-conf.h"
#include "text-topology.h"

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

/// A fabric from the texts of its files, not built yet; the simulation ends with it.
class TextFabric
{
  public:
    TextFabric(const std::string& topologyText, const std::string& confText)
        : m_applied((UsePicoseconds(), confText)),
          conf(m_applied.conf),
          fabric(CreateObject<RdmaFabric>())
    {
        topology = ReadTopology(topologyText);
    }

    ~TextFabric()
    {
        Simulator::Destroy();
        fabric->Dispose();
    }

    TextFabric(const TextFabric&) = delete;
    TextFabric& operator=(const TextFabric&) = delete;

    /// Set an attribute's default until the end of the object; before Build().
    void Set(const std::string& attribute, const AttributeValue& value)
    {
        m_applied.Set({attribute, value.Copy()});
    }

    void Build()
    {
        fabric->Build(topology, conf);
    }

    /// @return a topology of @p hosts hosts around one switch, in the three-field form
    static std::string Star(uint32_t hosts, const std::string& rate, const std::string& delay)
    {
        std::ostringstream text;
        text << hosts + 1 << " 1 " << hosts << "\n" << hosts << "\n";
        for (uint32_t i = 0; i < hosts; ++i)
        {
            text << hosts << " " << i << " " << rate << " " << delay << " 0\n";
        }
        return text.str();
    }

  private:
    AppliedConf m_applied;

  public:
    ClusterTopology topology; ///< the fabric's, and so is conf
    FabricConf& conf;
    Ptr<RdmaFabric> fabric;
};

/// The same, built.
class BuiltFabric : public TextFabric
{
  public:
    BuiltFabric(const std::string& topologyText, const std::string& confText)
        : TextFabric(topologyText, confText)
    {
        Build();
    }
};

} // namespace ns3

#endif /* TEXT_FABRIC_H */
