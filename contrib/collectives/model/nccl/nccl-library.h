/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_LIBRARY_H
#define NCCL_LIBRARY_H

#include "collectives/model/library/collective-library.h"
#include "nccl-chooser.h"
#include "nccl-cost-model.h"

#include "ns3/collective-choice.h"
#include "ns3/gpu-model.h"

#include <memory>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief NCCL, and RCCL on AMD's GPUs: chooses algorithm, protocol and channels by NCCL's cost
 * model, and makes NCCL's flows.
 *
 * AllReduce uses rings or double binary trees, NVLS within a node and NVLS-Tree between nodes where
 * they are enabled and faster; AllGather and ReduceScatter use rings, or PAT where every node has
 * one GPU; Broadcast and Reduce use pipelined chains; AllToAll(v), Gather, Scatter and SendRecv are
 * sends between pairs.
 */
class NcclLibrary : public CollectiveLibrary
{
  public:
    /// @throw ns3::InputError if the user requires NVLS where there is none
    explicit NcclLibrary(std::unique_ptr<const NcclCostModel> model);

    std::optional<CollectiveOffer> Offer(const CollectiveQuestion& question) const override;
    void Describe(CollectiveTask& task, const GroupShape& shape) const override;

  private:
    std::optional<NcclPlan> Find(const CollectiveQuestion& question) const;
    CollectiveChoice NameChoice(const CollectiveRequest& request,
                                const GroupShape& shape,
                                const NcclPlan& plan) const;
    /// @return whether data for other nodes goes through the GPU on its destination's rail
    bool UsesPxn(CollectiveOp op, const GroupShape& shape) const;
    /// @param wholePairBytes most bytes of a pair of the collective that the plan is for
    TimedGraph MakeGraph(const CollectiveRequest& request,
                         const GroupShape& shape,
                         const NcclPlan& plan,
                         uint64_t wholePairBytes) const;

    std::unique_ptr<const NcclCostModel> m_model;
    const MachineModel& m_machine;
    const NcclOptions& m_options;
    NcclChooser m_chooser;
};

} // namespace AstraSim

#endif /* NCCL_LIBRARY_H */
