/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include "astra-frontend/model/system/run-observer.h"
#include "collectives/model/collective/collective-check.h"
#include "programs/frame/run-failures.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Looks over a run (--check): collectives on symbolic data, records in order, the network.
 *
 * The first thing that does not hold stops the run.
 */
class RunCheck : public RunFailures
{
  public:
    /// @param stop called at most once, from the event loop
    explicit RunCheck(std::function<void()> stop);
    ~RunCheck();

    /// @return the check of the collectives of all jobs
    CollectiveCheck& GetCollectives()
    {
        return m_collectives;
    }

    /// @return the observer for one job; owned by this object
    RunObserver& ObserveJob();

    /// The run is over. @param finished whether all ranks have done all their work
    void Finish(bool finished);

    /// @return the number of checked collectives, for run.json and the last line
    uint64_t GetCollectivesChecked() const
    {
        return m_collectives.GetChecked();
    }

  private:
    class JobObserver;

    CollectiveCheck m_collectives;
    std::vector<std::unique_ptr<JobObserver>> m_observers;
};

} // namespace AstraSim

#endif /* RUN_CHECK_H */
