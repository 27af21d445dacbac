/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PHY_RESULTS_H
#define PHY_RESULTS_H

#include "simulator/physical/rank-records.h"

#include "ns3/cluster-topology.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace AstraSim
{

/**
 * Write EndToEnd.csv, collectives.csv and fct.txt as a simulation has them.
 * @param finished whether the workload came to its end; otherwise there is no EndToEnd.csv
 * @return the table of collectives that a user looks at first
 */
std::string WriteIteration(const RankRecords& records,
                           const Workload& workload,
                           const ns3::ClusterTopology& topology,
                           uint32_t ranks,
                           bool finished,
                           const std::string& output);

/**
 * @ingroup simulator
 * @brief The durations of each collective over all iterations; becomes iterations.csv.
 */
class IterationTable
{
  public:
    /// Add an iteration.
    void Add(const RankRecords& records);

    /// @param chosen iteration whose collectives name the rows @param path file to write
    void Write(const RankRecords& chosen, const Workload& workload, const std::string& path) const;

  private:
    std::map<RankRecords::Key, std::vector<TimePs>> m_durations;
};

/// @return the value in the middle; of an even number of values the lower one
TimePs MedianOf(std::vector<TimePs> values);

} // namespace AstraSim

#endif /* PHY_RESULTS_H */
