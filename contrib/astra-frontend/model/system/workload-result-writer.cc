/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "workload-result-writer.h"

namespace AstraSim
{

WorkloadResultWriter::WorkloadResultWriter(std::string path)
    : m_path(std::move(path))
{
}

void
WorkloadResultWriter::WorkloadResult(std::string_view line)
{
    if (!m_file)
    {
        m_file = std::make_unique<ns3::OutputFile>(m_path);
    }
    m_file->Write(std::string(line) + '\n');
}

void
WorkloadResultWriter::Finish()
{
    if (m_file)
    {
        m_file->Finish();
    }
}

} // namespace AstraSim
