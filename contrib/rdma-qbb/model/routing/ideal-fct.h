/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDEAL_FCT_H
#define IDEAL_FCT_H

#include "path-timing.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief How long messages take alone: the "ideal" column of fct.txt.
 *
 * The time until the sender has the last acknowledgement when nothing else is on the network and
 * only links limit it, over the fastest of the shortest paths. So no flow's slowdown is below 1,
 * and that of a flow alone, on paths of equal rates, is 1. Where switches spread the packets of a
 * flow over several paths, only the first and the last link limit its rate.
 *
 * Most pairs of hosts have paths like those of other pairs, so paths are kept by kind.
 */
class IdealFct
{
  public:
    /// What a pair of hosts has that was not looked up.
    static constexpr uint32_t UNKNOWN = UINT32_MAX;

    /// @param routes borrowed @param spreads whether packets of a flow take several paths
    IdealFct(const FabricRoutes& routes, bool spreads);

    /// @return number of the kind of paths from one host to another, which some path connects;
    /// valid until routes change
    uint32_t KindOf(uint32_t src, uint32_t dst);

    /// @return the time that a message takes alone over paths of a kind
    int64_t Of(uint32_t kind, uint64_t bytes, const FrameSizes& sizes) const;

  private:
    /// Rates and delays of a path's links, from the source on.
    using Profile = std::vector<std::pair<uint64_t, int64_t>>;

    bool IsEven() const;
    /// @return the different paths from a node by some of its ports to a host
    std::vector<Profile> ProfilesBy(uint32_t node,
                                    std::span<const uint16_t> ports,
                                    uint32_t dst) const;
    int64_t Delivery(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes) const;

    const FabricRoutes& m_routes;
    bool m_spreads;
    bool m_even; ///< all shortest paths between two hosts are alike
    std::map<std::vector<Profile>, uint32_t> m_numbers;
    std::vector<std::vector<PathInfo>> m_kinds;
};

} // namespace ns3

#endif /* IDEAL_FCT_H */
