/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_PLAN_H
#define NCCL_PLAN_H

#include "astra-frontend/model/graph/direct-graph.h"
#include "astra-frontend/model/graph/nccl-protocol.h"
#include "astra-frontend/model/timing/channel-speeds.h"
#include "astra-frontend/model/timing/nvls-times.h"
#include "astra-frontend/model/timing/pair-times.h"
#include "astra-frontend/model/timing/tree-times.h"

#include "ns3/rank-network.h"

#include <cstddef>
#include <cstdint>
#include <variant>

namespace AstraSim
{

/// Algorithms of MockNcclGroup, in NCCL's order, then RCCL's own; from NCCL_ALGORITHMS on those of
/// CollectiveAlgorithm::GetAll().
enum class NcclAlgorithm : uint8_t
{
    Tree,
    Ring,
    CollNetDirect,
    CollNetChain,
    Nvls,
    NvlsTree,
    Pat,
    AllPairs,
};

constexpr std::size_t NCCL_ALGORITHMS = 8;

/// @return its name, such as "Ring" or "NVLSTree", or that of a plug-in
const char* ToString(NcclAlgorithm algorithm);

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

struct TunerRow;

/// One way to carry out a collective, and what NCCL expects of it.
struct NcclPlan
{
    NcclAlgorithm algorithm{NcclAlgorithm::Ring};
    NcclProtocol protocol{NcclProtocol::Simple};
    const TunerRow* tuner{nullptr}; ///< the row that chose it; null: NCCL did
    uint32_t channels{1};
    double wireInflation{1}; ///< bytes moved per byte of data
    TimePs predicted{0};     ///< latency + bytes / bandwidth
    TimePs latency{0};       ///< of which latency, all steps together
    ChannelSpeeds speeds{};
    std::variant<std::monostate, RingPlan, TreePlan, NvlsPlan, PairPlan> own{}; ///< see Of()

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

/// @return whether a plan is of a CollectiveAlgorithm, and has a name, a start and a time alone
inline bool
IsPlugIn(const NcclPlan& plan)
{
    return static_cast<std::size_t>(plan.algorithm) >= NCCL_ALGORITHMS;
}

} // namespace AstraSim

#endif /* NCCL_PLAN_H */
