/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PLANE_NETWORK_H
#define PLANE_NETWORK_H

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/forwarding-network.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Gives each class of traffic its plane of the network (conf key PLANE).
 *
 * A plane is the n-th NIC of every host, with the links and switches that it reaches. Traffic
 * within a server, over NVLink, has no plane.
 */
class TrafficPlanes
{
  public:
    /**
     * @param conf its lines PLANE
     * @param qpsPerConnection more than one would spread a message over planes
     * @throw ns3::InputError for a class or a plane that does not exist
     */
    TrafficPlanes(const ns3::FabricConf& conf,
                  const ns3::ClusterTopology& topology,
                  uint64_t qpsPerConnection);

    /// @return whether no class has a plane
    bool IsEmpty() const
    {
        return m_planeOf.empty();
    }

    /// @return the plane of a message between two hosts, if it is given one
    std::optional<uint32_t> PlaneOf(uint16_t purpose, uint32_t src, uint32_t dst) const;

  private:
    const ns3::ClusterTopology& m_topology;
    std::vector<int32_t> m_planeOf; ///< by purpose; -1: any
};

/// A rank's network that sends each class of traffic by its plane.
class PlaneNetwork : public ForwardingNetwork
{
  public:
    /// @param network carries the messages; borrowed @param planes borrowed
    PlaneNetwork(RankNetwork& network, const TrafficPlanes& planes);

    void Send(const SendRequest& request) override;

  private:
    const TrafficPlanes& m_planes;
};

} // namespace AstraSim

#endif /* PLANE_NETWORK_H */
