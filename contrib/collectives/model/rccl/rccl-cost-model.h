/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RCCL_COST_MODEL_H
#define RCCL_COST_MODEL_H

#include "collectives/model/nccl/nccl-cost-model.h"
#include "rccl-tuning.h"

#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief RCCL's cost model: NCCL's with figures of its own, and estimates that are parts of the
 * links' bandwidth.
 */
class RcclCostModel : public NcclCostModel
{
  public:
    RcclCostModel(const MachineModel& machine, const NcclOptions& options);

    std::optional<NcclProtocol> FixedProtocol(CollectiveOp op,
                                              const GroupShape& shape,
                                              uint64_t bytes) const override;
    void OverrideEstimate(NcclPlan& plan,
                          CollectiveOp op,
                          const GroupShape& shape,
                          uint64_t bytes) const override;
    NcclTuning::Latencies KernelLatencies(const NcclAlgorithm& algorithm) const override;

  private:
    static NcclTraits TraitsOf(const RcclTuning& tuning);

    const RcclTuning& m_tuning; ///< between nodes
};

/// RCCL's AllReduce between all pairs of a server, which is MSCCL's.
extern const NcclAlgorithm& RCCL_ALL_PAIRS;

} // namespace AstraSim

#endif /* RCCL_COST_MODEL_H */
