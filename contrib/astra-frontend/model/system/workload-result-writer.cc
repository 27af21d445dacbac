/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "workload-result-writer.h"

#include "ns3/input-error.h"

namespace AstraSim
{

WorkloadResultWriter::WorkloadResultWriter(std::string path)
    : m_path(std::move(path))
{
}

void
WorkloadResultWriter::WorkloadResult(std::string_view line)
{
    if (!m_file.is_open())
    {
        m_file.open(m_path);
    }
    m_file << line << '\n';
    if (!m_file)
    {
        throw ns3::InputError(m_path, 0, "cannot be written", "a writable output directory");
    }
}

} // namespace AstraSim
