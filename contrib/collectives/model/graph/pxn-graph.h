/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PXN_GRAPH_H
#define PXN_GRAPH_H

#include "collectives/model/gpu/machine-model.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief AllToAll and AllToAllv with PXN: data crosses the network on its destination's rail.
 *
 * Data for a rank of another node goes over NVLink to the GPU of the own node on the destination's
 * rail (PXN_INIT), which gathers its node's data for that rank and sends them as one stream of
 * messages (NET). Where the own node has no rank on that rail, the data crosses on the sender's own
 * rail and its receiver passes it on over NVLink (PXN_FINAL); where that node has no rank there
 * either, it crosses rails. Data within a node goes directly (P2P). NCCL src/transport/net.cc and
 * src/graph/paths.cc; NCCL itself has no PXN_FINAL, it crosses rails there.
 *
 * A rank has a connection to one rank of each other node instead of to all.
 */
class PxnGraph : public FlowGraph
{
  public:
    static constexpr uint64_t MESSAGE_BYTES = 524288; ///< most data of a message
    static constexpr uint32_t SLOTS = 8;              ///< NCCL_STEPS

    /// @param request AllToAll or AllToAllv
    PxnGraph(const CollectiveRequest& request, const GroupShape& shape);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;
    uint32_t GetPeerLane(uint32_t rank, uint32_t inbound) const override;

    /// Bytes of one pair's data within a message.
    struct Item
    {
        uint32_t src;
        uint32_t dst;
        uint64_t begin; ///< first byte of the pair's data
        uint64_t bytes;
    };

    /// @return the data in a message of an outbound lane; items may be empty
    std::vector<Item> GetItems(uint32_t rank, uint32_t outbound, uint64_t message) const;

  private:
    enum class Stage : uint8_t
    {
        Local,
        Init,
        Final,
        Net,
    };

    /// A lane's number taken apart.
    struct Place
    {
        Stage stage;
        uint32_t index; ///< among the lanes of the stage
    };

    /// A connection between nodes, at one of its ends.
    struct Connection
    {
        uint32_t peer;     ///< the rank at the other end
        uint64_t first;    ///< messages of the end's connections before this one
        uint64_t messages; ///< of this one
        uint32_t number;   ///< among the connections of the other end
    };

    using Connections = std::vector<Connection>;

    void Connect();
    /// Visit the items of two ranks' connection, cut into messages or not (@p messages 1).
    template <typename Visit>
    void VisitNetItems(uint32_t from, uint32_t to, uint64_t message, uint64_t messages, Visit visit)
        const;
    /// Visit the items in a message of an outbound lane.
    template <typename Visit>
    void VisitItems(uint32_t rank, uint32_t outbound, uint64_t message, Visit visit) const;
    bool AreJoined(uint32_t from, uint32_t to) const;
    Place Locate(uint32_t lane) const;
    uint32_t FirstOf(Stage stage) const;
    /// @return the rank that a lane within a node leads to, or comes from; nothing if there is none
    std::optional<uint32_t> NeighbourOf(uint32_t rank, uint32_t index, bool outbound) const;
    /// @return the connection that the n-th message of all of them belongs to
    static std::size_t Find(const Connections& connections, uint64_t message);
    static uint64_t Total(const Connections& connections);
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;
    uint64_t PairBytesOf(uint32_t src, uint32_t dst) const;

    CollectiveRequest m_request;
    GroupShape m_shape;
    uint64_t m_leastBytes;           ///< AllToAll: of a pair
    uint32_t m_leftBytes;            ///< AllToAll: the first so many ranks get a byte more
    uint32_t m_neighbours;           ///< most other ranks of a node
    std::vector<Connections> m_to;   ///< by rank: connections to other nodes
    std::vector<Connections> m_from; ///< by rank: connections from other nodes
};

} // namespace AstraSim

#endif /* PXN_GRAPH_H */
