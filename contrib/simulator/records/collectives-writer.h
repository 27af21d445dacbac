/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_WRITER_H
#define COLLECTIVES_WRITER_H

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/columns.h"
#include "ns3/output-file.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Writes collectives.csv: a row per collective, as it ends. Rows of one end time are in the order
/// of their beginnings, so that the order of calls does not matter.
class CollectivesWriter : public RunObserver
{
  public:
    /// @param path the file to write @throw ns3::InputError if it cannot be opened
    explicit CollectivesWriter(const std::string& path);
    ~CollectivesWriter() override;

    void CollectiveEnded(const CollectiveRecord& record) override;

    bool NeedsEach() const override
    {
        return m_rows < m_limit;
    }

    void WorkedInStep(const InStepRecord& record) override
    {
        m_leftOut += record.collectives;
    }

    /// Write @p limit rows at most: the first.
    void SetLimit(uint64_t limit)
    {
        m_limit = limit;
    }

    uint64_t GetLimit() const
    {
        return m_limit;
    }

    /// @return rows that were not written, for the limit
    uint64_t CountLeftOut() const
    {
        return m_leftOut;
    }

    uint64_t CountRows() const
    {
        return m_rows;
    }

    /// @throw ns3::InputError if something could not be written
    void Finish();

  private:
    void WriteHeld();

    ns3::OutputFile m_file;
    uint64_t m_limit{UINT64_MAX};
    uint64_t m_rows{0};
    uint64_t m_leftOut{0};
    TimePs m_end{-1};                                     ///< of the rows that are held
    std::vector<std::pair<uint64_t, std::string>> m_held; ///< by id
};

/// @return the first columns: those that name a collective and its algorithm
const ns3::Columns<CollectiveRecord>& CollectiveNames();

/// @return the columns, as Columns::ToCsv() has them
std::string DescribeCollectiveColumns();

} // namespace AstraSim

#endif /* COLLECTIVES_WRITER_H */
