/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PHY_INPUTS_H
#define PHY_INPUTS_H

#include "astra-frontend/model/workload/workload-file.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "phy-options.h"
#include "programs/frame/run-console.h"
#include "programs/frame/run-record.h"
#include "simulator/inputs/run-inputs.h"
#include "simulator/physical/rank-communicator.h"
#include "simulator/physical/reduced-collectives.h"

#include <cstdint>
#include <memory>
#include <string>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Inputs of a run with real traffic: the files and options that all ranks must agree on.
 */
class PhyInputs
{
  public:
    /// @param options outlive the object
    explicit PhyInputs(const PhyOptions& options);

    /**
     * Read the files and compare them with the number of ranks.
     * @param ranks how many are running
     * @throw ns3::InputError if a file is wrong, or made for another number of ranks
     */
    void Read(uint32_t ranks, RunConsole& console);

    /// Every rank calls it. @throw Refusal if their inputs differ
    void Compare(const RankCommunicator& ranks) const;

    /// Add the inputs to the run's record.
    void Record(RunRecord& record) const;

    /// @return where results go, if nothing else is asked for: named by the workload and topology
    std::string GetOutput() const;

    /// @return the workload anew, for an iteration
    std::unique_ptr<Workload> OpenWorkload() const;

    /// @return the workload, to ask for names
    const Workload& GetWorkload() const
    {
        return *m_workload;
    }

    const ns3::ClusterTopology& GetTopology() const
    {
        return m_inputs.topology;
    }

    /// @return the implementation of collectives
    CollectiveImplementation& GetCollectives() const;

    /// @return the number of collectives with checked results
    uint64_t GetChecked() const
    {
        return m_reduced ? m_reduced->GetChecked() : 0;
    }

  private:
    const PhyOptions& m_options;
    RunInputs m_inputs;
    std::unique_ptr<Workload> m_workload;
    std::unique_ptr<MockNcclGroup> m_nccl;
    std::unique_ptr<ReducedCollectives> m_reduced; ///< with --reduce
};

} // namespace AstraSim

#endif /* PHY_INPUTS_H */
