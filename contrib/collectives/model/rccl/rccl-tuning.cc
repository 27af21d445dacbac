/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rccl-tuning.h"

#include <algorithm>
#include <bit>

namespace AstraSim
{

namespace
{

using BySize = std::array<double, RcclTuning::SIZES>;

constexpr NcclTuning::ByProtocol BASE_US = {12, 12, 17};

constexpr BySize TREE_LL = {.1, .1, .1, .1, .1, .1, 1,  1,  1,  1,  1,  .6, 1, .9,
                            1,  1,  .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1};
constexpr BySize TREE_SIMPLE_2024 = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                     .1, .7, 1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  .8};
constexpr BySize TREE_SIMPLE_GFX942 = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                       .1, .7, 1,  1,  1,  1,  1,  .7, .7, .5, .6, .6, .6};
constexpr BySize TREE_LL128_GFX950 = {.1, .1, .1, .1, .1, .1, 1,  1,  1,  1,  1,  .6, 1, .9,
                                      1,  1,  1,  1,  1,  2,  .1, .1, .1, .1, .1, .1, .1};
constexpr BySize TREE_SIMPLE_GFX950 = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                       .1, .7, 1,  .1, .1, .1, .9, .9, .7, .8, .6, .6, .6};
constexpr BySize RING_LL = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1,  .2, 1,
                            .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1};
constexpr BySize RING_LL128_GFX950 = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1,  .2, 1,
                                      .4, .4, .1, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1};
constexpr BySize RING_SIMPLE_2024 = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                     .1, .1, .1, .1, .1, .1, .1, .1, .1, .8, 1,  1,  1};
constexpr BySize RING_SIMPLE_GFX942 = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                       .1, .1, .1, .1, .1, .1, .1, .1, 1,  .8, 1,  1,  1};
constexpr BySize RING_SIMPLE_GFX950 = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                       .1, .1, .1, .1, .1, .1, .1, .1, 1,  .8, .8, 1,  1};

constexpr BySize TREE_LL_GFX90A_ONE_NODE = {.1, .2, .1, .1, .9, .3, .4, .1, .2, .4, .2, .1, .3, .3,
                                            .2, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1};
constexpr BySize TREE_SIMPLE_GFX90A_ONE_NODE = {.2, 1,  .1, .1, .7, .2, .4, .1, .1,
                                                .3, .4, .3, .6, .8, 1,  1,  1,  1,
                                                .9, .8, .8, .8, .8, .8, .9, .9, .9};
constexpr BySize TREE_LL_GFX90A = {.1, .1, .1, .1, .1, .1, 1,  1,  .2, 1,  .9, 1,  .6, .4,
                                   .6, .4, .3, .3, .3, .3, .3, .2, .2, .2, .2, .2, .2};
constexpr BySize TREE_SIMPLE_GFX90A = {1, 1, 1, 1, 1, 1, .1, .1, .1, .2, 1,  .8, 1, 1,
                                       1, 1, 1, 1, 1, 1, 1,  .8, .7, .8, .9, .7, .7};
constexpr BySize RING_LL_GFX90A = {.1, .1, .1, .1, .1, .3, .1, .2, .1, .4, .4, .2, .2, .3,
                                   .7, .5, .4, .3, .3, .3, .3, .2, .2, .2, .2, .2, .2};
constexpr BySize RING_SIMPLE_GFX90A = {.1, .1, .1, .1, .1, .1, .1, .5, 1, .1, .3, .1, .1, .1,
                                       .2, .2, .2, .3, .4, .7, 1,  1,  1, 1,  1,  1,  1};

/// MI250X, over several nodes or one. LL128 is for other servers of it only.
RcclTuning
Make90a(bool oneNode)
{
    // RCCL counts all 7 links of a GPU, and rings fill as much as 4 of them.
    constexpr double LINKS = 7 / 4.0;
    const double ll = (oneNode ? 0.04 : 0.2) * LINKS;
    const double tree = oneNode ? 0.91 : 1.75;
    RcclTuning t;
    t.ring = {{BASE_US, {0.8, 0.8, 3.6}, {9.5, 9.5, 19.8}},
              {{{ll, 0, LINKS}, {ll, 0, LINKS}}},
              {RING_LL_GFX90A, RING_LL_GFX90A, RING_SIMPLE_GFX90A}};
    t.tree = {{BASE_US, {0.8, 0.8, 2.5}, {12.5, 12.5, 22.4}},
              {{{ll, 0, tree * LINKS}, {ll, 0, 0.96 * LINKS}}},
              {oneNode ? TREE_LL_GFX90A_ONE_NODE : TREE_LL_GFX90A,
               TREE_LL_GFX90A,
               oneNode ? TREE_SIMPLE_GFX90A_ONE_NODE : TREE_SIMPLE_GFX90A}};
    t.ringsPerNic = 2;
    return t;
}

/// ROCm 6.2 and 6.3; the later generations change some of it.
RcclTuning
Make2024()
{
    RcclTuning t;
    t.ring = {{BASE_US, {0.8, 0.8, 2.1}, {9.5, 9.5, 320}},
              {{{0.08, 0.08, 1}, {0.08, 0.08, 1}}},
              {RING_LL, RING_LL, RING_SIMPLE_2024}};
    t.tree = {{BASE_US, {0.9, 0.9, 2.3}, {10.5, 10.5, 25}},
              {{{0.06, 0.06, 0.11}, {0.06, 0.06, 0.59}}},
              {TREE_LL, TREE_LL, TREE_SIMPLE_2024}};
    return t;
}

RcclTuning
Make942()
{
    RcclTuning t = Make2024();
    t.ring.bySize[2] = RING_SIMPLE_GFX942;
    t.tree.bySize[2] = TREE_SIMPLE_GFX942;
    t.hasLl128 = true;
    t.ranges = {{CollectiveOp::ReduceScatter, {{0, 655360}, {131072, 3211264}}},
                {CollectiveOp::AllGather, {{0, 98304}, {98304, 5046272}}},
                {CollectiveOp::AllReduce, {{0, 1048576}, {1048576, 9437184}}}};
    t.scatterLlUpTo = 352128;
    t.ranksFor512KiB = 64;
    return t;
}

RcclTuning
Make950()
{
    RcclTuning t = Make2024();
    t.ring.bySize = {RING_LL, RING_LL128_GFX950, RING_SIMPLE_GFX950};
    t.tree.bySize = {TREE_LL, TREE_LL128_GFX950, TREE_SIMPLE_GFX950};
    t.hasLl128 = true;
    t.ranges = {{CollectiveOp::ReduceScatter, {{0, 131071}, {131071, 4194304}}},
                {CollectiveOp::AllGather, {{0, 7}, {7, 8388608}}},
                {CollectiveOp::AllReduce, {{0, 131071}, {131071, 17660227}}},
                {CollectiveOp::Reduce, {{0, 16383}, {16383, 16777216}}},
                {CollectiveOp::Broadcast, {{0, 2048}, {2048, 16777216}}}};
    t.gatherLlUpTo = 88448;
    t.scatterLlUpTo = 1048576;
    t.ranksFor256KiB = 16;
    t.ranksFor512KiB = 32;
    return t;
}

} // namespace

double
RcclTuning::Algorithm::PartBySize(NcclProtocol protocol, uint64_t bytes) const
{
    const auto width = static_cast<std::size_t>(std::bit_width(bytes >> 6));
    const std::size_t size = std::clamp<std::size_t>(width, 1, SIZES) - 1;
    return bySize[static_cast<std::size_t>(protocol)][size];
}

RcclTuning::Estimate
RcclTuning::OfRing(NcclProtocol protocol,
                   CollectiveOp op,
                   uint32_t ranks,
                   uint32_t nodes,
                   uint64_t bytes,
                   double netOverheadUs) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const bool reduces = op == CollectiveOp::AllReduce;
    const double steps = StepsOfRing(op, ranks);
    const double interSteps = nodes == 1    ? 0
                              : reduces     ? 2.0 * nodes
                              : IsChain(op) ? nodes
                                            : nodes - 1.0;
    const double posting =
        nodes == 1 ? 0 : netOverheadUs * (protocol == NcclProtocol::Simple ? 3 : 1);
    const double latency = ring.latencies.base[p] +
                           (steps - interSteps) * std::max(ring.latencies.nvlink[p], posting) +
                           interSteps * ring.latencies.net[p];
    double part = ring.PartOf(protocol, nodes) * ranks / std::max(1.0, steps);
    if (nodes > 1)
    {
        part *= ring.PartBySize(protocol, bytes);
    }
    else if (IsChain(op) && protocol == NcclProtocol::Ll)
    {
        part *= 1.65;
    }
    return {latency, part};
}

RcclTuning::Estimate
RcclTuning::OfTree(NcclProtocol protocol, uint32_t ranks, uint32_t nodes, uint64_t bytes) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const double within = static_cast<double>(ranks) / nodes - 1;
    return {tree.latencies.base[p] +
                2 * (within * tree.latencies.nvlink[p] + FloorLog2(nodes) * tree.latencies.net[p]),
            tree.PartOf(protocol, nodes) * tree.PartBySize(protocol, bytes) / 2};
}

std::optional<NcclProtocol>
RcclTuning::ProtocolOf(CollectiveOp op, uint32_t ranks, uint32_t nodes, uint64_t bytes) const
{
    const bool reduces = op == CollectiveOp::AllReduce;
    const double ofRank = static_cast<double>(bytes) / (reduces ? 1 : ranks);
    if (nodes == 1)
    {
        const uint64_t upTo = op == CollectiveOp::AllGather       ? gatherLlUpTo
                              : op == CollectiveOp::ReduceScatter ? scatterLlUpTo
                                                                  : 0;
        return ofRank <= static_cast<double>(upTo) ? std::optional(NcclProtocol::Ll) : std::nullopt;
    }
    const auto own = ranges.find(op);
    if (own == ranges.end())
    {
        return std::nullopt;
    }
    Range ll128 = own->second.ll128;
    if (reduces && nodes > 2)
    {
        ll128.upTo = static_cast<uint64_t>(3.8 * static_cast<double>(ll128.upTo));
    }
    return ll128.Has(ofRank)            ? NcclProtocol::Ll128
           : own->second.ll.Has(ofRank) ? NcclProtocol::Ll
                                        : NcclProtocol::Simple;
}

const RcclTuning&
RcclTuning::Of(GpuGeneration generation, NcclRelease release, uint32_t nodes)
{
    static const RcclTuning GFX90A_ONE_NODE = Make90a(true);
    static const RcclTuning GFX90A = Make90a(false);
    static const RcclTuning OF_2024 = Make2024();
    static const RcclTuning GFX942 = Make942();
    static const RcclTuning GFX950 = Make950();
    if (generation == GpuGeneration::Cdna2)
    {
        return nodes == 1 ? GFX90A_ONE_NODE : GFX90A;
    }
    return release < NcclRelease::V2_23         ? OF_2024
           : generation == GpuGeneration::Cdna4 ? GFX950
                                                : GFX942;
}

} // namespace AstraSim
