/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-check.h"

#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace AstraSim
{

/// Checks a job's records: every start has one end, and no clock runs backwards.
class RunCheck::JobObserver : public RunObserver
{
  public:
    explicit JobObserver(RunCheck& check)
        : m_check(check)
    {
    }

    void CollectiveStarted(const CollectiveRecord& record) override
    {
        if (!m_running.insert(record.id).second)
        {
            m_check.Fail(fmt::format("collective {} starts twice", record.id));
        }
        Advance(record.start);
    }

    void CollectiveEnded(const CollectiveRecord& record) override
    {
        if (!record.isMessage && m_running.erase(record.id) == 0)
        {
            m_check.Fail(fmt::format("collective {} ends without a start", record.id));
        }
        CheckSpan("a collective", record.start, record.lastStart);
        CheckSpan("a collective", record.lastStart, record.end);
    }

    void ComputeEnded(const ComputeRecord& record) override
    {
        CheckSpan("a computation", record.start, record.end);
    }

    void WaitEnded(const WaitRecord& record) override
    {
        CheckSpan("a wait", record.start, record.end);
    }

    void PassFinished(int rank, uint32_t pass, TimePs now) override
    {
        Advance(now);
        uint32_t& next = m_nextPass[rank];
        if (pass != next++)
        {
            m_check.Fail(
                fmt::format("rank {} ends iteration {} instead of {}", rank, pass, next - 1));
        }
    }

    void RankFinished(int rank, TimePs now) override
    {
        Advance(now);
        if (!m_finished.insert(rank).second)
        {
            m_check.Fail(fmt::format("rank {} finishes twice", rank));
        }
    }

    /// All ranks have finished.
    void Finish() const
    {
        if (!m_running.empty())
        {
            m_check.Fail(fmt::format("{} collectives have not ended, and all ranks are done",
                                     m_running.size()));
        }
    }

  private:
    void Advance(TimePs now)
    {
        if (now < m_last)
        {
            m_check.Fail(fmt::format("the clock has run backwards, from {} to {} ps", m_last, now));
        }
        m_last = now;
    }

    void CheckSpan(const char* what, TimePs start, TimePs end)
    {
        if (start < 0 || end < start)
        {
            m_check.Fail(fmt::format("{} lasts from {} to {} ps", what, start, end));
        }
    }

    RunCheck& m_check;
    TimePs m_last{0};
    std::unordered_set<uint64_t> m_running;
    std::unordered_set<int> m_finished;
    std::unordered_map<int, uint32_t> m_nextPass;
};

RunCheck::RunCheck(std::function<void()> stop)
    : RunFailures(std::move(stop)),
      m_collectives([this](const std::string& what) { Fail(what); })
{
}

RunCheck::~RunCheck() = default;

RunObserver&
RunCheck::ObserveJob()
{
    return *m_observers.emplace_back(std::make_unique<JobObserver>(*this));
}

void
RunCheck::Finish(bool finished)
{
    ForgetStop();
    for (const auto& observer : m_observers)
    {
        if (finished)
        {
            observer->Finish();
        }
    }
}

} // namespace AstraSim
