/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ENGINE_ALL_REDUCE_H
#define ENGINE_ALL_REDUCE_H

#include "collectives/model/gpu/gpu-table.h"

#include "ns3/collective-algorithm.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The AllReduce kernels of an inference engine, within one server.
 *
 * Engines carry out AllReduces of few bytes themselves, with less latency than NCCL. The figures
 * are those of engine-all-reduce.yaml, which is part of the library and says where they come from.
 */
class EngineAllReduce
{
  public:
    /// Time of one kind of kernel.
    struct Stage
    {
        double us{0};     ///< before the first byte, with 2 ranks
        double peerUs{0}; ///< more for each further rank
        double GBps{0};   ///< of the data that a GPU reads from others
    };

    /// @return the engine of a name
    /// @param what the option that gave the name, for the error
    /// @throw ns3::InputError from @p source if there is none
    static const EngineAllReduce& Find(const std::string& name,
                                       const std::string& source,
                                       const std::string& what);

    /// @return whether the engine's kernels on such GPUs are known
    bool Knows(GpuGeneration generation) const
    {
        return m_one.stages.contains(generation);
    }

    /// @throw ns3::InputError if nothing is known of the engine's kernels on such GPUs
    void RequireFigures(GpuGeneration generation) const;

    /// @return the kernel for an AllReduce; nothing where the engine leaves it to NCCL
    std::optional<CollectiveTask::EngineKernel> Choose(GpuGeneration generation,
                                                       uint32_t ranks,
                                                       uint64_t bytes) const;

  private:
    /// Kernels with one number of shots.
    struct Shots
    {
        std::map<GpuGeneration, Stage> stages;
        std::map<uint32_t, uint64_t> mostBytes; ///< by ranks
    };

    class Table;

    std::string m_name;
    Shots m_one;
    Shots m_two;
};

} // namespace AstraSim

#endif /* ENGINE_ALL_REDUCE_H */
