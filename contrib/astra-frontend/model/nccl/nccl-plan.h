/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_PLAN_H
#define NCCL_PLAN_H

#include "ns3/collective-types.h"
#include "ns3/gpu-model.h"
#include "ns3/rank-network.h"

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

/// NCCL's protocols.
enum class NcclProtocol : uint8_t
{
    Ll,
    Ll128,
    Simple,
};

constexpr std::size_t NCCL_PROTOCOLS = 3;

/// @return bytes on the wire per byte of data: LL sends as many flags, LL128 8 bytes of each 128
constexpr double
WireInflation(NcclProtocol protocol)
{
    return protocol == NcclProtocol::Ll ? 2 : protocol == NcclProtocol::Ll128 ? 128.0 / 120 : 1;
}

/// @return its name, such as "Ring" or "NVLSTree", or that of a plug-in
const char* ToString(NcclAlgorithm algorithm);

/// @return "LL", "LL128" or "Simple"
const char* ToString(NcclProtocol protocol);

/// Further fields of a plan of rings.
struct RingPlan
{
    uint64_t chunkGrain{16}; ///< chunks are multiples of it
};

/// Further fields of a plan of trees.
struct TreePlan
{
    double upGBps{0};       ///< what the threads that send sums up a tree move; 0: enough
    double downGBps{0};     ///< the same of those that send results down
    bool cutsChunks{false}; ///< chunks of Simple shrink with the data of a channel
};

/// Further fields of a plan of NVLS and NVLS-Tree.
struct NvlsPlan
{
    uint64_t chunk{0};   ///< of NVLS-Tree: bytes of a channel's chunk at most
    double hunkUs{0};    ///< what an iteration of a warp that copies takes
    double aloneUs{0};   ///< the same while nothing else loads the memory; 0: as long
    double inflation{1}; ///< bytes on NVLinks per byte that is added or multicast
};

/// Bytes of a step with Simple: an eighth of NCCL's buffers of 4 MiB.
inline constexpr uint64_t SIMPLE_STEP = 524288;

/// Bytes of a channel's step with LL between pairs, half of which are flags.
inline constexpr uint64_t PAIR_LL_STEP = 65536;

/// Further fields of a plan of sends and receives between pairs.
struct PairPlan
{
    double rankGBps{0};     ///< what a rank sends to all others of its node
    uint32_t channels{0};   ///< that all its pairs have together; 0: they share the rate alone
    uint32_t perPair{0};    ///< of which a pair has so many at most
    double blockGBps{0};    ///< what one of them moves at most
    uint64_t chunk{524288}; ///< bytes of a pair's step with Simple
    uint64_t step{524288};  ///< bytes of a step by which a pair's channels are counted
};

struct TunerRow;

/// One way to carry out a collective, and what NCCL expects of it.
struct NcclPlan
{
    NcclAlgorithm algorithm{NcclAlgorithm::Ring};
    NcclProtocol protocol{NcclProtocol::Simple};
    const TunerRow* tuner{nullptr}; ///< the row that chose it; null: NCCL did
    uint32_t channels{1};
    double channelGBps{0};   ///< what a channel moves per direction, protocol overhead included
    double blockGBps{0};     ///< data that a block passes on with Simple; 0: no limit between nodes
    double wireInflation{1}; ///< bytes moved per byte of data
    TimePs baseLatency{0};   ///< once per collective
    TimePs intraLatency{0};  ///< per step within a node
    TimePs interLatency{0};  ///< per step between nodes
    TimePs predicted{0};     ///< latency + bytes / bandwidth
    TimePs latency{0};       ///< of which latency, all steps together
    /// Data that a channel's block moves in one pass of its copy loop; 0: it never waits for
    /// itself.
    uint64_t passBytes{0};
    uint32_t hiddenBytes{0};          ///< see LaneTimes
    bool waitsEachPass{false};        ///< see LaneTimes
    bool wholePasses{false};          ///< see LaneTimes
    uint32_t slotTrips{1};            ///< see NetworkKind
    uint64_t simpleStep{SIMPLE_STEP}; ///< bytes of a step with Simple
    SlowStarts slowStarts{};          ///< see LaneTimes, between nodes
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

/// @return whether NCCL carries it out as a chain along each channel's ring
inline bool
IsChain(CollectiveOp op)
{
    return op == CollectiveOp::Broadcast || op == CollectiveOp::Reduce;
}

} // namespace AstraSim

#endif /* NCCL_PLAN_H */
