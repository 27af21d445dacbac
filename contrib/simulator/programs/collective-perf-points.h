/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_PERF_POINTS_H
#define COLLECTIVE_PERF_POINTS_H

#include "astra-frontend/model/workload/collective-test-workload.h"
#include "collective-perf-table.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "simulator/options/collective-perf-options.h"

#include "ns3/collective-types.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace AstraSim
{

/// Simulated points of a table of nccl-tests, and the times that follow from them. Rows that differ
/// in name only share a point.
class CollectivePerfPoints
{
  public:
    /// @param options,nccl,group outlive the object @param rows of the table
    CollectivePerfPoints(const CollectivePerfOptions& options,
                         const std::vector<CollectivePerfRow>& rows,
                         MockNcclGroup& nccl,
                         const CommGroup& group);

    const std::vector<CollectiveTestPoint>& GetAll() const
    {
        return m_all;
    }

    /// @return the point of a row
    std::size_t Of(std::size_t row) const
    {
        return m_pointOf[row];
    }

    /// @return the first row that a point is simulated for
    std::size_t GetFirstRow(std::size_t point) const
    {
        return m_firstRow[point];
    }

    /// @return the time of one collective, as nccl-tests would measure it
    double GetMicroseconds(std::size_t point, const CollectiveTestResult& result) const;

  private:
    void MakeAll(const std::vector<CollectivePerfRow>& rows);
    CollectiveTestPoint PointOf(const CollectivePerfRow& row) const;
    CollectiveTestPoint InOneLaunch(const CollectiveTestPoint& point) const;
    double LaunchOverhead(const CollectiveTestPoint& point) const;
    /// @return microseconds that launching a point takes a thread for each of its GPUs
    double LaunchUs(const CollectiveTestPoint& point) const;
    std::vector<uint64_t> PairsAt(uint64_t bytes,
                                  const std::function<uint32_t(uint32_t)>& peer) const;
    double TimeOfRanks(const std::vector<double>& times) const;

    const CollectivePerfOptions& m_options;
    MockNcclGroup& m_nccl;
    const CommGroup& m_group; ///< of all ranks
    uint32_t m_ranks;
    std::vector<CollectiveTestPoint> m_all;
    std::vector<std::size_t> m_pointOf;  ///< of each row
    std::vector<std::size_t> m_firstRow; ///< of each point
};

} // namespace AstraSim

#endif /* COLLECTIVE_PERF_POINTS_H */
