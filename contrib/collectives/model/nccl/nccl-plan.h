/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_PLAN_H
#define NCCL_PLAN_H

#include "collectives/model/graph/direct-graph.h"
#include "collectives/model/graph/nccl-protocol.h"
#include "collectives/model/timing/channel-speeds.h"
#include "collectives/model/timing/nvls-times.h"
#include "collectives/model/timing/pair-times.h"
#include "collectives/model/timing/tree-times.h"

#include "ns3/rank-network.h"

#include <cstdint>
#include <variant>

namespace AstraSim
{

/// Further fields of a plan of rings.
struct RingPlan
{
    uint64_t chunkGrain{16}; ///< see RingLayout
};

/// Further fields of a plan of trees.
struct TreePlan
{
    TreeThreads threads;
    bool cutsChunks{false}; ///< see TreeLayout
};

/// Further fields of a plan of NVLS and NVLS-Tree.
struct NvlsPlan
{
    uint64_t chunk{0}; ///< see NvlsLayout
    uint64_t bytes{0}; ///< see NvlsLayout
    NvlsSpeeds speeds;
};

/// Further fields of a plan of sends and receives between pairs.
struct PairPlan
{
    PairLayout layout;
    PairSpeeds speeds;
};

class NcclAlgorithm;
struct TunerRow;

/// One way to carry out a collective, and NCCL's estimate of its time.
struct NcclPlan
{
    const NcclAlgorithm* algorithm{nullptr};
    NcclProtocol protocol{NcclProtocol::Simple};
    const TunerRow* tuner{nullptr}; ///< the row that chose it; null: NCCL did
    uint32_t channels{1};
    TimePs predicted{0}; ///< latency + bytes / bandwidth
    TimePs latency{0};   ///< of which latency, all steps together
    ChannelSpeeds speeds{};
    std::variant<std::monostate, RingPlan, TreePlan, NvlsPlan, PairPlan> own{}; ///< see Of()

    /// @return bytes moved per byte of data
    double GetWireInflation() const
    {
        return WireInflation(protocol);
    }

    /// @return its fields of one kind, of which it is from now on
    template <typename Kind>
    Kind& Of()
    {
        Kind* known = std::get_if<Kind>(&own);
        return known ? *known : own.emplace<Kind>();
    }

    /// @return its fields of one kind; the defaults if it is of another kind
    template <typename Kind>
    const Kind& Of() const
    {
        static const Kind UNSAID{};
        const Kind* known = std::get_if<Kind>(&own);
        return known ? *known : UNSAID;
    }
};

} // namespace AstraSim

#endif /* NCCL_PLAN_H */
