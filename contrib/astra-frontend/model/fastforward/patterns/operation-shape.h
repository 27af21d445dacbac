/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OPERATION_SHAPE_H
#define OPERATION_SHAPE_H

#include "astra-frontend/model/flow/flow-router.h"
#include "digest.h"
#include "part-pattern.h"

#include "ns3/gpu-model.h"

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace AstraSim
{

/// The flows of an operation and their paths, wherever in the network it is.
struct OperationShape
{
    /// The same for operations with the same flows over links of the same rates and delays that are
    /// joined in the same way; numbers of nodes and ranks do not enter.
    Digest digest;
    /// Directed links that its data and acknowledgements may take, in an order that operations of
    /// the same shape share.
    std::vector<uint32_t> links;
    std::size_t connections{0}; ///< pairs of ranks and channels that it sends on
    /// Whether switches choose between several paths for a connection: a later one of the same pair
    /// of hosts may get another.
    bool hasChoice{false};
};

/**
 * @return a digest for each operation of a part, of its shape and of the links that it shares with
 * the others. Operations that correspond in two parts of the same kind have the same digest.
 */
std::vector<Digest> LikenessOf(const std::vector<const OperationShape*>& operations);

/**
 * @ingroup astra-frontend
 * @brief Works out shapes of operations on a cluster.
 *
 * Paths are those of connections that are the first of their pair of hosts. A collective has many
 * connections: where switches have a choice, all links that a later one could be given count as
 * taken.
 */
class ShapeFinder
{
  public:
    /**
     * @param topology outlives the object
     * @param ecmpSeed as ns3::SwitchNode::EcmpSeed
     * @param messagesKeepPaths whether a message keeps to one path
     */
    ShapeFinder(const ns3::ClusterTopology& topology, uint32_t ecmpSeed, bool messagesKeepPaths);

    /// @param timed the flows of a collective; none for a message
    OperationShape Find(const PartOperation& operation, const TimedGraph& timed);

    /// @return the directed links that messages and acknowledgements of a pair may take
    std::vector<uint32_t> FindLinks(int src, int dst, uint32_t channel);

    /// @return number of directed links of the cluster
    uint32_t CountLinks() const
    {
        return static_cast<uint32_t>(2 * m_topology.links.size());
    }

  private:
    /// A source and a destination, and the channel between them.
    struct Pair
    {
        uint32_t src;
        uint32_t dst;
        uint32_t channel;
    };

    /// The links of some pairs, and how they are joined. They take most of the work, and are the
    /// same for collectives of all sizes.
    using Paths = OperationShape;

    void AddLanes(Digest& digest, const PartOperation& operation, const TimedGraph& timed);
    void AddLane(Digest& digest,
                 const PartOperation& operation,
                 const TimedGraph& timed,
                 uint32_t rank,
                 uint32_t index);
    void AddPair(int src, int dst, uint32_t channel);
    /// @return the paths of m_pairs, also those of later connections
    const Paths& FindPaths();
    /// @return the paths of m_pairs. @param all also those of later connections
    Paths MakePaths(bool all);
    void AddPath(const Pair& pair, bool all);
    /// Take in the path that begins at a port. @param all also those of later connections
    void AddPathFrom(const Pair& pair, uint32_t port, bool all);
    /// Note whether switches can choose between paths from a host's port. @param all whether the
    /// shape takes in the links of all these paths
    void AddFan(uint32_t from, uint32_t to, uint16_t port, uint32_t hash, bool all);
    /// Take in the links of m_shares, in an order that does not depend on the path that was chosen.
    void AddShares();
    void AddLink(uint32_t directedLink);
    std::pair<uint32_t, uint32_t> NodesOf(uint32_t directedLink) const;
    uint32_t NumberOfNode(uint32_t node);

    const ns3::ClusterTopology& m_topology;
    FlowRouter m_router; ///< with a choice of paths at every switch
    bool m_messagesKeepPaths;

    std::vector<std::vector<uint32_t>> m_memberSets; ///< of the graph that is looked at
    /// Paths of collectives, by their pairs.
    boost::unordered_flat_map<Digest, Paths, Digest::Hash> m_known;
    std::size_t m_knownLinks{0}; ///< in all of them

    // of the shape that is being made
    std::vector<Pair> m_pairs;
    std::array<uint64_t, 10> m_laneKind{}; ///< kind of the lane added last
    Paths m_paths;
    std::vector<uint32_t> m_linkPlaces; ///< by directed link; NOWHERE if it is not there
    std::vector<uint32_t> m_nodePlaces; ///< by node
    std::vector<uint32_t> m_nodes;      ///< nodes that have a place
    /// The places of links by which switches may take frames: by the first switch and the host.
    boost::unordered_flat_map<uint64_t, Digest> m_fans;

    // kept between calls for their memory
    ns3::PathInfo m_path;
    std::vector<uint32_t> m_back;
    std::vector<FlowRouter::Share> m_shares;
};

} // namespace AstraSim

#endif /* OPERATION_SHAPE_H */
