/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_COST_MODEL_H
#define NCCL_COST_MODEL_H

#include "collectives/model/gpu/machine-model.h"
#include "nccl-options.h"
#include "nccl-plan.h"
#include "nccl-search.h"
#include "nccl-traits.h"
#include "nccl-tuning.h"

#include "ns3/collective-algorithm.h"
#include "ns3/collective-types.h"

#include <array>
#include <cstdint>
#include <optional>

namespace AstraSim
{

class NcclAlgorithm;

/**
 * @ingroup collectives
 * @brief NCCL's cost model: figures that the expected times of its algorithms are made of.
 *
 * Time = latency + bytes / algorithm bandwidth. Formulas: NCCL 2.30 src/graph/tuning.cc
 * (ncclTopoTuneModel), each algorithm's with the algorithm; figures: NcclTuning.
 */
class NcclCostModel
{
  public:
    /// The machine and the options outlive the object.
    NcclCostModel(const MachineModel& machine,
                  const NcclOptions& options,
                  const NcclTraits& traits = {})
        : m_machine(machine),
          m_options(options),
          m_traits(traits),
          m_search(machine, options, m_traits),
          m_tuning(NcclTuning::Of(options.release)),
          m_hardware(NcclTuning::Of(LAST_NCCL_RELEASE))
    {
    }

    virtual ~NcclCostModel() = default;
    NcclCostModel(const NcclCostModel&) = delete;
    NcclCostModel& operator=(const NcclCostModel&) = delete;

    /// @return the plan of one algorithm and protocol
    NcclPlan Evaluate(const NcclAlgorithm& algorithm,
                      NcclProtocol protocol,
                      CollectiveOp op,
                      const GroupShape& shape,
                      uint64_t bytes) const;

    /// @return whether an algorithm can carry out @p op for such a group with such a protocol
    bool IsPossible(const NcclAlgorithm& algorithm,
                    NcclProtocol protocol,
                    CollectiveOp op,
                    const GroupShape& shape) const;

    /// @return the plan of sends and receives between pairs. @param bytes of the pair that has most
    NcclPlan EvaluatePairs(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const;

    /// @return latencies and speeds of a thread block for algorithms beside NCCL's, by protocol
    std::array<CollectiveTask::Block, NCCL_PROTOCOLS> BlocksOf(const GroupShape& shape) const;

    /// @return the protocol that the library takes, without comparing times, for the algorithm of
    /// the smallest expected time; nothing: the protocol of that time
    virtual std::optional<NcclProtocol> FixedProtocol(CollectiveOp op,
                                                      const GroupShape& shape,
                                                      uint64_t bytes) const;

    /// Set the time that a library of other estimates than NCCL's expects of a ring or a tree.
    virtual void OverrideEstimate(NcclPlan& plan,
                                  CollectiveOp op,
                                  const GroupShape& shape,
                                  uint64_t bytes) const
    {
    }

    /// @return whether a group may take LL128, whose lines NVLinks and networks keep whole
    bool HasLl128(const GroupShape& shape) const;
    /// @return the latencies of an algorithm in a release, on the links of this machine
    NcclTuning::Latencies LatenciesIn(const NcclAlgorithm& algorithm, NcclRelease release) const;
    /// @return the latencies of an algorithm's kernels
    virtual NcclTuning::Latencies KernelLatencies(const NcclAlgorithm& algorithm) const;

    // The parts of plans and of expected times.

    /// @return a plan with an algorithm's latencies
    NcclPlan StartPlan(const NcclAlgorithm& algorithm, NcclProtocol protocol) const;
    /// @return GB/s of a ring that all channels have together
    double RingBusGBps(const NcclTuning& tuning,
                       NcclProtocol protocol,
                       CollectiveOp op,
                       uint32_t nodes,
                       const NcclSearch::Channels& search) const;
    /// @return the most GB/s of data that a block moves, over links without limit
    double BlockGBps(NcclProtocol protocol, const GroupShape& shape) const;
    /// @return GB/s of data that a channel's block moves over NVLink in a group of this shape
    /// @param passing see NcclSearch::PassingOf()
    double CopyGBps(NcclProtocol protocol,
                    CollectiveOp op,
                    const GroupShape& shape,
                    double passing = 1) const;
    /// @return GB/s of LL on the bus at most
    double LlMaxGBps(const NcclTuning& tuning, uint32_t nodes) const;
    /// @return the time of a step of LL within a node
    double LlStepUs() const;
    /// @return NCCL's estimate of the time to post a message between nodes
    double NetOverheadUs() const;
    /// @return NCCL's estimate of the time of a step between nodes
    double EstimatedInterUs(NcclProtocol protocol, double ncclUs) const;
    /// @return the time of a step between nodes without the links' delay
    TimePs InterLatency(double ncclUs) const;

    const MachineModel& GetMachine() const
    {
        return m_machine;
    }

    const NcclOptions& GetOptions() const
    {
        return m_options;
    }

    const NcclTraits& GetTraits() const
    {
        return m_traits;
    }

    const NcclSearch& GetSearch() const
    {
        return m_search;
    }

    /// @return the figures of the user's release
    const NcclTuning& GetTuning() const
    {
        return m_tuning;
    }

    /// @return the figures of the newest release, which knows the hardware best: its abilities do
    /// not depend on the release
    const NcclTuning& GetHardware() const
    {
        return m_hardware;
    }

  private:
    /// @return additional times to start messages between nodes, by their size
    SlowStarts GetSlowStarts() const;

    const MachineModel& m_machine;
    const NcclOptions& m_options;
    NcclTraits m_traits;
    NcclSearch m_search;
    const NcclTuning& m_tuning;
    const NcclTuning& m_hardware;
};

/// Set the expected time. @param latencyUs in all @param algGBps of all channels
void Predict(NcclPlan& plan, double latencyUs, double algGBps, uint64_t bytes);

} // namespace AstraSim

#endif /* NCCL_COST_MODEL_H */
