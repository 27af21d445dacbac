/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OPERATION_SHAPE_H
#define OPERATION_SHAPE_H

#include "digest.h"
#include "part-pattern.h"

#include "ns3/flow-graph.h"
#include "ns3/flow-router.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace AstraSim
{

/// What an operation does to the network, wherever in the network it is.
struct OperationShape
{
    /// The same for operations with the same flows over links of the same rates and delays that are
    /// joined in the same way; numbers of nodes and ranks do not enter.
    Digest digest;
    /// Directed links that its data and acknowledgements may take, in an order that operations of
    /// the same shape share.
    std::vector<uint32_t> links;
};

/**
 * @return for each of several operations a digest of its shape and of the places where it meets the
 * others: equal ones for those that correspond in two parts of the same kind
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

    /// @param graph the flows of a collective; null for a message
    OperationShape Find(const PartOperation& operation, const FlowGraph* graph);

    /// @return number of directed links of the cluster
    uint32_t CountLinks() const
    {
        return static_cast<uint32_t>(2 * m_topology.links.size());
    }

  private:
    void AddLanes(const PartOperation& operation, const FlowGraph& graph);
    void AddLane(const PartOperation& operation,
                 const FlowGraph& graph,
                 uint32_t rank,
                 uint32_t index);
    /// Take in the paths between two hosts. @param all also those of later connections
    void AddPath(int src, int dst, uint32_t channel, bool all);
    /// Take in the links of m_shares, in an order that does not depend on the path that was chosen.
    void AddShares();
    void AddLink(uint32_t directedLink);
    std::pair<uint32_t, uint32_t> NodesOf(uint32_t directedLink) const;
    uint32_t NumberOfNode(uint32_t node);

    const ns3::ClusterTopology& m_topology;
    FlowRouter m_router; ///< whose switches all have their choice
    bool m_messagesKeepPaths;

    // of the shape that is being made
    OperationShape m_shape;
    boost::unordered_flat_map<uint32_t, uint32_t> m_links; ///< their places
    boost::unordered_flat_map<uint32_t, uint32_t> m_nodes;

    // kept between calls for their memory
    ns3::PathInfo m_path;
    std::vector<uint32_t> m_back;
    std::vector<FlowRouter::Share> m_shares;
};

} // namespace AstraSim

#endif /* OPERATION_SHAPE_H */
