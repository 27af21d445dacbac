/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STREAM_BASELINE_H
#define STREAM_BASELINE_H

#include "collective-ledger.h"
#include "stream-order.h"

#include "ns3/collective-implementation.h"

#include <cstdint>
#include <memory>
#include <string>

namespace AstraSim
{

/// The streams (chunks) of one collective on one rank; ends with the last of them.
struct DataSet
{
    CollectiveInstance* instance;
    uint32_t streamsLeft;
    CollectiveDone done;
    bool begun{false}; ///< whether one of its streams has started
};

/**
 * @ingroup astra-frontend
 * @brief One chunk of a collective on one rank, on its way through its phases.
 *
 * A stream waits in the queue of its phase (active_Streams) until its turn comes; Sys then starts
 * the phase's algorithm.
 */
class StreamBaseline
{
  public:
    /// @param topology of the job; borrowed @param jobRank the rank
    StreamBaseline(const LogicalTopology& topology,
                   uint32_t jobRank,
                   DataSet& dataset,
                   uint32_t chunk,
                   int64_t priority);

    /// @return how many phases have not begun
    uint32_t phases_to_go() const;

    /// @return the phase it is in; valid while current_queue_id is not negative
    const CollectivePhase& my_current_phase() const;

    /// Enter the next phase; it has to wait for its turn again.
    void enter_next_phase(TimePs now);

    /// @return the streams that all ranks begin in the same order as this one, in this phase
    StreamLane get_lane() const;

    /// @return its name, the same on all ranks
    StreamName get_name() const
    {
        return {dataset.instance->id, chunk};
    }

    /// @return the group in which the current phase runs
    const CommGroup& get_phase_group() const;

    /// @return whether this rank has anything to do in the current phase
    bool is_enabled() const;

    /// @return its name and its wait, in words
    std::string describe_wait() const;

    DataSet& dataset;
    uint32_t chunk;
    int64_t priority;           ///< the larger goes first
    uint32_t steps_finished{0}; ///< phases entered
    int current_queue_id{-1};   ///< negative before the first phase
    bool initialized{false};    ///< the current phase runs
    TimePs phaseStart{0};       ///< when the current phase began to run
    std::unique_ptr<RankCollective> algorithm;

  private:
    const LogicalTopology& m_topology;
    uint32_t m_jobRank;
};

} // namespace AstraSim

#endif /* STREAM_BASELINE_H */
