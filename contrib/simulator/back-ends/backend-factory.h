/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BACKEND_FACTORY_H
#define BACKEND_FACTORY_H

#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "fast-forward-backend.h"
#include "simulation-backend.h"
#include "simulator/inputs/run-inputs.h"
#include "simulator/options/run-options.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief The network of a run and the implementation of its collectives, made of the inputs for the
 * jobs.
 */
class RunNetwork
{
  public:
    /**
     * @param options name the network, and outlive the object
     * @param inputs outlives the object
     * @param background flows beside the workloads
     * @param output directory of the network's own files
     * @param threads of a packet-level network; nothing: it is not divided
     * @param mayReuse whether traffic that repeats may be reused
     * @param warnings gets a line for each thing a user should know
     * @throw ns3::InputError for a mistake in an input, or one that this network has no use for
     */
    RunNetwork(const RunOptions& options,
               const RunInputs& inputs,
               const BackgroundFlows& background,
               const std::string& output,
               std::optional<uint32_t> threads,
               bool mayReuse,
               std::vector<std::string>& warnings);

    SimulationBackend& GetBackend() const
    {
        return *m_backend;
    }

    /// @return the backend that simulates and reuses patterns; null if nothing is reused
    FastForwardBackend* GetForward() const
    {
        return m_forward;
    }

    /// @return whether traffic is reused without being told to
    bool ReusesByItself() const
    {
        return m_reusesByItself;
    }

    /// @return the implementation of the ranks' collectives
    CollectiveImplementation& GetCollectives()
    {
        return m_forward ? m_forward->GetCollectives() : m_nccl;
    }

    /// @return NCCL's choices for the ranks of a partition, in a run with partitions or in a copy
    /// of the process
    MockNcclGroup& NcclOf(uint32_t partition);

    /// @return NCCL's choices for the whole run
    MockNcclGroup& GetNccl()
    {
        return m_nccl;
    }

    const MockNcclGroup& GetNccl() const
    {
        return m_nccl;
    }

  private:
    const RunOptions& m_options;
    MachineModel m_machine;
    NcclOptions m_ncclOptions; ///< the user's, with the engine that workloads name
    MockNcclGroup m_nccl;
    std::map<uint32_t, std::unique_ptr<MockNcclGroup>> m_partitionNccl;
    std::unique_ptr<SimulationBackend> m_backend;
    FastForwardBackend* m_forward{nullptr}; ///< the backend, if traffic is reused
    bool m_reusesByItself{false};
};

} // namespace AstraSim

#endif /* BACKEND_FACTORY_H */
