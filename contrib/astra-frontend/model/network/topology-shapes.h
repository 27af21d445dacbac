/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TOPOLOGY_SHAPES_H
#define TOPOLOGY_SHAPES_H

#include "ns3/cluster-topology.h"

#include <cstdint>
#include <span>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Tells which groups of ranks a topology serves alike.
 *
 * Groups of one shape lie on servers alike and meet links of the same rates and delays in the same
 * places, from their GPUs up to the highest switches. Hashes may still spread their messages
 * otherwise. Links between switches of one level, as in a torus, are left out.
 */
class TopologyShapes
{
  public:
    /// @param topology outlives the object
    explicit TopologyShapes(const ns3::ClusterTopology& topology);

    /// @return whether all links between switches lead up or down, so that none is left out
    bool HasLevels() const
    {
        return m_hasLevels;
    }

    /// @return equal numbers for groups of one shape
    std::vector<uint64_t> Find(std::span<const int> ranks) const;

  private:
    const ns3::ClusterTopology& m_topology;
    std::vector<uint32_t> m_levels; ///< by node id: links to the nearest host
    bool m_hasLevels;
};

} // namespace AstraSim

#endif /* TOPOLOGY_SHAPES_H */
