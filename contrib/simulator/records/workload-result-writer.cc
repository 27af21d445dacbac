/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "workload-result-writer.h"

namespace AstraSim
{

WorkloadResultWriter::WorkloadResultWriter(std::string folder, std::string suffix)
    : m_folder(std::move(folder)),
      m_suffix(std::move(suffix))
{
}

void
WorkloadResultWriter::WorkloadResult(std::string_view table, std::string_view line)
{
    auto file = m_files.find(table);
    if (file == m_files.end())
    {
        const std::string name(table);
        file = m_files
                   .emplace(
                       name,
                       std::make_unique<ns3::OutputFile>(m_folder + "/" + name + m_suffix + ".csv"))
                   .first;
    }
    file->second->Write(std::string(line) + '\n');
}

void
WorkloadResultWriter::Finish()
{
    for (const auto& [table, file] : m_files)
    {
        file->Finish();
    }
}

} // namespace AstraSim
