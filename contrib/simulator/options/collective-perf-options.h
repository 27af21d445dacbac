/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_PERF_OPTIONS_H
#define COLLECTIVE_PERF_OPTIONS_H

#include "run-options.h"

#include "ns3/collective-types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// A program of nccl-tests.
struct CollectiveTest
{
    const char* program; ///< "all_reduce_perf"
    CollectiveOp op;     ///< None for hypercube, which is made of sends and receives
    bool reduces;        ///< whether -o matters
    bool rooted;         ///< whether -r matters
    bool perRank;        ///< the count is of one rank's part; sizes are multiples of 16 bytes each
};

/// The choice of -a: the time of a rank, or a statistic over all ranks.
enum class RankTime : uint8_t
{
    Rank0,
    Average,
    Smallest,
    Largest,
};

/// An element type of NCCL.
struct ElementType
{
    const char* name;
    uint32_t bytes;
};

/// Options of collective-perf: nccl-tests' flags, and the machine that is simulated.
struct CollectivePerfOptions
{
    const CollectiveTest* test{nullptr};
    RunOptions run; ///< network, topology, configuration, NCCL's options; no workload
    uint64_t minBytes{32 << 20};
    uint64_t maxBytes{32 << 20};
    uint64_t stepBytes{1 << 20};
    uint64_t stepFactor{1}; ///< 1: sizes grow by stepBytes
    uint32_t iterations{20};
    uint32_t aggregated{1}; ///< -m: collectives of one launch
    uint32_t warmUps{1};
    uint32_t cycles{1};
    uint32_t threads{1};       ///< of a process
    uint32_t gpusPerThread{1}; ///< so many GPUs make a rank each
    double launchUs{0};        ///< --launch-us: launch time of a thread on one GPU
    double launchChannelUs{0}; ///< --launch-channel-us: and for each channel but the first
    uint32_t processes{0};     ///< 0: as many as the topology holds
    uint32_t checks{1};
    uint32_t blocking{0};
    bool simulatesAll{false}; ///< --all-iterations
    RankTime rankTime{RankTime::Average};
    std::vector<ElementType> types;
    std::vector<std::string> reductions;
    int root{0}; ///< -1: each in turn

    /**
     * @param program the name the program was called by; a test's name chooses that test
     * @param arguments of the program; without such a name the first is the test's
     * @param environment variables
     * @throw ns3::InputError naming the flag or variable that is wrong
     */
    static CollectivePerfOptions Parse(const std::string& program,
                                       std::vector<std::string> arguments,
                                       const RunOptions::Environment& environment);
};

} // namespace AstraSim

#endif /* COLLECTIVE_PERF_OPTIONS_H */
