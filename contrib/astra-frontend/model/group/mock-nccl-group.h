/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MOCK_NCCL_GROUP_H
#define MOCK_NCCL_GROUP_H

#include "astra-frontend/model/gpu/machine-model.h"
#include "astra-frontend/model/nccl/nccl-cost-model.h"
#include "astra-frontend/model/nccl/nccl-options.h"
#include "astra-frontend/model/timing/single-flow.h"

#include "ns3/collective-algorithm.h"
#include "ns3/collective-implementation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Carries out collectives as NCCL would on the machine: chooses algorithm, protocol and
 * channels by NCCL's cost model, and makes NCCL's flows.
 *
 * AllReduce uses rings or double binary trees, NVLS within a node and NVLS-Tree between nodes where
 * they are enabled and faster; AllGather and ReduceScatter use rings, or PAT where every node has
 * one GPU; Broadcast and Reduce use pipelined chains; AllToAll(v), Gather, Scatter and SendRecv are
 * sends between pairs; a Barrier is the smallest AllReduce. A CollectiveAlgorithm may take their
 * place.
 */
class MockNcclGroup : public CollectiveImplementation
{
  public:
    MockNcclGroup(const MachineModel& machine, const NcclOptions& options);
    ~MockNcclGroup() override;

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

    /// @return the choice and its parameters, without making flows; its channels are those that get
    /// data
    NcclPlan Choose(const CommGroup& group, const CollectiveRequest& request) const;

    /// @return the plan for @p request as another choice has it, which may be of other bytes or of
    /// fewer servers
    std::shared_ptr<const CollectivePlan> PlanAs(const CommGroup& group,
                                                 const CollectiveRequest& request,
                                                 const NcclPlan& plan) const;

    /// @return the choice as records of runs name it, flows not counted
    CollectiveChoice Describe(const CommGroup& group, const CollectiveRequest& request) const;

    /**
     * Write the flows of a collective out. An NVSwitch has the first number above all of the
     * group's ranks.
     * @throw ns3::InputError if there are more than @p limit
     */
    std::vector<SingleFlow> GetSingleFlows(const CommGroup& group,
                                           const CollectiveRequest& request,
                                           uint64_t limit) const;

    /// @return the machine
    const MachineModel& GetMachine() const
    {
        return m_machine;
    }

    /// @return what the user asked for
    const NcclOptions& GetOptions() const
    {
        return m_options;
    }

  private:
    /// @return the machine with the profile of the GPU type that the user or the topology names
    static MachineModel ResolveGpu(MachineModel machine, const NcclOptions& options);

    using Key =
        std::tuple<std::vector<int>, GroupKind, CollectiveOp, uint64_t, int, std::vector<uint64_t>>;

    /// @return the choice; its channels are those that may be used
    NcclPlan Decide(const CommGroup& group,
                    const GroupShape& shape,
                    const CollectiveRequest& request) const;
    /// @return a collective as a plug-in is asked about it
    CollectiveTask MakeTask(const CollectiveRequest& request, const GroupShape& shape) const;
    /// @return the plan of the plug-in that can, may, and costs least
    std::optional<NcclPlan> FindPlugIn(const CollectiveRequest& request,
                                       const GroupShape& shape) const;
    /// @return the request that is carried out in place of @p request
    static CollectiveRequest Translate(const CommGroup& group, const CollectiveRequest& request);
    CollectiveChoice NameChoice(const CollectiveRequest& request,
                                const GroupShape& shape,
                                const NcclPlan& plan) const;
    /// @return whether data for other nodes goes through the GPU on its destination's rail
    bool UsesPxn(CollectiveOp op, const GroupShape& shape) const;
    TimedGraph MakeGraph(const CollectiveRequest& request,
                         const GroupShape& shape,
                         const NcclPlan& plan) const;

    MachineModel m_machine;
    NcclOptions m_options;
    NcclCostModel m_model;
    std::map<Key, std::shared_ptr<const CollectivePlan>> m_plans;
};

} // namespace AstraSim

#endif /* MOCK_NCCL_GROUP_H */
