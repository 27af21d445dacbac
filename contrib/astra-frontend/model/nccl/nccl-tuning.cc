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

NcclTuning::Latencies&
At(NcclTuning& tuning, NcclAlgorithm algorithm)
{
    return tuning.latencies[static_cast<std::size_t>(algorithm)];
}

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

NcclTuning
Make230()
{
    NcclTuning t;
    At(t, NcclAlgorithm::Tree) = {{6.8, 14, 8.4}, {0.6, 1.25, 4}, {5, 8.5, 14}};
    At(t, NcclAlgorithm::Ring) = {{6.6, 14, 8.4}, {0.6, 1.9, 3.4}, {2.7, 4, 14}};
    At(t, NcclAlgorithm::CollNetDirect) = {{}, {0, 0, 3.7}, {0, 0, 31}};
    At(t, NcclAlgorithm::CollNetChain) = {{}, {0, 0, 2.8}, {0, 0, 30}};
    At(t, NcclAlgorithm::Nvls) = {{}, {0, 0, 25}, {0, 0, 18}};
    At(t, NcclAlgorithm::NvlsTree) = {{}, {0, 0, 25}, {0, 0, 20.9}};
    At(t, NcclAlgorithm::Pat) = {{8, 8, 8}, {0, 0, 4}, {0, 0, 14}};
    // AMD's GPUs: as Hopper, by what their links carry. Nothing published shows them apart.
    t.llMax = {{{87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}, {75.2}, {131.6}, {167.2}}};
    t.llMaxCpu = {39, 39, 20.4};
    t.ringLl128Max = {{{20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}, {18}, {24}, {30.5}}};
    t.treeLl128Max = {{{20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
    t.treeMax = {{{24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
    t.nvlsTreeMax = {{{24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
    t.ringLl = 0.5;
    t.ringLlOneNode = 0.5;
    t.nvlsHalves = true;
    t.correctsNvlsTree = true;
    t.tunesNvlsTree = true;
    t.relaysBehindCpus = true;
    t.hasPat = true;
    t.blackwellIntra = BLACKWELL_INTRA_229;
    t.blackwellInter = BLACKWELL_INTER_230;
    return t;
}

/// 2.29.7.
NcclTuning
Make229()
{
    NcclTuning t = Make230();
    t.nvlsTreeMax[2] = {0, 96, 43.8};
    t.tunesNvlsTree = false;
    t.blackwellInter = BLACKWELL_INTER_229;
    return t;
}

/// 2.28.9.
NcclTuning
Make228()
{
    NcclTuning t = Make229();
    t.ringLl128Max[2] = {2 * 36.7, 34.6, 2 * 36.7};
    t.correctsNvlsTree = false;
    t.blackwellIntra = BLACKWELL_INTRA_226;
    t.blackwellInter = BLACKWELL_INTER_227;
    return t;
}

/// 2.23 to 2.27; Blackwell came with 2.26.
NcclTuning
Make223()
{
    NcclTuning t = Make228();
    At(t, NcclAlgorithm::NvlsTree).net[2] = 14;
    t.ringLl128Max[2] = {2 * 36.7, 2 * 36.7, 2 * 36.7};
    t.treeLl128Max[2] = {2 * 36.7, 2 * 36.7, 2 * 29};
    t.treeMax[2] = {2 * 38.7, 2 * 41.4, 2 * 36};
    t.nvlsHalves = false;
    t.ringsAsNvls = true;
    t.relaysBehindCpus = false;
    return t;
}

NcclTuning
Make220()
{
    NcclTuning t = Make223();
    At(t, NcclAlgorithm::Tree).base[2] = 0;
    At(t, NcclAlgorithm::Tree).nvlink[2] = 28;
    At(t, NcclAlgorithm::Tree).net[2] = 28;
    At(t, NcclAlgorithm::Ring).net[1] = 5.5;
    At(t, NcclAlgorithm::Nvls).nvlink[2] = 23;
    At(t, NcclAlgorithm::NvlsTree).nvlink[2] = 23;
    At(t, NcclAlgorithm::NvlsTree).net[2] = 14;
    t.llMax[1] = t.llMax[0];
    t.llMax[2] = t.llMax[0];
    t.ringLl = 1.0 / 4;
    t.ringLlOneNode = 1.0 / 3;
    t.extraInterStep = true;
    t.nvlsHalves = false;
    t.hasPat = false;
    return t;
}

NcclTuning
Make218()
{
    NcclTuning t = Make220();
    At(t, NcclAlgorithm::Tree).nvlink[2] = 4;
    At(t, NcclAlgorithm::Tree).net[2] = 14;
    At(t, NcclAlgorithm::Ring).net[1] = 4;
    At(t, NcclAlgorithm::CollNetDirect).nvlink[2] = 8;
    At(t, NcclAlgorithm::CollNetDirect).net[2] = 10.7;
    At(t, NcclAlgorithm::CollNetChain).nvlink[2] = 4.75;
    At(t, NcclAlgorithm::CollNetChain).net[2] = 14;
    At(t, NcclAlgorithm::NvlsTree).net[2] = 19;
    t.ringsAsNvls = false;
    t.roundsChunks = true;
    t.treeCutsChunks = true;
    return t;
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
    static const NcclTuning R218 = Make218();
    static const NcclTuning R220 = Make220();
    static const NcclTuning R223 = Make223();
    static const NcclTuning R228 = Make228();
    static const NcclTuning R229 = Make229();
    static const NcclTuning R230 = Make230();
    switch (release)
    {
    case NcclRelease::V2_18:
        return R218;
    case NcclRelease::V2_20:
        return R220;
    case NcclRelease::V2_23:
        return R223;
    case NcclRelease::V2_28:
        return R228;
    case NcclRelease::V2_29:
        return R229;
    default:
        return R230;
    }
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
    // Ampere: the fastest channel that the search tries becomes two. Hopper and Blackwell: what
    // NCCL counts for the NVLinks of B200, over 32 channels. From 128 to 512 MiB, a single round of
    // chunks, nccl-tests' AllGather and ReduceScatter in rings of 16 channels grow by 345 to 348
    // GB/s on servers of 8 H200 and B200, which are 15/15.5 of 16 x 22.3 to 22.5.
    // AMD: the 28 channels of a node of MI300X fill its links, so do those of MI355X, and the 16 of
    // MI250X.
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
