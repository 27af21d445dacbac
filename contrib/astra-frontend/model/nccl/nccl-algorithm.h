/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_ALGORITHM_H
#define NCCL_ALGORITHM_H

#include "astra-frontend/model/gpu/machine-model.h"
#include "astra-frontend/model/graph/chain-graph.h"
#include "nccl-options.h"
#include "nccl-plan.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace AstraSim
{

class NcclCostModel;

/// @return the layout of a plan's chains
ChainLayout ChainLayoutOf(const NcclOptions& options, const NcclPlan& plan);

/// Ways to carry out a collective.
struct NcclCase
{
    NcclProtocol protocol;
    CollectiveOp op;
    const GroupShape& shape;
};

/// One of the algorithms that NCCL's cost model chooses from.
struct NcclMethod
{
    const char* name; ///< in NCCL_ALGO and in results
    /// @return whether it can carry out such a collective
    std::function<bool(const NcclCostModel& model, const NcclCase& which)> can;
    /// @return its plan and how long NCCL expects it to take. @param bytes of the collective
    std::function<NcclPlan(const NcclCostModel& model, const NcclCase& which, uint64_t bytes)> cost;
    /// @return its flows and how long GPUs take for them
    std::function<TimedGraph(const NcclOptions& options,
                             const CollectiveRequest& request,
                             const GroupShape& shape,
                             const NcclPlan& plan)>
        graph;
    /// @return how many messages wait for each other, one after another
    std::function<uint32_t(CollectiveOp op, const GroupShape& shape)> messagesInARow =
        [](CollectiveOp, const GroupShape& shape) { return shape.GetNodes() > 1 ? 2U : 1U; };
    bool usesAllChannels{false}; ///< also for few bytes
    bool hasSteps{true};         ///< whether a latency that the user gives is one of each step
};

/**
 * @ingroup astra-frontend
 * @brief A row of the table of NCCL's own algorithms; a static object adds it.
 *
 * CollectiveAlgorithm is for those that NCCL does not have.
 */
class NcclTableRow
{
  public:
    NcclTableRow(NcclAlgorithm algorithm, NcclMethod method);

    /// @return what is known of an algorithm of NCCL's
    static const NcclMethod& Of(NcclAlgorithm algorithm);
};

} // namespace AstraSim

#endif /* NCCL_ALGORITHM_H */
