/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_TUNING_H
#define NCCL_TUNING_H

#include "collectives/model/graph/chain-graph.h"
#include "nccl-options.h"

#include "ns3/collective-types.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The figures of NCCL's cost model and of its kernels, by release.
 *
 * Latencies are in microseconds, bandwidths in GB/s (10^9). Sources are NCCL's src/graph/tuning.cc
 * (latencies, bandwidth limits), src/graph/search.cc (speeds of channels), src/include/device.h and
 * src/device (threads, bytes a thread moves per pass).
 */
struct NcclTuning
{
    /// By protocol: LL, LL128, Simple.
    using ByProtocol = std::array<double, NCCL_PROTOCOLS>;
    /// By number of nodes: 1, 2, more.
    using ByNodes = std::array<double, 3>;
    /// By GpuGeneration.
    static constexpr std::size_t GENERATIONS = GPU_GENERATIONS;

    /// Latencies of one algorithm.
    struct Latencies
    {
        ByProtocol base{};   ///< once per collective
        ByProtocol nvlink{}; ///< per step within a node
        ByProtocol net{};    ///< per step between nodes
        ByProtocol pcie{};   ///< per step within a node that has no NVLinks
    };

    NcclRelease release{NcclRelease::V2_30};
    std::array<ByNodes, GENERATIONS> llMax{};        ///< bus bandwidth of LL at most, in one node
    ByNodes llMaxCpu{39, 39, 20.4};                  ///< the same between nodes: Intel hosts
    std::array<ByNodes, GENERATIONS> ringLl128Max{}; ///< of a channel of the search
    std::array<ByNodes, GENERATIONS> treeLl128Max{};
    std::array<ByNodes, GENERATIONS> treeMax{};
    std::array<ByNodes, GENERATIONS> nvlsTreeMax{};
    std::span<const double> blackwellIntra; ///< speeds of a channel that the search tries
    std::span<const double> blackwellInter; ///< the same between nodes
    double ringLl{0};                       ///< LL's part of a ring's bandwidth
    double ringLlOneNode{0};                ///< the same of AllGather and ReduceScatter in one node
    bool extraInterStep{false}; ///< AllReduce counts 2 N steps between N nodes, not 2 (N - 1)
    bool nvlsHalves{false}; ///< NVLS by the halves of its pipeline, not as 5/6 of a channel's speed
    bool correctsNvlsTree{false};   ///< NVLS-Tree by size as trees are: Blackwell on x86 hosts
    bool ringsAsNvls{false};        ///< where NVLS has more channels, rings and trees have as many
    bool readsNvlsChunk{false};     ///< NCCL_NVLS_CHUNKSIZE counts
    bool readsNvlsTreeChunk{false}; ///< NCCL_NVLSTREE_MAX_CHUNKSIZE counts
    bool tunesNvlsTree{false};      ///< channels and chunks of NVLS-Tree for Blackwell's NICs
    bool relaysBehindCpus{false};   ///< a GPU may relay to a NIC behind its CPU (PXN over C2C)
    bool hasPat{false};
    bool gathersByNvls{false};     ///< NVLS also for AllGather and ReduceScatter
    bool countsPairsByRate{false}; ///< channels of a pair between nodes follow the NIC's rate
    bool roundsChunks{false};      ///< a ring's chunks are whole passes of a block's threads
    bool treeCutsChunks{false};    ///< a tree's chunks of Simple follow its depth (until 2.19)

    /// @return speeds of a channel, in GB/s and falling, that the search tries in one node
    std::span<const double> SpeedsWithinNode(GpuGeneration generation) const;

    /// @return speeds of a channel that the search tries between nodes
    std::span<const double> SpeedsBetweenNodes(GpuGeneration generation) const;

    /// @return the figures of a release
    static const NcclTuning& Of(NcclRelease release);
};

/**
 * @return which part of its bandwidth a tree reaches with @p bytes: NCCL corrects its model by
 * size, from 64 B to 256 MiB
 */
double NcclTreeCorrection(NcclProtocol protocol, uint64_t bytes);

/// @return the index of so many nodes in figures by number of nodes
constexpr std::size_t
RowByNodes(uint32_t nodes)
{
    return nodes <= 1 ? 0 : nodes == 2 ? 1 : 2;
}

/// @return the steps of a ring for a rank's share, or of a chain for all data
inline double
StepsOfRing(CollectiveOp op, uint32_t ranks)
{
    return IsChain(op) ? ranks : (op == CollectiveOp::AllReduce ? 2 : 1) * (ranks - 1.0);
}

/// @return NCCL's log2i
constexpr double
FloorLog2(uint32_t value)
{
    return std::bit_width(value) - 1.0;
}

/// @return picoseconds of NCCL's microseconds
TimePs FromMicroseconds(double us);

/// Threads of a channel's block and the data that they move at once.
struct NcclBlock
{
    uint32_t threads;   ///< at most, without those that only synchronize
    uint32_t threshold; ///< bytes per thread that are worth a channel
    uint64_t passBytes; ///< data that all threads move in one pass of their copy loop
};

/// @return the most GB/s of data that a block moves with Simple, over links without limit
double NcclBlockGBps(GpuGeneration generation);

/// Division of the threads of a tree's block, without those that only synchronize.
struct NcclTreeThreads
{
    uint32_t up;   ///< add data from below and send the sum on
    uint32_t down; ///< send results on
};

/// @return the threads of a tree's block, but of the root, where all do both
NcclTreeThreads NcclTreeThreadsOf(NcclProtocol protocol);

/// @return the block of a ring or tree channel
NcclBlock NcclBlockOf(NcclProtocol protocol);

} // namespace AstraSim

#endif /* NCCL_TUNING_H */
