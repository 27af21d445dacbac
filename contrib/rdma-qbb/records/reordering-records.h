/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REORDERING_RECORDS_H
#define REORDERING_RECORDS_H

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

class RdmaFabric;
struct RdmaRxQueuePair;

/**
 * @ingroup rdma-qbb
 * @brief How far packets of each queue pair came out of order, for reordering.csv.
 *
 * Queue pairs count for themselves (RdmaRxQueuePair); those that end are noted here. Each host has
 * a list of its own, as threads may run hosts side by side.
 */
class ReorderingRecords
{
  public:
    /// @param fabric must outlive the object
    explicit ReorderingRecords(RdmaFabric& fabric);
    ~ReorderingRecords();
    ReorderingRecords(const ReorderingRecords&) = delete;
    ReorderingRecords& operator=(const ReorderingRecords&) = delete;

    /// Write a row for each queue pair with packets out of order; no file if there is none.
    /// @throw InputError if it cannot be written
    void Write(const std::string& path) const;

    /// @return the columns, as Columns::ToCsv() has them
    static std::string DescribeColumns();

  private:
    /// A queue pair, for its row; rows are in the order of the members.
    struct Record
    {
        uint32_t src; ///< host index
        uint32_t dst; ///< host index
        uint32_t sport;
        uint32_t dport;
        uint32_t qpn; ///< at its source
        uint32_t priority;
        uint64_t packets;
        uint64_t mostBytes;

        auto operator<=>(const Record&) const = default;
    };

    struct Row;

    static void Add(std::vector<Record>& records, const RdmaRxQueuePair& rx);
    void OnClose(const RdmaRxQueuePair& rx);
    void Connect(bool connects);

    RdmaFabric& m_fabric;
    std::vector<std::vector<Record>> m_closed; ///< by host
};

} // namespace ns3

#endif /* REORDERING_RECORDS_H */
