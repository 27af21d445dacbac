/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SYSTEM_CONFIG_H
#define SYSTEM_CONFIG_H

#include "astra-frontend/model/native/native-algorithm.h"
#include "collectives/model/native/native-memory-bus.h"

#include "ns3/collective-types.h"
#include "ns3/rank-network.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// Order in which chunks of waiting collectives start.
enum class SchedulingPolicy : uint8_t
{
    Fifo,     ///< the oldest collective first
    Lifo,     ///< the newest collective first
    Explicit, ///< by the priority the workload gives; the oldest first among equals
};

/// Use of several dimensions by an AllReduce.
enum class CollectiveOptimization : uint8_t
{
    Baseline,     ///< an AllReduce in each dimension, one after the other
    LocalBwAware, ///< ReduceScatter inwards, AllReduce in the last dimension, AllGather outwards
};

/// Everything a system file says.
struct SystemConfig
{
    SchedulingPolicy schedulingPolicy{SchedulingPolicy::Fifo};
    CollectiveOptimization optimization{CollectiveOptimization::Baseline};
    uint32_t activeChunksPerDimension{1};
    uint32_t preferredDatasetSplits{1};
    /// One entry per dimension; empty: MockNcclGroup. A list shorter than the number of dimensions
    /// goes on with its last entry.
    std::vector<NativeAlgorithm> allReduce;
    std::vector<NativeAlgorithm> allGather;
    std::vector<NativeAlgorithm> reduceScatter;
    std::vector<NativeAlgorithm> allToAll;
    MemoryBusConfig memoryBus;
    bool rooflineEnabled{false};
    double peakPerf{0}; ///< TFLOP/s
    bool traceEnabled{false};
    bool replayOnly{false};
    bool trackLocalMemory{false};
    std::string localMemoryTraceFile{"local_mem_trace"};
    uint32_t queuesPerDimension{1};    ///< --num-queues-per-dim
    double commScale{1};               ///< --comm-scale: multiplies every collective's bytes
    double injectionScale{1};          ///< --injection-scale: multiplies the endpoint delay
    double gpuSpread{0};               ///< --gpu-spread: see Sys::GpuTime()
    uint32_t seed{1};                  ///< of the GPUs' draws
    bool rendezvous{false};            ///< --rendezvous-protocol
    std::vector<std::string> warnings; ///< keys that have no effect

    /// A key that lists something by dimension.
    struct ListedByDimension
    {
        std::string key;
        std::size_t entries;
        std::size_t line;
    };

    std::string file; ///< that says all this; empty: none
    std::vector<ListedByDimension> listedByDimension;

    /// @throw ns3::InputError if a key lists more than so many dimensions
    void RequireDimensions(std::size_t dimensions) const;

    /// @return whether chunks of some collective go through ASTRA-sim's algorithms
    bool HasNativeAlgorithms() const;

    /// @return the algorithms of @p op, one per dimension; empty where nccl decides
    const std::vector<NativeAlgorithm>& AlgorithmsOf(CollectiveOp op) const;
};

/**
 * @param path an ASTRA-sim system file (JSON)
 * @return its settings
 * @throw ns3::InputError if it cannot be read, has an unknown key or a wrong value
 */
SystemConfig ReadSystemConfig(const std::string& path);

/// @return the keys, as Rows::ToCsv() has them
std::string DescribeSystemKeys();

} // namespace AstraSim

#endif /* SYSTEM_CONFIG_H */
