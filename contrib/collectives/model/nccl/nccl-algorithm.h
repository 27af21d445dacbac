/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_ALGORITHM_H
#define NCCL_ALGORITHM_H

#include "collectives/model/gpu/machine-model.h"
#include "nccl-plan.h"
#include "nccl-tuning.h"

#include "ns3/collective-algorithm.h"
#include "ns3/collective-types.h"
#include "ns3/gpu-model.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace AstraSim
{

class NcclCostModel;
struct NcclOptions;

/// Ways to carry out a collective.
struct NcclCase
{
    NcclProtocol protocol;
    CollectiveOp op;
    const GroupShape& shape;
};

/**
 * @ingroup collectives
 * @brief One of the algorithms that NCCL's cost model chooses from; a static object makes it known.
 *
 * NCCL compares protocols, too, and counts latencies that its releases differ in: so these
 * algorithms are asked about a case of a cost model, and answer with a plan.
 */
class NcclAlgorithm : public CollectiveAlgorithm, public ns3::Listed<NcclAlgorithm, uint32_t>
{
  public:
    using Listed<NcclAlgorithm, uint32_t>::GetAll; ///< all there are, in NCCL's order

    /// Latencies in the releases from `since` to `until`.
    struct LatencyRow
    {
        NcclRelease since;
        NcclRelease until;
        NcclTuning::Latencies latencies;
    };

    struct Method
    {
        uint32_t order; ///< its place in NCCL's list: of those that cost the same the first wins
        std::string tunerName{};             ///< name in tables of tuners; empty: none
        std::vector<LatencyRow> latencies{}; ///< in NCCL's estimates; none: 0
        /// @return whether it can carry out such a collective
        std::function<bool(const NcclCostModel& model, const NcclCase& which)> can;
        /// @return its plan and how long NCCL expects it to take. @param bytes of the collective
        std::function<NcclPlan(const NcclCostModel& model, const NcclCase& which, uint64_t bytes)>
            cost;
        /// @return its flows and how long GPUs take for them
        std::function<TimedGraph(const NcclOptions& options,
                                 const CollectiveRequest& request,
                                 const GroupShape& shape,
                                 const NcclPlan& plan)>
            graph;
        Growth growth{Growth::Steps};
        bool usesAllChannels{false}; ///< also for few bytes
        bool hasSteps{true};         ///< whether a latency that the user gives is one of each step
    };

    // Those that others name.
    static const NcclAlgorithm& Tree;
    static const NcclAlgorithm& Ring;
    static const NcclAlgorithm& CollNetDirect;
    static const NcclAlgorithm& CollNetChain;
    static const NcclAlgorithm& Nvls;
    static const NcclAlgorithm& NvlsTree;
    static const NcclAlgorithm& Pat;

    NcclAlgorithm(std::string name, Method method);

    const Method& GetMethod() const
    {
        return m_method;
    }

    /// @return the latencies that a release counts
    const NcclTuning::Latencies& LatenciesIn(NcclRelease release) const;

    /// @return whether it is the same
    bool operator==(const NcclAlgorithm& other) const
    {
        return this == &other;
    }

  private:
    Method m_method;
};

} // namespace AstraSim

#endif /* NCCL_ALGORITHM_H */
