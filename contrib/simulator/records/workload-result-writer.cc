/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job-record.h"

#include "ns3/output-file.h"

#include <map>
#include <string>

namespace AstraSim
{

namespace
{

/// Writes a workload's own results, a file for each table; none if it has none.
class WorkloadResultWriter : public JobRecord
{
  public:
    /**
     * @param folder to write to
     * @param suffix of the names, before ".csv"
     */
    WorkloadResultWriter(std::string folder, std::string suffix)
        : m_folder(std::move(folder)),
          m_suffix(std::move(suffix))
    {
    }

    /// @throw ns3::InputError if it cannot be written
    bool NeedsEach() const override
    {
        return false;
    }

    void WorkloadResult(std::string_view table, std::string_view line) override
    {
        auto file = m_files.find(table);
        if (file == m_files.end())
        {
            const std::string name(table);
            file = m_files
                       .emplace(name,
                                std::make_unique<ns3::OutputFile>(m_folder + "/" + name + m_suffix +
                                                                  ".csv"))
                       .first;
        }
        file->second->Write(std::string(line) + '\n');
    }

    void Finish(bool) override
    {
        for (const auto& [table, file] : m_files)
        {
            file->Finish();
        }
    }

  private:
    std::string m_folder;
    std::string m_suffix;
    std::map<std::string, std::unique_ptr<ns3::OutputFile>, std::less<>> m_files; ///< by table
};

const JobRecord::Kind RESULTS("results",
                              [](const JobRecord::Site& site) -> std::unique_ptr<JobRecord> {
                                  return std::make_unique<WorkloadResultWriter>(site.output,
                                                                                site.suffix);
                              });

} // namespace

} // namespace AstraSim
