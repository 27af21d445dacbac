/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_OBSERVERS_H
#define RUN_OBSERVERS_H

#include "run-observer.h"

#include <vector>

namespace AstraSim
{

/// Passes everything on to several observers, in the order in which they were added.
class RunObservers : public RunObserver
{
  public:
    /// @param observer borrowed; must outlive this object
    void Add(RunObserver& observer);

    void CollectiveStarted(const CollectiveRecord& record) override;
    void CollectiveEnded(const CollectiveRecord& record) override;
    bool NeedsEach() const override;
    void WorkedInStep(const InStepRecord& record) override;
    void StreamPhaseEnded(const StreamPhaseRecord& record) override;
    void FlowEnded(const FlowRecord& record) override;
    void MessageLeft(const MessageEndRecord& record) override;
    void MessageCame(const MessageEndRecord& record) override;
    void ComputeEnded(const ComputeRecord& record) override;
    void WaitEnded(const WaitRecord& record) override;
    void AwaitEnded(const AwaitRecord& record) override;
    void LayerFinished(int rank, const WorkloadPosition& position, TimePs now) override;
    void PassFinished(int rank, uint32_t pass, TimePs now) override;
    void RankFinished(int rank, TimePs now) override;
    void LocalMemoryChanged(int rank, uint64_t bytes, TimePs now) override;
    void WorkloadResult(std::string_view table, std::string_view line) override;

  private:
    std::vector<RunObserver*> m_observers;
};

} // namespace AstraSim

#endif /* RUN_OBSERVERS_H */
