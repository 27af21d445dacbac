/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SYS_REPORT_H
#define SYS_REPORT_H

#include "astra-frontend/model/system/run-observer.h"
#include "programs/frame/run-console.h"

#include <unordered_map>

namespace AstraSim
{

/// Prints ASTRA-sim's line when a rank has finished; a cycle is a nanosecond.
class SysReport : public RunObserver
{
  public:
    explicit SysReport(const RunConsole& console)
        : m_console(console)
    {
    }

    void ComputeEnded(const ComputeRecord& record) override;
    void RankFinished(int rank, TimePs now) override;

  private:
    const RunConsole& m_console;
    std::unordered_map<int, TimePs> m_computed; ///< by rank
};

} // namespace AstraSim

#endif /* SYS_REPORT_H */
