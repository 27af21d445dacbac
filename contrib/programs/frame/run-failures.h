/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_FAILURES_H
#define RUN_FAILURES_H

#include "ns3/qbb-processes.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Failures of the checks of a run (--check). The first one stops the run.
class RunFailures
{
  public:
    static constexpr std::size_t MOST = 10; ///< that are kept

    /// @return whether runs are checked by default: in the checking build, except runs of several
    /// processes, which cannot be checked
    static bool IsDefault()
    {
#ifdef NS3_ASSERT_ENABLE
        return !ns3::QbbProcesses::Get();
#else
        return false;
#endif
    }

    /// @param stop called at most once, from the event loop
    explicit RunFailures(std::function<void()> stop)
        : m_stop(std::move(stop))
    {
    }

    /// Note a violation.
    void Fail(const std::string& what)
    {
        if (m_failures.size() < MOST)
        {
            m_failures.push_back(what);
        }
        if (m_stop)
        {
            std::exchange(m_stop, {})();
        }
    }

    /// @return the first violations
    const std::vector<std::string>& GetFailures() const
    {
        return m_failures;
    }

  protected:
    /// The run is over: nothing stops it any more.
    void ForgetStop()
    {
        m_stop = {};
    }

  private:
    std::function<void()> m_stop;
    std::vector<std::string> m_failures;
};

} // namespace AstraSim

#endif /* RUN_FAILURES_H */
