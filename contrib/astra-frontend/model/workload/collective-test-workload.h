/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_TEST_WORKLOAD_H
#define COLLECTIVE_TEST_WORKLOAD_H

#include "astra-frontend/model/system/workload.h"

#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace AstraSim
{

/// One measurement: the collectives of an iteration.
struct CollectiveTestPoint
{
    std::vector<CollectiveRequest> steps; ///< one after the other; empty: nothing to do
};

/// Number of times that a point's collectives are carried out.
struct CollectiveTestIterations
{
    uint32_t timed{20};       ///< iterations that are measured
    bool warmUp{true};        ///< one iteration before them that is not
    bool barrier{false};      ///< all ranks finish an iteration before any begins the next
    double steadiness{0.005}; ///< relative difference of iterations that counts as none
    bool simulatesAll{false}; ///< also those that a steady state would repeat
};

/// Times of a point.
struct CollectiveTestResult
{
    std::vector<double> microseconds; ///< per iteration, of each rank
    uint32_t simulated{0};            ///< timed iterations that were simulated
};

/**
 * @ingroup astra-frontend
 * @brief Collectives of all ranks, timed as nccl-tests times them.
 *
 * The points follow each other behind a barrier of all ranks. The iterations of a point follow each
 * other on each rank as kernels do on a stream; a rank's time is that from the end of its warm-up
 * to its last end, divided by the iterations. When two successive iterations of the rank that is
 * first took the same time, and the last iteration of every other rank as long, the rest is taken
 * to repeat the second. A slow rank delays ranks that do not wait for it directly only after some
 * iterations: each makes one neighbour more wait.
 */
class CollectiveTestWorkload : public Workload
{
  public:
    /// Called after each point, in their order.
    using PointDone = std::function<void(std::size_t point, const CollectiveTestResult& result)>;

    /**
     * @param name the workload's, in messages
     * @param points the measurements
     * @param iterations how often
     * @param done called with each result
     */
    CollectiveTestWorkload(const std::string& name,
                           std::vector<CollectiveTestPoint> points,
                           const CollectiveTestIterations& iterations,
                           PointDone done);
    ~CollectiveTestWorkload() override;

    void Bind(const std::vector<int>& ranks) override;
    std::unique_ptr<RankWorkload> CreateRank(uint32_t rank, Sys& sys) override;

    /// @return the communicator of all ranks
    const CommGroup& GetGroup() const
    {
        return m_group;
    }

  private:
    class Rank;

    /// @return whether iteration @p iteration of the current point is to be simulated; the first
    /// rank that asks decides by how long its last two took, and the last of all others
    bool Continues(uint32_t iteration, TimePs previous, TimePs last);
    /// @return whether each rank has ended so many iterations, and its last took as long as @p last
    bool AllTook(uint32_t iterations, TimePs last) const;
    /// A rank has done all iterations of the current point.
    void Finished(uint32_t rank, double microseconds);
    /// A rank has come to the end of an iteration that all are to finish.
    void ArriveAtBarrier();

    std::vector<CollectiveTestPoint> m_points;
    CollectiveTestIterations m_iterations;
    PointDone m_done;
    CommGroup m_group;
    std::vector<Rank*> m_ranks; ///< borrowed from the job
    std::size_t m_point{0};
    uint32_t m_decided{0};   ///< last iteration that Continues() has decided about
    uint32_t m_planned{0};   ///< iterations of the point that are simulated
    uint32_t m_arrived{0};   ///< ranks at the barrier
    uint32_t m_ranksDone{0}; ///< with the point
    CollectiveTestResult m_result;
};

} // namespace AstraSim

#endif /* COLLECTIVE_TEST_WORKLOAD_H */
