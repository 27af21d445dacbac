/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_RECORDER_H
#define RANK_RECORDER_H

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/qbb-bytes.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Keeps the records of one rank during one iteration, until its clock can be compared with
 * that of rank 0; then they go to rank 0 as notes, as those of a partition do (MergedRecords).
 */
class RankRecorder : public RunObserver
{
  public:
    /// Makes a time of this rank's clock one of the clock of rank 0.
    using Alignment = std::function<TimePs(TimePs)>;

    void CollectiveStarted(const CollectiveRecord& record) override;
    void CollectiveEnded(const CollectiveRecord& record) override;
    void ComputeEnded(const ComputeRecord& record) override;
    void AwaitEnded(const AwaitRecord& record) override;
    void LayerFinished(int rank, const WorkloadPosition& position, TimePs now) override;
    void RankFinished(int rank, TimePs now) override;
    void MessageLeft(const MessageEndRecord& record) override;
    void MessageCame(const MessageEndRecord& record) override;

    /// @return when this rank had nothing more to do; 0 if it still has
    TimePs GetFinishTime() const
    {
        return m_finished;
    }

    /**
     * @param part of MergedRecords, which is told everything
     * @param flows messages that have arrived
     * @param align applied to every time
     * @return the notes of @p part (QbbNotes::Put())
     */
    ns3::QbbBytes Write(int rank,
                        RunObserver& part,
                        const std::vector<FlowRecord>& flows,
                        const Alignment& align) const;

  private:
    /// Passes a record to an observer, with times on the common clock.
    using Tell = std::function<void(RunObserver& observer, const Alignment& align)>;

    struct Record
    {
        TimePs time; ///< of this rank's clock
        Tell tell;
    };

    void Keep(TimePs time, Tell tell)
    {
        m_records.push_back({time, std::move(tell)});
    }

    std::map<uint32_t, CommGroup> m_groups; ///< by id
    std::vector<Record> m_records;
    TimePs m_finished{0};
};

} // namespace AstraSim

#endif /* RANK_RECORDER_H */
