/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "local-memory-writer.h"

#include <fmt/core.h>

namespace AstraSim
{

LocalMemoryWriter::LocalMemoryWriter(const std::string& path)
    : m_file(path)
{
    m_file.Write("time_ns,rank,bytes\n");
    m_file.Flush();
}

void
LocalMemoryWriter::LocalMemoryChanged(int rank, uint64_t bytes, TimePs now)
{
    m_file.Write(fmt::format("{:.3f},{},{}\n", static_cast<double>(now) / 1000, rank, bytes));
}

void
LocalMemoryWriter::Finish()
{
    m_file.Finish();
}

} // namespace AstraSim
