/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sys-report.h"

#include <fmt/format.h>

namespace AstraSim
{

void
SysReport::ComputeEnded(const ComputeRecord& record)
{
    m_computed[record.rank] += record.end - record.start;
}

void
SysReport::RankFinished(int rank, TimePs now)
{
    m_console.Say(fmt::format("sys[{}] finished, {} cycles, exposed communication {} cycles.\n",
                              rank,
                              now / 1000,
                              (now - m_computed[rank]) / 1000));
}

} // namespace AstraSim
