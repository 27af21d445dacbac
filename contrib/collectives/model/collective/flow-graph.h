/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_GRAPH_H
#define FLOW_GRAPH_H

#include <boost/range/irange.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

class StepOrder;

/// Kind of a flow's connection; SingleFlow's conn_type.
enum class ConnType : uint8_t
{
    Ring,
    Tree,
    Nvls,
    CollNet,
    PxnInit,
    Net,
    PxnFinal,
    P2p,
};

/// @return "RING", "TREE", "NVLS", "COLLNET", "PXN_INIT", "NET", "PXN_FINAL" or "P2P"
const char* ToString(ConnType type);

/// Transport of a lane's messages.
enum class LaneKind : uint8_t
{
    Message,         ///< from one rank to another
    Reduce,          ///< switches add the data of all members; the root receives the sum
    Multicast,       ///< switches copy the root's data to all members
    ReduceMulticast, ///< switches add the data of all members; all receive the sum
    Copy,            ///< the GPU copies within its own memory
};

/**
 * @ingroup collectives
 * @brief A connection as one of its ends sees it: messages go through it in order.
 *
 * A lane of an in-network operation has an outbound end at every rank that sends and an inbound end
 * at every rank that receives; a rank's outbound end fills its inbound end, where it has both. So
 * it does on a lane of copies, where the rank is its own peer. A GpuModel says how long its
 * messages take.
 */
struct Lane
{
    static constexpr uint32_t NONE = UINT32_MAX;

    uint32_t peer{0};    ///< index in the group of the other end; of the root, in-network
    uint32_t channel{0}; ///< NCCL channel
    uint8_t tag{0};      ///< message tag; the same at both ends, one lane per (src, dst, tag)
    ConnType type{ConnType::P2p};
    LaneKind kind{LaneKind::Message};
    uint64_t messages{0};   ///< how many messages it carries
    uint32_t members{NONE}; ///< in-network: number of the set of members, see GetMemberSets()
    uint32_t result{NONE};  ///< outbound: the inbound lane of the same rank that it fills

    /// @return whether an inbound end takes part by itself, not through an outbound end
    bool OnlyReceives(uint32_t rank) const
    {
        return kind == LaneKind::Multicast && peer != rank;
    }
};

/// The part of a collective's data that a message carries. The buffers are those of
/// CollectiveRequest::bytes; of sends between pairs, data is ordered by the other rank.
struct Payload
{
    uint64_t from{0}; ///< first byte in the sender's buffer
    uint64_t to{0};   ///< first byte in the receiver's buffer
    uint64_t bytes{0};
    bool adds{false}; ///< the receiver adds it to its own data
    /// AllGather and ReduceScatter: the owner of the block that contains it. Algorithms may scatter
    /// a block over the buffer.
    uint32_t owner{0};
};

/// Numbers of lanes, ascending. Not std::ranges::iota_view: clang 14 cannot read that of GCC 12's
/// library.
using LaneRange = boost::integer_range<uint32_t>;

/**
 * @ingroup collectives
 * @brief The flows of one collective, by arithmetic: nothing is stored per flow.
 *
 * A collective is a set of lanes. A rank sends the messages of an outbound lane in order, each as
 * soon as enough messages of its inbound lanes have arrived (GetNeeds()) and a slot is free: up to
 * GetSlots() of a lane may be under way, or as many as its GpuModel says. A slot is free when its
 * message is there, where HoldsSlots() when the receiver has also passed it on (if to a buffer) or
 * copied it. The state of a rank is a few counters per lane, for any number of flows.
 *
 * Every rank has the same number of lanes in each direction; those it does not use have no
 * messages. Unless an algorithm says otherwise, lane i out of a rank arrives as its peer's lane i,
 * and waits for the rank's own inbound lane i alone.
 *
 * A graph with a StepOrder has the order of its messages from there, and neither needs nor slots.
 *
 * A GpuModel says how long a GPU takes for a message. The same numbers make SingleFlows for
 * inspection (BuildSingleFlows()).
 */
class FlowGraph
{
  public:
    /**
     * @param ranks number of ranks
     * @param lanes out of each rank, and into it
     * @param slots messages of one lane that may be under way at once
     */
    FlowGraph(uint32_t ranks, uint32_t lanes, uint32_t slots)
        : m_ranks(ranks),
          m_lanes(lanes),
          m_slots(slots)
    {
    }

    virtual ~FlowGraph() = default;

    /// @return number of ranks
    uint32_t GetRanks() const
    {
        return m_ranks;
    }

    /// @return number of lanes out of a rank, and into it
    uint32_t GetLaneCount() const
    {
        return m_lanes;
    }

    /// @return messages of one lane that may be under way at once
    uint32_t GetSlots() const
    {
        return m_slots;
    }

    /// @return whether a message occupies its slot until the receiver has passed it on or copied it
    bool HoldsSlots() const
    {
        return m_holdsSlots;
    }

    /// @return lane @p index out of @p rank
    Lane GetOutbound(uint32_t rank, uint32_t index) const
    {
        return GetLane(rank, index, true);
    }

    /// @return lane @p index into @p rank
    Lane GetInbound(uint32_t rank, uint32_t index) const
    {
        return GetLane(rank, index, false);
    }

    /// @return bytes of a message of an outbound lane; may be 0 (nothing is sent)
    virtual uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const = 0;

    /// @return bytes of a message of an inbound lane, from its sender's GetBytes()
    uint64_t GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const
    {
        return GetBytes(GetInbound(rank, inbound).peer, GetPeerLane(rank, inbound), message);
    }

    /// @return the data that a message of an outbound lane carries; nothing if the graph does not
    /// tell
    virtual std::optional<Payload> GetPayload(uint32_t rank,
                                              uint32_t outbound,
                                              uint64_t message) const
    {
        return std::nullopt;
    }

    /// @return inbound lanes that an outbound lane waits for
    virtual LaneRange GetSources(uint32_t rank, uint32_t outbound) const
    {
        return Lanes(outbound, 1);
    }

    /// @return outbound lanes that may wait for a message of an inbound lane
    virtual LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
    {
        return Lanes(inbound, 1);
    }

    /**
     * @return how many messages of the lane @p inbound must have arrived before @p message of the
     * lane @p outbound may go; never falls as @p message rises. By default message i waits for
     * message i of the inbound lane.
     */
    virtual uint64_t GetNeeds(uint32_t rank,
                              uint32_t outbound,
                              uint64_t message,
                              uint32_t inbound) const
    {
        return message + 1;
    }

    /**
     * A message that the receiver does not pass on may have to be copied out of its slot before
     * anything else is done.
     * @return how many messages of the outbound lane of the same number go before the copy; nothing
     * if there is none
     */
    virtual std::optional<uint64_t> GetOwnCopy(uint32_t rank,
                                               uint32_t inbound,
                                               uint64_t message) const
    {
        return std::nullopt;
    }

    /// @return the number that the inbound lane @p inbound has at its peer: the sender, the rank
    /// itself if it copies, the root of an in-network operation
    virtual uint32_t GetPeerLane(uint32_t rank, uint32_t inbound) const
    {
        return inbound;
    }

    /// @return the steps of ranks that work through their messages in an order of their own; null
    /// if GetNeeds() says it. Owned by the graph
    virtual const StepOrder* GetStepOrder() const
    {
        return nullptr;
    }

    /// @return the ranks of each set of members of in-network operations
    virtual std::vector<std::vector<uint32_t>> GetMemberSets() const
    {
        return {};
    }

    /// @return flows of all ranks together, those from and to switches included
    uint64_t CountFlows() const;

  protected:
    /// @return lane @p index out of a rank, or into it
    virtual Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const = 0;

    /// Set the number of lanes, where it is known only now.
    void SetLaneCount(uint32_t lanes)
    {
        m_lanes = lanes;
    }

    /// Say that messages occupy their slots until they are passed on or copied, or not.
    void SetHoldsSlots(bool holds)
    {
        m_holdsSlots = holds;
    }

    /// @return @p count lanes from @p first on
    static LaneRange Lanes(uint32_t first, uint32_t count)
    {
        return {first, first + count};
    }

  private:
    uint32_t m_ranks;
    uint32_t m_lanes;
    uint32_t m_slots;
    bool m_holdsSlots{false};
};

} // namespace AstraSim

#endif /* FLOW_GRAPH_H */
