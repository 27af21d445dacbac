/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_PLANNER_H
#define COLLECTIVE_PLANNER_H

#include "astra-frontend/model/native/native-collectives.h"
#include "collectives/model/collective/collective-check.h"
#include "logical-topology.h"
#include "system-config.h"

#include "ns3/collective-engine.h"
#include "ns3/collective-implementation.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/// One phase of a chunk: a collective of its own in one dimension.
struct CollectivePhase
{
    int queue_id;                             ///< first of its queues of active_Streams
    uint32_t queues;                          ///< chunks take them in turn
    int dimension;                            ///< of the logical topology; -1: the whole group
    CollectiveRequest request;                ///< the collective of this phase
    CollectiveImplementation* implementation; ///< how; borrowed
};

/// A collective cut in chunks and phases; the same for all ranks.
struct CollectiveSchedule
{
    /// Phases of every chunk but the last, and of the last (its size may differ).
    std::vector<CollectivePhase> phases;
    std::vector<CollectivePhase> lastPhases;
    uint32_t chunks{1};

    const std::vector<CollectivePhase>& PhasesOf(uint32_t chunk) const
    {
        return chunk + 1 == chunks ? lastPhases : phases;
    }
};

/**
 * @ingroup astra-frontend
 * @brief Cuts collectives as the system file says.
 *
 * A collective for which the file names native algorithms is split into preferred-dataset-splits
 * chunks, each of which goes through the dimensions of its group one after the other; a group that
 * no dimensions make up is one flat dimension with the first algorithm. Collectives that the file
 * leaves to collective engines go to them whole; all others go to NCCL whole, which has chunks of
 * its own.
 */
class CollectivePlanner
{
  public:
    /**
     * @param config borrowed
     * @param topology borrowed
     * @param nccl borrowed; null if the workload uses natives only
     * @param engines engines of the network, which outlive the object; empty if there are none
     * @param busOf the memory bus of a rank of the network
     * @param check checks all collectives; borrowed; may be null
     */
    CollectivePlanner(const SystemConfig& config,
                      const LogicalTopology& topology,
                      CollectiveImplementation* nccl,
                      CollectiveEngine::Lookup engines,
                      MemoryBusLookup busOf,
                      CollectiveCheck* check = nullptr);

    /// @return how @p request on @p group is carried out @throw ns3::InputError if it cannot be
    CollectiveSchedule Plan(const CommGroup& group, const CollectiveRequest& request);

    /// @return how many streams of a queue may run at a time
    uint32_t GetQueueThreshold() const;

  private:
    using Algorithms = std::vector<NativeAlgorithm>;

    std::vector<CollectivePhase> PhasesOf(const CommGroup& group, const CollectiveRequest& request);
    std::vector<CollectivePhase> AcrossDimensions(uint32_t mask, const CollectiveRequest& request);
    CollectivePhase WholeGroup(const CommGroup& group,
                               const CollectiveRequest& request,
                               const NativeAlgorithm& algorithm);
    CollectiveImplementation* ImplementationOf(const NativeAlgorithm& algorithm);
    CollectiveImplementation* Watched(CollectiveImplementation& implementation);
    int QueueOfDimension(uint32_t dimension) const;
    uint32_t QueueCount() const;
    int QueueOfGroup(const CommGroup& group) const;

    const SystemConfig& m_config;
    const LogicalTopology& m_topology;
    CollectiveImplementation* m_nccl;
    CollectiveEngine::Lookup m_engines;
    NativeCollectives m_natives;
    CollectiveCheck* m_check;
};

} // namespace AstraSim

#endif /* COLLECTIVE_PLANNER_H */
