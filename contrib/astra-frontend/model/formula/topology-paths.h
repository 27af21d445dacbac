/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TOPOLOGY_PATHS_H
#define TOPOLOGY_PATHS_H

#include "message-paths.h"

#include "ns3/cluster-topology.h"
#include "ns3/fabric-routes.h"
#include "ns3/path-timing.h"

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Message times from a topology: frames that nothing delays, over the shortest path.
 *
 * The time of a message alone is, to the picosecond, that of the packet-level fabric without
 * congestion control. The links next to the ranks are the ports; the links between switches delay
 * messages and hold any number of them.
 */
class TopologyPaths : public MessagePaths
{
  public:
    /// Sizes of a host's frames.
    struct Sizes
    {
        ns3::FrameSizes network;
        ns3::FrameSizes nvlink;
        uint32_t queuePairs{1}; ///< of a message on each NIC
    };

    /// @param topology outlives the object
    TopologyPaths(const ns3::ClusterTopology& topology, const Sizes& sizes);

    uint32_t GetRankCount() const override;
    uint32_t GetPortCount() const override;
    ns3::MessageCut::Parts Cut(uint32_t src,
                               uint32_t dst,
                               uint64_t wireBytes,
                               uint32_t channel,
                               uint16_t plane) override;
    std::optional<MessagePath> Find(uint32_t src,
                                    uint32_t dst,
                                    uint32_t port,
                                    uint64_t wireBytes,
                                    uint64_t rateCapBps) override;
    bool ShareReducingSwitch(std::span<const int> ranks) const override;

  private:
    /// A path between two ranks.
    struct Way
    {
        uint32_t egress;
        uint32_t ingress;
        uint32_t shape;
    };

    /// Properties that all messages of two ranks share.
    struct Pair
    {
        boost::container::small_vector<Way, 2> ways; ///< one for each port that begins a path
        const ns3::MessageCut* cut{nullptr};         ///< null without a path
    };

    /// Links of a path at which messages wait for each other: those next to the ranks, or others
    /// that are slower or that ranks share.
    struct Ends
    {
        bool nvlink;
        std::size_t egress;  ///< number of the hop next to the source
        std::size_t ingress; ///< number of the hop next to the destination

        auto operator<=>(const Ends&) const = default;
    };

    /// Paths with the same rates and delays.
    struct Shape
    {
        ns3::PathInfo path;
        Ends ends;
        ns3::FrameSizes sizes;
        TimePs acknowledgement{0};
        TimePs slowestFrame{0}; ///< time of a full frame on the slowest link
    };

    /// Times of a message of a size on a shape.
    struct Times
    {
        TimePs egress;
        TimePs ingress;
        TimePs alone;
    };

    const Pair& FindPair(uint32_t src, uint32_t dst);
    /// @return the path that begins at a port of its source
    std::optional<ns3::PathInfo> PathFrom(uint32_t src, uint32_t dst, uint16_t port) const;
    Ends FindEnds(const ns3::PathInfo& path, bool nvlink) const;
    uint32_t FindShape(const ns3::PathInfo& path, const Ends& ends);
    const Times& FindTimes(uint32_t shape, uint64_t wireBytes);
    uint32_t PortAt(uint32_t node, uint32_t link, bool egress) const;

    using ShapeKey = std::pair<Ends, std::vector<std::pair<uint64_t, int64_t>>>;

    const ns3::ClusterTopology& m_topology;
    ns3::FabricRoutes m_routes;
    Sizes m_sizes;
    std::vector<bool> m_isSharedNic; ///< by node id
    boost::unordered_flat_map<uint64_t, Pair> m_pairs;
    std::map<std::pair<uint32_t, std::vector<uint16_t>>, ns3::MessageCut>
        m_cuts; ///< by source and ports
    std::map<ShapeKey, uint32_t> m_shapeNumbers;
    std::vector<Shape> m_shapes;
    boost::unordered_flat_map<std::pair<uint32_t, uint64_t>, Times> m_times;
};

} // namespace AstraSim

#endif /* TOPOLOGY_PATHS_H */
