/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_RESULT_WRITER_H
#define WORKLOAD_RESULT_WRITER_H

#include "run-observer.h"

#include "ns3/output-file.h"

#include <memory>
#include <string>

namespace AstraSim
{

/// Writes a workload's own results (requests.csv of a KV-cache workload); no file if it has none.
class WorkloadResultWriter : public RunObserver
{
  public:
    /// @param path the file to write
    explicit WorkloadResultWriter(std::string path);

    /// @throw ns3::InputError if it cannot be written
    void WorkloadResult(std::string_view line) override;

    /// @throw ns3::InputError if something could not be written
    void Finish();

  private:
    std::string m_path;
    std::unique_ptr<ns3::OutputFile> m_file;
};

} // namespace AstraSim

#endif /* WORKLOAD_RESULT_WRITER_H */
