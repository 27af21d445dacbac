/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IN_NETWORK_PLANNER_H
#define IN_NETWORK_PLANNER_H

#include "ns3/fabric-routes.h"
#include "ns3/in-network-engine.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ns3
{

struct FabricParts;

/**
 * @ingroup rdma-qbb
 * @brief Finds the switches of a fabric that carry out an in-network operation: an NVSwitch that
 * joins its hosts, or a tree of network switches.
 */
class InNetworkPlanner
{
  public:
    /// @param fabric,links outlive the object
    /// @param usesNetwork whether network switches carry out operations, too
    InNetworkPlanner(const FabricParts& fabric, const LinkState& links, bool usesNetwork);

    /// See RdmaFabric::PlanInNetwork().
    bool Plan(const std::vector<uint32_t>& hosts, uint32_t stripe, InNetworkSpec& spec);

  private:
    bool PlanOnNvSwitch(const std::vector<uint32_t>& hosts,
                        uint32_t stripe,
                        InNetworkSpec& spec) const;
    bool PlanOnSwitches(const std::vector<uint32_t>& hosts, uint32_t stripe, InNetworkSpec& spec);
    /// @return the one of @p tops that a tree has; the same tree keeps its top while it can
    uint32_t ChooseTop(const std::vector<uint32_t>& tops,
                       const std::vector<uint32_t>& hosts,
                       uint32_t stripe);
    /// @return the switches with the least distance to their farthest host, and of those the least
    /// sum of distances
    std::vector<uint32_t> FindTops(const std::vector<uint32_t>& hosts) const;
    /// @return whether a link between network switches may carry contributions
    bool IsUsable(uint32_t link) const;

    const FabricParts& m_fabric;
    const LinkState& m_links;
    bool m_usesNetwork;
    /// Top switch of each tree, by its hosts and stripe.
    std::map<std::pair<std::vector<uint32_t>, uint32_t>, uint32_t> m_topOf;
    std::map<uint32_t, uint32_t> m_treesOf; ///< trees that a switch is the top of
};

} // namespace ns3

#endif /* IN_NETWORK_PLANNER_H */
