/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "local-memory-writer.h"

#include "ns3/input-error.h"

#include <fmt/core.h>

namespace AstraSim
{

LocalMemoryWriter::LocalMemoryWriter(const std::string& path)
    : m_file(path)
{
    m_file << "time_ns,rank,bytes\n";
    if (!m_file.flush())
    {
        throw ns3::InputError(path, 0, "cannot be written", "a writable output directory");
    }
}

void
LocalMemoryWriter::LocalMemoryChanged(int rank, uint64_t bytes, TimePs now)
{
    m_file << fmt::format("{:.3f},{},{}\n", static_cast<double>(now) / 1000, rank, bytes);
}

} // namespace AstraSim
