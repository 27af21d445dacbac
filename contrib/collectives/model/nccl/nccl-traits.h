/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_TRAITS_H
#define NCCL_TRAITS_H

#include <cstdint>

namespace AstraSim
{

/// Figures in which libraries that are made of NCCL differ from it. The defaults are NCCL's.
struct NcclTraits
{
    uint32_t mostChannels{32}; ///< of rings and trees
    uint32_t ringsPerNic{0};   ///< between nodes; 0: until a NIC's bandwidth is used up
    uint32_t threads{0};       ///< of a block, where channels are counted; 0: the protocol's
    double llBlockGBps{0};     ///< of a block with LL; 0: its share of the limit for all
    bool hasLl128{true};
    bool hasSimpleTreesInNode{true};
    bool cutsChunksOfTrees{false}; ///< see TreeLayout
    bool mscclBlocks{false};       ///< blocks of algorithms beside its own are MSCCL's
    /// Groups of at least so many ranks have steps of 256 and of 512 KiB between nodes in sends and
    /// receives.
    uint32_t ranksFor256KiB{UINT32_MAX};
    uint32_t ranksFor512KiB{UINT32_MAX};

    /// @return bytes of a step of sends and receives between nodes
    uint64_t PairNetChunk(uint32_t ranks) const
    {
        return ranks >= ranksFor512KiB ? 524288 : ranks >= ranksFor256KiB ? 262144 : 131072;
    }
};

} // namespace AstraSim

#endif /* NCCL_TRAITS_H */
