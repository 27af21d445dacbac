/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_GRAPH_H
#define FLOW_GRAPH_H

#include "ns3/rank-network.h"

#include <array>
#include <boost/range/irange.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/// What kind of connection a flow uses; SingleFlow's conn_type.
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

/// How the messages of a lane travel.
enum class LaneKind : uint8_t
{
    Message,         ///< from one rank to another
    Reduce,          ///< switches add what all members send; the root receives the sum
    Multicast,       ///< switches copy what the root sends to all members
    ReduceMulticast, ///< switches add what all members send; all receive the sum
    Copy,            ///< the GPU copies within its own memory
};

/// Which copies of a lane nothing else in the GPU slows down.
enum class AloneAt : uint8_t
{
    Nowhere,
    First, ///< the first: nothing has come yet that others could work on
    Last,  ///< the last: all others have finished
};

/// Messages of more than so many bytes on the wire take longer to start on some networks.
struct SlowStart
{
    uint64_t above{0};
    TimePs latency{0};    ///< on top; 0: none
    bool occupies{false}; ///< whether the CPU that serves the NIC does nothing else meanwhile
    /// What each byte then takes this CPU, while it leaves; 0: the NIC moves it by itself.
    double psPerByte{0};

    /// @return whether messages above the limit differ at all from others
    bool Applies() const
    {
        return latency > 0 || psPerByte > 0;
    }
};

/// What a network does so to messages, by rising size.
using SlowStarts = std::array<SlowStart, 3>;

/**
 * @ingroup astra-frontend
 * @brief A connection as one of its ends sees it: messages go through it in order.
 *
 * A lane of an in-network operation has an outbound end at every rank that sends and an inbound end
 * at every rank that receives; a rank's outbound end fills its inbound end, where it has both. So
 * it does on a lane of copies, whose peer is the rank itself.
 */
struct Lane
{
    static constexpr uint32_t NONE = UINT32_MAX;

    uint32_t peer{0};    ///< index in the group of the other end; of the root, in-network
    uint32_t channel{0}; ///< NCCL channel
    uint8_t tag{0};      ///< message tag; the same at both ends, one lane per (src, dst, tag)
    ConnType type{ConnType::P2p};
    LaneKind kind{LaneKind::Message};
    bool waitsEachPass{false};         ///< each pass waits for the flags that travel with its data
    bool wholePasses{false};           ///< a pass that is cut short takes as long as a whole one
    AloneAt aloneAt{AloneAt::Nowhere}; ///< of copies: which one goes at aloneSpeed
    /// Messages that may be on their way at once; 0 for GetSlots(). 1: the GPU copies one by one
    /// (NVLink). More than GetSlots(): both ends have a buffer, as across a network.
    uint32_t slots{0};
    uint64_t messages{0};   ///< how many messages it carries
    TimePs latency{0};      ///< software latency of each message
    uint64_t rateCapBps{0}; ///< what the channel can copy, bit/s; 0 for no limit
    uint32_t members{NONE}; ///< in-network: number of the set of members, see GetMembers()
    float wireInflation{1}; ///< in-network: bytes on the members' links per byte of data
    float aloneSpeed{1};    ///< of copies: how many times as fast as the others
    uint32_t result{NONE};  ///< outbound: the own inbound lane that it fills
    /// Data whose time at the lane's rate is within the latency already.
    uint32_t hiddenBytes{0};
    /// Data that the GPU's block moves in one pass of its copy loop; 0: the rate alone counts.
    uint32_t passBytes{0};
    /// How many messages, the first ones, have the latency: the GPU waits for others while it is at
    /// work. NONE: all have it.
    uint32_t withLatency{NONE};
    SlowStarts slowStarts{}; ///< the last that applies counts
    /// What the channel's block takes to read or write a byte of a buffer, where it does nothing
    /// but serve the network: one message after the other, before it goes or once it has come. 0:
    /// what it takes does not show.
    double psPerAccess{0};
    uint32_t takeAccesses{0}; ///< inbound: reads and writes of each byte that is not passed on

    /// @return whether a message has the latency
    bool HasLatency(uint64_t message) const
    {
        return message < withLatency || withLatency == NONE;
    }

    /// @return how many times as fast as the lane's rate a message is copied
    double SpeedOf(uint64_t message) const
    {
        const bool isAlone = (aloneAt == AloneAt::First && message == 0) ||
                             (aloneAt == AloneAt::Last && message + 1 == messages);
        return isAlone ? aloneSpeed : 1;
    }

    /// @return whether an inbound end takes part by itself, not through an outbound end
    bool OnlyReceives(uint32_t rank) const
    {
        return kind == LaneKind::Multicast && peer != rank;
    }
};

/// How much faster a GPU copies within its memory than it sends to another's.
inline constexpr TimePs OWN_COPY_SPEED = 2;

/// What it takes a GPU to move a message.
struct CopyTime
{
    TimePs latency{0};  ///< waiting and synchronizing, before the first byte
    TimePs duration{0}; ///< of all bytes at the lane's rate; 0 without a rate
    TimePs busy{0};     ///< time in which the rank's CPU starts no other message
};

/**
 * Where passes are whole, one that is cut short takes as long as any; in a message of less than a
 * pass the latency stands for that waiting.
 * @param lane what moves it
 * @param bytes of data
 * @param wireInflation bytes on the wire per byte of data
 * @param hasLatency Lane::HasLatency() of the message
 * @return what it takes to move a message of a lane
 */
CopyTime CopyTimeOf(const Lane& lane, uint64_t bytes, double wireInflation, bool hasLatency = true);

/// Numbers of lanes, ascending. Not std::ranges::iota_view: clang 14 cannot read that of GCC 12's
/// library.
using LaneRange = boost::integer_range<uint32_t>;

/**
 * @ingroup astra-frontend
 * @brief The flows of one collective, by arithmetic: nothing is stored per flow.
 *
 * A collective is a set of lanes. A rank sends the messages of an outbound lane in order, each as
 * soon as enough messages of its inbound lanes have arrived (GetNeeds()) and a slot is free: up to
 * GetSlots() (or Lane::slots) of a lane may be under way. A slot is free when its message is there,
 * where HoldsSlots() when the receiver has also passed it on (if to a buffer) or copied it.
 * The state of a rank is a few counters per lane, whatever the number of flows.
 *
 * Every rank has the same number of lanes in each direction; those it does not use have no
 * messages. Unless an algorithm says otherwise, lane i out of a rank arrives as its peer's lane i,
 * and waits for the rank's own inbound lane i alone.
 *
 * The same numbers make SingleFlows for inspection (BuildSingleFlows()).
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

    /// @return lane @p index out of @p rank
    virtual Lane GetOutbound(uint32_t rank, uint32_t index) const
    {
        return GetLane(rank, index, true);
    }

    /// @return lane @p index into @p rank
    virtual Lane GetInbound(uint32_t rank, uint32_t index) const
    {
        return GetLane(rank, index, false);
    }

    /// @return bytes of a message of an outbound lane; may be 0 (nothing is sent)
    virtual uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const = 0;

    /// @return bytes of a message of an inbound lane
    virtual uint64_t GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const
    {
        return GetBytes(GetInbound(rank, inbound).peer, inbound, message);
    }

    /// What a rank asks when it comes to a message of an outbound lane.
    struct OutboundMessage
    {
        uint64_t bytes; ///< GetBytes()
        uint64_t needs; ///< GetNeeds() of the first of GetSources(); 0 without sources
    };

    /// @return several answers at once, for graphs that work them out together
    virtual OutboundMessage GetOutboundMessage(uint32_t rank,
                                               uint32_t outbound,
                                               uint64_t message) const
    {
        const LaneRange sources = GetSources(rank, outbound);
        return {GetBytes(rank, outbound, message),
                sources.empty() ? 0 : GetNeeds(rank, outbound, message, sources.front())};
    }

    /// What a rank asks when it expects a message of an inbound lane.
    struct InboundMessage
    {
        uint64_t bytes;                  ///< GetInboundBytes()
        std::optional<uint64_t> ownCopy; ///< GetOwnCopy()
    };

    /// @return several answers at once, for graphs that work them out together
    virtual InboundMessage GetInboundMessage(uint32_t rank,
                                             uint32_t inbound,
                                             uint64_t message) const
    {
        return {GetInboundBytes(rank, inbound, message), GetOwnCopy(rank, inbound, message)};
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
     * lane @p outbound may go; never falls as @p message rises. Each waits for that of its number
     * unless the algorithm says otherwise.
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

    /// @return how often a block of psPerAccess reads or writes each byte of a message that it
    /// sends
    virtual uint32_t GetSendAccesses(uint32_t rank, uint32_t outbound, uint64_t message) const
    {
        return 0;
    }

    /// @return whether a message occupies its slot until the receiver has passed it on or copied it
    virtual bool HoldsSlots() const
    {
        return false;
    }

    /// @return the number that the inbound lane @p inbound has at its sender
    virtual uint32_t GetPeerLane(uint32_t rank, uint32_t inbound) const
    {
        return inbound;
    }

    /// @return number of sets of members of in-network operations
    virtual uint32_t GetMemberSets() const
    {
        return 0;
    }

    /// @return ranks of a set of members of in-network operations
    virtual std::vector<uint32_t> GetMembers(uint32_t set) const
    {
        return {};
    }

    /// @return flows of all ranks together, those from and to switches included
    uint64_t CountFlows() const;

  protected:
    /// @return what GetOutbound() or GetInbound() does, in graphs that make both alike
    virtual Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const
    {
        return {};
    }

    /// Set the number of lanes, where it is known only now.
    void SetLaneCount(uint32_t lanes)
    {
        m_lanes = lanes;
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
};

} // namespace AstraSim

#endif /* FLOW_GRAPH_H */
