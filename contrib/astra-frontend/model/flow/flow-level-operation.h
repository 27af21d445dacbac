/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_LEVEL_OPERATION_H
#define FLOW_LEVEL_OPERATION_H

#include "flow-level-network.h"

namespace AstraSim
{

/// An in-network operation in progress; members are in the order of the call that opened it.
struct FlowLevelFabric::Operation
{
    struct Member
    {
        FlowRouter::SwitchPort port{};
        uint32_t host{0};
        MessageHandler handler{nullptr};
        void* arg{nullptr};
        bool joined{false};
        bool streamArrived{false}; ///< its result has, apart from what is not contributed yet
        bool complete{false};      ///< it has all that it receives
    };

    FlowLevelFabric* fabric{nullptr};
    InNetworkOp kind{InNetworkOp::ReduceMulticast};
    uint32_t root{0}; ///< index in members
    uint64_t bytes{0};
    uint64_t rateCapBps{0};
    ns3::FrameSizes frames{};
    uint16_t purpose{0};
    std::vector<Member> members;
    uint32_t toJoin{0};       ///< senders that have not joined
    uint32_t contributing{0}; ///< senders whose contribution has not wholly arrived
    uint32_t unfinished{0};   ///< members that have not been told

    bool Sends(uint32_t member) const
    {
        return kind != InNetworkOp::Multicast || member == root;
    }

    bool Receives(uint32_t member) const
    {
        return kind != InNetworkOp::Reduce || member == root;
    }
};

} // namespace AstraSim

#endif /* FLOW_LEVEL_OPERATION_H */
