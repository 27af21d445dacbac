/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_CHOOSER_H
#define NCCL_CHOOSER_H

#include "nccl-cost-model.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief NCCL's choice: of the algorithms and protocols that the user, the tuner and the network
 * allow, the pair with the smallest expected time (NCCL 2.30 src/enqueue.cc, topoGetAlgoInfo).
 */
class NcclChooser
{
  public:
    /// @param model outlives the object
    explicit NcclChooser(const NcclCostModel& model)
        : m_model(model)
    {
    }

    /**
     * @param hasRival whether a plug-in's cost is compared with the expected time; then that time
     * decides on the protocol, too
     * @return the plan NCCL would take for @p op over @p bytes; nothing if the user's algorithms
     * and protocols leave none
     */
    std::optional<NcclPlan> Choose(CollectiveOp op,
                                   const GroupShape& shape,
                                   GroupKind kind,
                                   uint64_t bytes,
                                   bool hasRival = false) const;

  private:
    /// @return the plan by SimAI's rules
    NcclPlan ChooseByRules(CollectiveOp op,
                           const GroupShape& shape,
                           GroupKind kind,
                           uint64_t bytes) const;
    /// @return the best plan of those that NCCL_ALGO and NCCL_PROTO leave, if any
    std::optional<NcclPlan> ChooseAllowed(CollectiveOp op,
                                          const GroupShape& shape,
                                          uint64_t bytes) const;
    /// @return the plan with the library's fixed protocol, if it has one
    NcclPlan WithFixedProtocol(const NcclPlan& plan,
                               CollectiveOp op,
                               const GroupShape& shape,
                               uint64_t bytes) const;
    /// @return the plan where they leave none, if NCCL then takes one all the same
    std::optional<NcclPlan> ChooseFallback(CollectiveOp op,
                                           const GroupShape& shape,
                                           uint64_t bytes) const;
    /// @return the plan that a row of the tuner chooses, if one does
    std::optional<NcclPlan> ChooseByTuner(CollectiveOp op,
                                          const GroupShape& shape,
                                          uint64_t bytes) const;
    /// @return the best plan of the algorithms that @p allows, if there is one
    std::optional<NcclPlan> ChooseAmong(
        CollectiveOp op,
        const GroupShape& shape,
        uint64_t bytes,
        const std::function<bool(const NcclAlgorithm&)>& allows) const;
    /// @return whether the network, and the path from GPU to NIC, may carry a protocol
    bool MayCross(NcclProtocol protocol, CollectiveOp op) const;
    /// @return whether a protocol may be chosen between nodes: if MayCross(), and if no rule
    /// prefers Simple to LL128 for so many bytes (NetworkKind::simpleFrom, SimpleFollowsLl())
    bool SuitsNetwork(NcclProtocol protocol,
                      CollectiveOp op,
                      const GroupShape& shape,
                      uint64_t bytes) const;
    /// @return whether a ring between nodes has Simple where NCCL's estimates would have LL128,
    /// since Simple's estimate is below LL's; measured on Blackwell
    bool SimpleFollowsLl(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const;

    const NcclCostModel& m_model;
};

} // namespace AstraSim

#endif /* NCCL_CHOOSER_H */
