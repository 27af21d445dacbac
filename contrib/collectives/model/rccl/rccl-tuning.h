/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RCCL_TUNING_H
#define RCCL_TUNING_H

#include "collectives/model/nccl/nccl-tuning.h"

#include "ns3/collective-types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The figures by which RCCL chooses on AMD's GPUs, by generation and release.
 *
 * RCCL is NCCL with estimates of its own: parts of the links' bandwidth, by algorithm, protocol and
 * size. Latencies are in microseconds. Sources are RCCL's src/graph/tuning.cc (tuning models 5 and
 * 6; of MI250X 0 in one node and 3 between nodes) and src/rccl_wrap.cc, of October 2024 for
 * releases before 2.23 and of 2025 for later ones.
 */
struct RcclTuning
{
    static constexpr std::size_t SIZES = 27; ///< powers of two from 64 bytes

    using ByProtocol = NcclTuning::ByProtocol;

    /// Estimates of rings, or of trees.
    struct Algorithm
    {
        NcclTuning::Latencies latencies;
        std::array<ByProtocol, 2> parts; ///< of the links' bandwidth: up to two nodes, and more
        std::array<std::array<double, SIZES>, NCCL_PROTOCOLS> bySize; ///< further parts, by size

        /// @return which part of the links' bandwidth it reaches
        double PartOf(NcclProtocol protocol, uint32_t nodes) const
        {
            return parts[nodes > 2 ? 1 : 0][static_cast<std::size_t>(protocol)];
        }

        /// @return which part of that it reaches with so many bytes
        double PartBySize(NcclProtocol protocol, uint64_t bytes) const;
    };

    /// Limits between nodes of the bytes of a rank: more than the first, up to the second.
    struct Range
    {
        uint64_t above{0};
        uint64_t upTo{0};

        bool Has(double bytes) const
        {
            return bytes > static_cast<double>(above) && bytes <= static_cast<double>(upTo);
        }
    };

    /// Sizes that go with LL and with LL128 between nodes.
    struct Ranges
    {
        Range ll;
        Range ll128;
    };

    Algorithm ring;
    Algorithm tree;
    uint32_t ringsPerNic{4}; ///< between nodes (rome_models.cc)
    bool hasLl128{false};
    std::map<CollectiveOp, Ranges> ranges; ///< others go as estimated
    /// Of AllGather and ReduceScatter in one node: bytes of a rank up to which LL is taken.
    uint64_t gatherLlUpTo{0};
    uint64_t scatterLlUpTo{0};

    /// Least numbers of ranks of a group for which sends and receives between nodes have steps of
    /// 256 and of 512 KiB; in smaller groups they have NCCL's.
    uint32_t ranksFor256KiB{UINT32_MAX};
    uint32_t ranksFor512KiB{UINT32_MAX};

    /// The time that RCCL expects, in parts.
    struct Estimate
    {
        double latencyUs; ///< of all steps together
        double part;      ///< of the links' bandwidth, at which the collective's bytes go
    };

    /// @param netOverheadUs of posting a message between nodes
    Estimate OfRing(NcclProtocol protocol,
                    CollectiveOp op,
                    uint32_t ranks,
                    uint32_t nodes,
                    uint64_t bytes,
                    double netOverheadUs) const;

    /// The same of an AllReduce by trees.
    Estimate OfTree(NcclProtocol protocol, uint32_t ranks, uint32_t nodes, uint64_t bytes) const;

    /// @return RCCL's fixed protocol, which it takes without estimates, if it has one. @param bytes
    /// of all
    std::optional<NcclProtocol> ProtocolOf(CollectiveOp op,
                                           uint32_t ranks,
                                           uint32_t nodes,
                                           uint64_t bytes) const;

    /// @return the figures of a generation of AMD's in a release, for collectives over so many
    /// nodes
    static const RcclTuning& Of(GpuGeneration generation, NcclRelease release, uint32_t nodes);
};

} // namespace AstraSim

#endif /* RCCL_TUNING_H */
