/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-tuning.h"

#include "ns3/clock-range.h"

#include <bit>

namespace AstraSim
{

namespace
{

constexpr double AMPERE_INTRA[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double HOPPER_INTRA[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double BLACKWELL_INTRA_226[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
constexpr double BLACKWELL_INTRA_229[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double AMPERE_INTER[] =
    {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
constexpr double HOPPER_INTER[] =
    {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
constexpr double BLACKWELL_INTER_230[] = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,   22,
                                          20, 17.5, 15, 12, 6,    3,  2.4, 1.2, 0.24, 0.12};
constexpr double BLACKWELL_INTER_229[] =
    {96, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
constexpr double BLACKWELL_INTER_227[] =
    {96, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};

using Release = NcclRelease;
using Generation = GpuGeneration;
using Tuning = NcclTuning;

constexpr Release FIRST = FIRST_NCCL_RELEASE;
constexpr Release LAST = LAST_NCCL_RELEASE;

/// A figure of the releases from one to another.
template <typename Figure, typename Value>
struct Row
{
    Figure figure;
    Release since;
    Release until;
    Value value;
};

/// Bandwidths of GPUs of one generation.
struct Limit
{
    std::array<Tuning::ByNodes, Tuning::GENERATIONS> Tuning::*of;
    Generation generation;
};

// AMD's GPUs: as Hopper, by the rates of their links. Nothing published shows them apart.
constexpr Row<Limit, Tuning::ByNodes> LIMITS[] = {
    {{&Tuning::llMax, Generation::Ampere}, FIRST, LAST, {87.7, 22.5, 19}},
    {{&Tuning::llMax, Generation::Hopper}, Release::V2_23, LAST, {141, 45, 35}},
    {{&Tuning::llMax, Generation::Hopper}, FIRST, Release::V2_20, {87.7, 22.5, 19}},
    {{&Tuning::llMax, Generation::Blackwell}, Release::V2_23, LAST, {282, 90, 70}},
    {{&Tuning::llMax, Generation::Blackwell}, FIRST, Release::V2_20, {87.7, 22.5, 19}},
    {{&Tuning::llMax, Generation::Cdna2}, FIRST, LAST, {75.2}},
    {{&Tuning::llMax, Generation::Cdna3}, FIRST, LAST, {131.6}},
    {{&Tuning::llMax, Generation::Cdna4}, FIRST, LAST, {167.2}},
    {{&Tuning::ringLl128Max, Generation::Ampere}, FIRST, LAST, {20, 20, 20}},
    {{&Tuning::ringLl128Max, Generation::Hopper}, FIRST, LAST, {36.7, 36.7, 36.7}},
    {{&Tuning::ringLl128Max, Generation::Blackwell}, Release::V2_29, LAST, {40, 40, 40}},
    {{&Tuning::ringLl128Max, Generation::Blackwell},
     Release::V2_29_2,
     Release::V2_29_2,
     {34.5, 34.6, 34.5}},
    {{&Tuning::ringLl128Max, Generation::Blackwell},
     Release::V2_28,
     Release::V2_28,
     {73.4, 34.6, 73.4}},
    {{&Tuning::ringLl128Max, Generation::Blackwell}, FIRST, Release::V2_23, {73.4, 73.4, 73.4}},
    {{&Tuning::ringLl128Max, Generation::Cdna2}, FIRST, LAST, {18}},
    {{&Tuning::ringLl128Max, Generation::Cdna3}, FIRST, LAST, {24}},
    {{&Tuning::ringLl128Max, Generation::Cdna4}, FIRST, LAST, {30.5}},
    {{&Tuning::treeLl128Max, Generation::Ampere}, FIRST, LAST, {20, 20, 20}},
    {{&Tuning::treeLl128Max, Generation::Hopper}, FIRST, LAST, {36.7, 36.7, 29}},
    {{&Tuning::treeLl128Max, Generation::Blackwell}, Release::V2_28, LAST, {55.6, 31.67, 20}},
    {{&Tuning::treeLl128Max, Generation::Blackwell}, FIRST, Release::V2_23, {73.4, 73.4, 58}},
    {{&Tuning::treeMax, Generation::Ampere}, FIRST, LAST, {24, 23.6, 17.8}},
    {{&Tuning::treeMax, Generation::Hopper}, FIRST, LAST, {38.7, 41.4, 36}},
    {{&Tuning::treeMax, Generation::Blackwell}, Release::V2_28, LAST, {70, 42.8, 24}},
    {{&Tuning::treeMax, Generation::Blackwell}, FIRST, Release::V2_23, {77.4, 82.8, 72}},
    {{&Tuning::nvlsTreeMax, Generation::Ampere}, FIRST, LAST, {24, 23.6, 17.8}},
    {{&Tuning::nvlsTreeMax, Generation::Hopper}, FIRST, LAST, {0, 57.7, 45.5}},
    {{&Tuning::nvlsTreeMax, Generation::Blackwell}, Release::V2_30, LAST, {0, 96, 80}},
    {{&Tuning::nvlsTreeMax, Generation::Blackwell}, FIRST, Release::V2_29, {0, 96, 43.8}},
};

constexpr Row<double Tuning::*, double> PARTS[] = {
    {&Tuning::ringLl, Release::V2_23, LAST, 0.5},
    {&Tuning::ringLl, FIRST, Release::V2_20, 1.0 / 4},
    {&Tuning::ringLlOneNode, Release::V2_23, LAST, 0.5},
    {&Tuning::ringLlOneNode, FIRST, Release::V2_20, 1.0 / 3},
};

// The releases that follow a rule.
constexpr Row<bool Tuning::*, bool> RULES[] = {
    {&Tuning::extraInterStep, FIRST, Release::V2_20, true},
    {&Tuning::nvlsHalves, Release::V2_28, LAST, true},
    {&Tuning::correctsNvlsTree, Release::V2_29_2, LAST, true},
    {&Tuning::ringsAsNvls, Release::V2_20, Release::V2_23, true},
    {&Tuning::readsNvlsChunk, Release::V2_23, LAST, true},
    {&Tuning::readsNvlsTreeChunk, Release::V2_20, LAST, true},
    {&Tuning::tunesNvlsTree, Release::V2_30, LAST, true},
    {&Tuning::relaysBehindCpus, Release::V2_28, LAST, true},
    {&Tuning::hasPat, Release::V2_23, LAST, true},
    {&Tuning::gathersByNvls, Release::V2_20, LAST, true},
    {&Tuning::countsPairsByRate, Release::V2_29_2, LAST, true},
    {&Tuning::roundsChunks, FIRST, Release::V2_18, true},
    {&Tuning::treeCutsChunks, FIRST, Release::V2_18, true},
};

// Blackwell came with 2.26, which 2.23 stands for.
constexpr Row<std::span<const double> Tuning::*, std::span<const double>> SPEEDS[] = {
    {&Tuning::blackwellIntra, Release::V2_29_2, LAST, BLACKWELL_INTRA_229},
    {&Tuning::blackwellIntra, FIRST, Release::V2_28, BLACKWELL_INTRA_226},
    {&Tuning::blackwellInter, Release::V2_30, LAST, BLACKWELL_INTER_230},
    {&Tuning::blackwellInter, Release::V2_29, Release::V2_29, BLACKWELL_INTER_229},
    {&Tuning::blackwellInter, FIRST, Release::V2_29_2, BLACKWELL_INTER_227},
};

/// Set a release's figures of a table; of several rows for one figure the last counts.
template <typename Table, typename Set>
void
Take(const Table& table, Release release, Set set)
{
    for (const auto& row : table)
    {
        if (row.since <= release && release <= row.until)
        {
            set(row.figure, row.value);
        }
    }
}

NcclTuning
Make(Release release)
{
    NcclTuning tuning;
    tuning.release = release;
    const auto set = [&tuning](auto member, auto value) { tuning.*member = value; };
    Take(LIMITS, release, [&tuning](const Limit& limit, const Tuning::ByNodes& value) {
        (tuning.*limit.of)[static_cast<std::size_t>(limit.generation)] = value;
    });
    Take(PARTS, release, set);
    Take(RULES, release, set);
    Take(SPEEDS, release, set);
    return tuning;
}

constexpr std::size_t TREE_SIZES = 23;
constexpr std::array<std::array<double, TREE_SIZES>, NCCL_PROTOCOLS> TREE_CORRECTION = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

} // namespace

const NcclTuning&
NcclTuning::Of(NcclRelease release)
{
    static const std::array<NcclTuning, NCCL_RELEASES> ALL = [] {
        std::array<NcclTuning, NCCL_RELEASES> all;
        for (std::size_t release = 0; release < all.size(); ++release)
        {
            all[release] = Make(static_cast<Release>(release));
        }
        return all;
    }();
    return ALL[static_cast<std::size_t>(release)];
}

TimePs
FromMicroseconds(double us)
{
    return ns3::RoundToPs(us * 1e6);
}

double
NcclTreeCorrection(NcclProtocol protocol, uint64_t bytes)
{
    const auto size = static_cast<std::size_t>(std::bit_width(bytes >> 6));
    return size > 0 && size <= TREE_SIZES
               ? TREE_CORRECTION[static_cast<std::size_t>(protocol)][size - 1]
               : 1;
}

std::span<const double>
NcclTuning::SpeedsWithinNode(GpuGeneration generation) const
{
    switch (generation)
    {
    case GpuGeneration::Ampere:
        return AMPERE_INTRA;
    case GpuGeneration::Hopper:
        return HOPPER_INTRA;
    case GpuGeneration::Blackwell:
        return blackwellIntra;
    default:
        return {}; // RCCL has channels for each machine and searches none
    }
}

std::span<const double>
NcclTuning::SpeedsBetweenNodes(GpuGeneration generation) const
{
    switch (generation)
    {
    case GpuGeneration::Ampere:
        return AMPERE_INTER;
    case GpuGeneration::Hopper:
        return HOPPER_INTER;
    case GpuGeneration::Blackwell:
        return blackwellInter;
    default:
        return {};
    }
}

double
NcclBlockGBps(GpuGeneration generation)
{
    // Ampere: the fastest channel that the search tries becomes two. Hopper and Blackwell: NCCL's
    // figure for the NVLinks of B200, over 32 channels. From 128 to 512 MiB, a single round of
    // chunks, nccl-tests' AllGather and ReduceScatter in rings of 16 channels grow by 345 to 348
    // GB/s on servers of 8 H200 and B200, which are 15/15.5 of 16 x 22.3 to 22.5. AMD: the 28
    // channels of a node of MI300X fill its links, so do those of MI355X, and the 16 of MI250X.
    constexpr double CHANNELS = 28;
    switch (generation)
    {
    case GpuGeneration::Ampere:
        return AMPERE_INTRA[0] / 2;
    case GpuGeneration::Cdna2:
        return 252 / 16.0;
    case GpuGeneration::Cdna3:
        return 336 / CHANNELS;
    case GpuGeneration::Cdna4:
        return 427 / CHANNELS;
    default:
        return 22.5;
    }
}

NcclTreeThreads
NcclTreeThreadsOf(NcclProtocol protocol)
{
    // src/device/all_reduce.h, runTreeSplit, and src/enqueue.cc. Simple: of 640 threads half and 64
    // more, and the rest, each with a warp that synchronizes. LL and LL128: 7/10 of 512 and of 640,
    // in whole warps.
    switch (protocol)
    {
    case NcclProtocol::Ll:
        return {352, 160};
    case NcclProtocol::Ll128:
        return {448, 192};
    default:
        return {384 - 32, 256 - 32};
    }
}

NcclBlock
NcclBlockOf(NcclProtocol protocol)
{
    // A pass is 8 bytes per thread for LL, 60 of a thread's 64 bytes for LL128 and 8 loads of 16
    // bytes for Simple.
    switch (protocol)
    {
    case NcclProtocol::Ll:
        return {512, 8, 512 * 8};
    case NcclProtocol::Ll128:
        return {640, 8, 640 * 60};
    default:
        return {512, 64, 512 * 8 * 16};
    }
}

} // namespace AstraSim
