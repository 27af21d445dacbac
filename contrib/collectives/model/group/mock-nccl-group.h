/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MOCK_NCCL_GROUP_H
#define MOCK_NCCL_GROUP_H

#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/library/collective-library.h"
#include "collectives/model/nccl/nccl-options.h"
#include "collectives/model/timing/single-flow.h"

#include "ns3/collective-algorithm.h"
#include "ns3/collective-implementation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Carries out collectives as the libraries of the machine's GPUs would: NCCL, RCCL, HCCL, an
 * engine's kernels, MSCCL's programs, or a CollectiveAlgorithm in their place.
 *
 * Each CollectiveLibrary makes an offer; the best of them is carried out. A Barrier is the smallest
 * AllReduce. The name is SimAI's.
 */
class MockNcclGroup : public CollectiveImplementation
{
  public:
    MockNcclGroup(const MachineModel& machine, const NcclOptions& options);
    MockNcclGroup(const MockNcclGroup&) = delete; // libraries refer to its machine and options
    MockNcclGroup& operator=(const MockNcclGroup&) = delete;

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

    /// Say which groups have trees of network switches: the others do without CollNet. @param keep
    /// empty: all have
    void SetKeepTrees(KeepTrees keep)
    {
        m_keepTrees = std::move(keep);
    }

    const KeepTrees& GetKeepTrees() const
    {
        return m_keepTrees;
    }

    /**
     * @return the best of the libraries' offers, without making flows
     * @throw ns3::InputError if there is none
     */
    CollectiveOffer Choose(const CommGroup& group, const CollectiveRequest& request) const;

    /// @return the plan for @p request as another choice has it, which may be of other bytes or of
    /// fewer servers
    std::shared_ptr<const CollectivePlan> PlanAs(const CommGroup& group,
                                                 const CollectiveRequest& request,
                                                 const CollectiveOffer& offer) const;

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

    /// @return the user's options
    const NcclOptions& GetOptions() const
    {
        return m_options;
    }

    /// @return the machine with the profile of the GPU type that the user or the topology names
    /// @throw ns3::InputError if there is no such type
    static MachineModel ResolveGpu(MachineModel machine, const NcclOptions& options);

  private:
    using Key =
        std::tuple<std::vector<int>, GroupKind, CollectiveOp, uint64_t, int, std::vector<uint64_t>>;

    /// @return the plan of a group without trees
    std::shared_ptr<const CollectivePlan> PlanWithoutTrees(const CommGroup& group,
                                                           const CollectiveRequest& request);
    /// @return a collective as libraries and algorithms are asked about it
    CollectiveTask MakeTask(const CollectiveRequest& request, const GroupShape& shape) const;
    /// Say that no library can carry out a collective; throws.
    [[noreturn]] void Refuse(const CollectiveRequest& request, const GroupShape& shape) const;
    /// @return the request that is carried out in place of @p request
    static CollectiveRequest Translate(const CommGroup& group, const CollectiveRequest& request);

    MachineModel m_machine;
    NcclOptions m_options;
    std::vector<std::unique_ptr<CollectiveLibrary>> m_libraries;
    std::map<Key, std::shared_ptr<const CollectivePlan>> m_plans;
    KeepTrees m_keepTrees;
    std::unique_ptr<MockNcclGroup> m_withoutTrees; ///< for groups without
};

} // namespace AstraSim

#endif /* MOCK_NCCL_GROUP_H */
