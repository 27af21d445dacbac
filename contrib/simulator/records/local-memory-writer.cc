/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job-record.h"

#include "ns3/output-file.h"

#include <filesystem>
#include <fmt/core.h>
#include <string>

namespace AstraSim
{

namespace
{

/// Writes how many bytes of tensors the running nodes of each rank hold: `time_ns,rank,bytes`.
class LocalMemoryWriter : public JobRecord
{
  public:
    /// @param path the file to write @throw ns3::InputError if it cannot be opened
    explicit LocalMemoryWriter(const std::string& path)
        : m_file(path)
    {
        m_file.Write("time_ns,rank,bytes\n");
        m_file.Flush();
    }

    bool NeedsEach() const override
    {
        return false;
    }

    void LocalMemoryChanged(int rank, uint64_t bytes, TimePs now) override
    {
        m_file.Write(fmt::format("{:.3f},{},{}\n", static_cast<double>(now) / 1000, rank, bytes));
    }

    void Finish(bool) override
    {
        m_file.Finish();
    }

    std::string GetNamedFile() const override
    {
        return m_file.Path();
    }

  private:
    ns3::OutputFile m_file;
};

const JobRecord::Kind MEMORY(
    "memory",
    [](const JobRecord::Site& site) -> std::unique_ptr<JobRecord> {
        if (!site.system.trackLocalMemory)
        {
            return nullptr;
        }
        const auto trace = std::filesystem::path(site.system.localMemoryTraceFile).filename();
        return std::make_unique<LocalMemoryWriter>(site.output + "/" + trace.string() +
                                                   site.suffix + ".csv");
    });

} // namespace

} // namespace AstraSim
