/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_GRAPH_H
#define FLOW_GRAPH_H

#include "ns3/astra-network-api.h"

#include <cstdint>
#include <span>

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

/// A connection as one of its ends sees it: messages go through it in order.
struct Lane
{
    uint32_t peer{0};    ///< index in the group of the other end
    uint32_t channel{0}; ///< NCCL channel
    uint8_t tag{0};      ///< message tag; the same at both ends, one lane per (src, dst, tag)
    ConnType type{ConnType::P2p};
    uint64_t messages{0};   ///< how many messages it carries
    TimePs latency{0};      ///< software latency of each message
    uint64_t rateCapBps{0}; ///< what the channel can copy, bit/s; 0 for no limit
    /// Messages that may be under way at once; 0 for GetSlots(). 1 where the GPU itself copies and
    /// synchronizes message by message (NCCL's Simple protocol over NVLink).
    uint32_t slots{0};
};

/**
 * @brief The flows of one collective, by arithmetic: nothing is stored per flow.
 *
 * A collective is a set of lanes. A rank sends the messages of an outbound lane in order, each as
 * soon as enough messages of its inbound lanes have arrived (Needs()) and a slot is free: at most
 * GetSlots() messages of a lane may be under way. What arrives needs no action of its own, so the
 * state of a rank is two counters per lane, whatever the number of flows.
 *
 * The same numbers make SingleFlows for inspection (ExportFlows()).
 */
class FlowGraph
{
  public:
    virtual ~FlowGraph() = default;

    /// @return number of ranks
    virtual uint32_t GetRanks() const = 0;

    /// @return number of lanes out of a rank
    virtual uint32_t GetOutboundCount(uint32_t rank) const = 0;

    /// @return number of lanes into a rank
    virtual uint32_t GetInboundCount(uint32_t rank) const = 0;

    /// @return lane @p index out of @p rank
    virtual Lane GetOutbound(uint32_t rank, uint32_t index) const = 0;

    /// @return lane @p index into @p rank
    virtual Lane GetInbound(uint32_t rank, uint32_t index) const = 0;

    /// @return bytes of a message of an outbound lane; may be 0 (nothing is sent)
    virtual uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const = 0;

    /// @return bytes of a message of an inbound lane
    virtual uint64_t GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const = 0;

    /// @return inbound lanes that an outbound lane waits for
    virtual std::span<const uint32_t> GetSources(uint32_t rank, uint32_t outbound) const = 0;

    /// @return outbound lanes that wait for an inbound lane
    virtual std::span<const uint32_t> GetTargets(uint32_t rank, uint32_t inbound) const = 0;

    /**
     * @return how many messages of the lane @p inbound must have arrived before @p message of the
     * lane @p outbound may go; never falls as @p message rises
     */
    virtual uint64_t GetNeeds(uint32_t rank,
                              uint32_t outbound,
                              uint64_t message,
                              uint32_t inbound) const = 0;

    /// @return messages of one lane that may be under way at once
    virtual uint32_t GetSlots() const = 0;

    /// @return flows of all ranks together
    uint64_t CountFlows() const;
};

} // namespace AstraSim

#endif /* FLOW_GRAPH_H */
