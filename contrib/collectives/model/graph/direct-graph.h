/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DIRECT_GRAPH_H
#define DIRECT_GRAPH_H

#include "collectives/model/gpu/machine-model.h"
#include "nccl-protocol.h"
#include "pair-schedule.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <optional>

namespace AstraSim
{

/// Bytes of a channel's step with LL between pairs, half of which are flags.
inline constexpr uint64_t PAIR_LL_STEP = 65536;

/// The layout of sends and receives between pairs.
struct PairLayout
{
    NcclProtocol protocol{NcclProtocol::Simple};
    uint32_t channels{0};   ///< that all pairs have together; 0: a pair has one
    uint32_t perPair{0};    ///< of which a pair has so many at most
    uint64_t chunk{524288}; ///< bytes of a pair's step with Simple
    uint64_t step{524288};  ///< bytes of a step by which a pair's channels are counted
    bool byBlocks{true};    ///< see ChannelLayout; without blocks nothing is copied out of slots
    /// Bytes of a pair over those that it has here, where fewer stand for all: channels and
    /// messages are those of all.
    double wholeParts{1};
};

/**
 * @return channels over which the data of a pair is divided (NCCL src/enqueue.cc, addP2pToPlan): as
 * many as each pair can have for itself, doubled as long as parts are large
 * @param layout its channels and perPair are powers of two
 */
uint32_t ChannelsOfPair(uint64_t bytes, const PairLayout& layout, uint32_t ranks, uint32_t nodes);

/**
 * @return most data of a message of a pair between nodes (NCCL src/enqueue.cc, addP2pToPlan: the
 * chunk is tuned for the network; releases before 2.22 go by the part of a channel instead of by
 * all the pair's data)
 * @param bytes of the pair
 */
uint64_t NetworkMessageBytes(const PairLayout& layout, uint64_t bytes);

/**
 * @ingroup collectives
 * @brief Collectives that NCCL carries out as sends and receives between pairs: AllToAll,
 * AllToAllv, Gather, Scatter, SendRecv.
 *
 * Every pair with data has a lane; ranks serve their peers in the order of a PairSchedule. Nothing
 * waits for anything but its slot. Within a node a pair has the rate of its channels, at most its
 * share of all pairs' rate; a message is a chunk of each of them, which the receiver copies out of
 * its slot (with LL, as it arrives). Between nodes, messages are smaller where a pair has little
 * data (NetworkMessageBytes()).
 */
class DirectGraph : public FlowGraph
{
  public:
    DirectGraph(const CollectiveRequest& request,
                const GroupShape& shape,
                const PairLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    std::optional<Payload> GetPayload(uint32_t rank,
                                      uint32_t outbound,
                                      uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;
    std::optional<uint64_t> GetOwnCopy(uint32_t rank,
                                       uint32_t inbound,
                                       uint64_t message) const override;

    const GroupShape& GetShape() const
    {
        return m_shape;
    }

    const PairLayout& GetLayout() const
    {
        return m_layout;
    }

    /// @return bytes that a rank sends another
    uint64_t PairBytesOf(uint32_t from, uint32_t to) const;

    /// @return channels of a pair: connections, each with a proxy of its own between nodes
    uint32_t ChannelsOf(uint32_t from, uint32_t to) const;

    /**
     * @return pairs whose data one block of a pair's channels moves at once, in a group of several
     * nodes (NCCL src/include/channel.h, ncclP2pChannelBaseForRound): those of the sender with the
     * receiver's group of the schedule, or of the receiver with the sender's, whichever are more
     */
    uint32_t PairsOfBlock(uint32_t from, uint32_t to) const;

    /// @return most bytes of a message
    uint64_t MessageBytesOf(uint32_t from, uint32_t to) const;

  private:
    bool AreInOneNode(uint32_t from, uint32_t to) const;
    /// @return bytes of a pair by which its channels and messages are chosen
    uint64_t WholeBytesOf(uint32_t from, uint32_t to) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;
    /// @return the peer of a rank's lane
    uint32_t PeerOf(uint32_t rank, uint32_t index, bool outbound) const;

    CollectiveRequest m_request;
    GroupShape m_shape;
    PairSchedule m_schedule;
    PairLayout m_layout;
};

} // namespace AstraSim

#endif /* DIRECT_GRAPH_H */
