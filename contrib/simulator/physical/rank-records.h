/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_RECORDS_H
#define RANK_RECORDS_H

#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/workload.h"
#include "phy-network.h"

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief What the ranks noted during an iteration, put together: a collective begins with its first
 * rank and ends with its last one.
 *
 * @code
 * const RankRecords records(workload, notes); // RankRecorder::Serialize() of each rank
 * records.Replay(endToEndWriter);
 * @endcode
 */
class RankRecords
{
  public:
    /**
     * @param workload names the layers; borrowed
     * @param notes of the ranks
     * @param isPartial only some ranks could be asked: what these have ended counts
     */
    RankRecords(const Workload& workload, const std::vector<std::string>& notes, bool isPartial);

    /// Tell an observer everything in the order of time, as a simulation would have. Collectives
    /// that not all ranks have ended are left out.
    void Replay(RunObserver& observer) const;

    /// @return when the last rank had nothing more to do
    TimePs GetFinishTime() const
    {
        return m_finished;
    }

    /// @return messages that have arrived, by the end of each
    const std::vector<PhyFlow>& GetFlows() const
    {
        return m_flows;
    }

    /// Names a collective or a message alike in every iteration.
    using Key = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;

    /// A collective of all its ranks together.
    struct Collective
    {
        Key key{};
        uint64_t id{0};
        CommGroup group;
        WorkloadPosition position;
        CollectiveOp op{CollectiveOp::None};
        uint64_t bytes{0};
        CollectiveChoice choice;
        TimePs start{INT64_MAX};
        TimePs lastStart{0};
        TimePs end{0};
        std::size_t ranks{0}; ///< that have ended it
    };

    /// @return collectives that all ranks have ended, and messages, in the order of their starts
    const std::vector<Collective>& GetCollectives() const
    {
        return m_collectives;
    }

  private:
    struct Parts; ///< of collectives and messages, from all ranks

    struct Span
    {
        int rank;
        WorkloadPosition position;
        GroupKind group;
        WaitReason reason;
        TimePs start;
        TimePs end;
    };

    struct Moment
    {
        int rank;
        WorkloadPosition position;
        TimePs time;
    };

    /// Reads a rank's notes of itself.
    void ReadRank(const nlohmann::json& json);
    void PutTogether(Parts& parts, bool isPartial);

    const Workload& m_workload;
    std::vector<Collective> m_collectives;
    std::vector<Span> m_compute;
    std::vector<Span> m_waits;
    std::vector<Moment> m_layers;
    std::vector<Moment> m_rankEnds;
    std::vector<PhyFlow> m_flows;
    TimePs m_finished{0};
};

} // namespace AstraSim

#endif /* RANK_RECORDS_H */
