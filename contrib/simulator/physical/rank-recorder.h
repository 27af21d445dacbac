/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_RECORDER_H
#define RANK_RECORDER_H

#include "astra-frontend/model/system/run-observer.h"
#include "phy-network.h"

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Notes what happens on one rank during one iteration, to be sent to rank 0, where
 * RankRecords puts the notes of all ranks together.
 */
class RankRecorder : public RunObserver
{
  public:
    /// Makes a time of this rank's clock one of the clock of rank 0.
    using Alignment = std::function<TimePs(TimePs)>;

    void CollectiveStarted(const CollectiveRecord& record) override;
    void CollectiveEnded(const CollectiveRecord& record) override;
    void ComputeEnded(const ComputeRecord& record) override;
    void WaitEnded(const WaitRecord& record) override;
    void LayerFinished(int rank, const WorkloadPosition& position, TimePs now) override;
    void RankFinished(int rank, TimePs now) override;
    void MessageLeft(const MessageEndRecord& record) override;
    void MessageCame(const MessageEndRecord& record) override;

    /// @return when this rank had nothing more to do; 0 if it still has
    TimePs GetFinishTime() const
    {
        return m_finished;
    }

    /// @return collectives whose part on this rank is over
    uint64_t GetCollectivesEnded() const
    {
        return m_collectives.size();
    }

    /**
     * @param flows messages that have arrived
     * @param align applied to every time
     * @return all that was noted, for RankRecords (CBOR)
     */
    std::string Serialize(int rank,
                          const std::vector<PhyFlow>& flows,
                          const Alignment& align) const;

  private:
    struct Collective
    {
        uint32_t group;
        uint32_t number; ///< of the collective in its group
        WorkloadPosition position;
        CollectiveOp op;
        uint64_t bytes;
        CollectiveChoice choice;
        TimePs start;
        TimePs end;
    };

    struct Span
    {
        WorkloadPosition position;
        GroupKind group;
        WaitReason reason;
        TimePs start;
        TimePs end;
    };

    struct Moment
    {
        WorkloadPosition position;
        TimePs time;
    };

    std::unordered_map<uint64_t, uint32_t> m_numberOf; ///< of a running collective, by its id
    std::unordered_map<uint32_t, uint32_t> m_begun;    ///< collectives of a group
    std::map<uint32_t, CommGroup> m_groups;
    std::vector<Collective> m_collectives;
    std::vector<Span> m_compute;
    std::vector<Span> m_waits;
    std::vector<Moment> m_layers;
    std::vector<MessageEndRecord> m_left;
    std::vector<MessageEndRecord> m_came;
    TimePs m_finished{0};
};

} // namespace AstraSim

#endif /* RANK_RECORDER_H */
