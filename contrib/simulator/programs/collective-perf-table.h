/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_PERF_TABLE_H
#define COLLECTIVE_PERF_TABLE_H

#include "simulator/options/collective-perf-options.h"

#include "ns3/collective-implementation.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A row of nccl-tests' table, without its measurement.
struct CollectivePerfRow
{
    uint64_t bytes; ///< of the larger of a rank's buffers
    uint64_t count; ///< elements of the call
    ElementType type;
    std::string reduction;
    int root;
    uint64_t requestBytes; ///< @ref CollectiveRequest::bytes; 0 for nothing to do
};

/// The lines that nccl-tests prints, column for column (version 2.19).
class CollectivePerfTable
{
  public:
    CollectivePerfTable(const CollectivePerfOptions& options, uint32_t ranks);

    /// @return the rows in the order in which they are printed
    std::vector<CollectivePerfRow> Rows() const;

    /// @return the lines before the list of devices
    std::string Header() const;

    /// @return the lines before the first row
    static std::string ColumnNames();

    /// @return a row with its time, and counts its bandwidth in the average
    std::string Row(const CollectivePerfRow& row, double microseconds);

    /// @return the lines after the last row
    std::string Footer() const;

    /**
     * @return a choice as NCCL's debug output (NCCL_DEBUG_SUBSYS=TUNING) names it, such as
     * "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1} time 13.20", where the time
     * is the cost model's own estimate in microseconds
     */
    std::string Choice(const CollectivePerfRow& row, const CollectiveChoice& choice) const;

  private:
    CollectivePerfRow MakeRow(uint64_t size, const ElementType& type) const;
    /// @return GB/s: algorithm, bus
    std::pair<double, double> Bandwidths(const CollectivePerfRow& row, double microseconds) const;

    const CollectivePerfOptions& m_options;
    uint32_t m_ranks;
    double m_busSum{0};
    uint32_t m_rows{0};
};

} // namespace AstraSim

#endif /* COLLECTIVE_PERF_TABLE_H */
