/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_RESULT_WRITER_H
#define WORKLOAD_RESULT_WRITER_H

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/output-file.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace AstraSim
{

/// Writes a workload's own results, a file for each table; none if it has none.
class WorkloadResultWriter : public RunObserver
{
  public:
    /**
     * @param folder to write to
     * @param suffix of the names, before ".csv"
     */
    WorkloadResultWriter(std::string folder, std::string suffix);

    /// @throw ns3::InputError if it cannot be written
    void WorkloadResult(std::string_view table, std::string_view line) override;

    /// @throw ns3::InputError if something could not be written
    void Finish();

  private:
    std::string m_folder;
    std::string m_suffix;
    std::map<std::string, std::unique_ptr<ns3::OutputFile>, std::less<>> m_files; ///< by table
};

} // namespace AstraSim

#endif /* WORKLOAD_RESULT_WRITER_H */
