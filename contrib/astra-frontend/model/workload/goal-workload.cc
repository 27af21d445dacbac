/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goal-workload.h"

#include "astra-frontend/model/system/rank-waits.h"
#include "astra-frontend/model/system/sys.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>

// A rank counts, for each operation, those that must end or start before it. Release() begins
// operations with none left. A calculation starts when its stream is free, in the order in which
// they became ready; a message starts at once. Run() begins what is ready until nothing is, so that
// long chains of empty calculations do not nest.

namespace AstraSim
{

namespace
{

constexpr TimePs PS_PER_NS = 1000;
constexpr const char* CALCULATE = "calc";
constexpr WorkloadPosition CALCULATIONS{0, 0, TrainingPhase::Forward};
constexpr WorkloadPosition MESSAGES{1, 0, TrainingPhase::Forward};

/// One rank's way through its program.
class GoalRank : public RankWorkload
{
  public:
    /// @param workload borrowed @param program borrowed @param sys borrowed
    GoalRank(const GoalWorkload& workload, const GoalProgram& program, Sys& sys)
        : m_workload(workload),
          m_program(program),
          m_sys(sys),
          m_waits(sys),
          m_states(program.Operations().size()),
          m_left(program.Operations().size())
    {
    }

    void Start() override
    {
        for (uint32_t i = 0; i < m_states.size(); ++i)
        {
            m_states[i].missing = m_program.Operations()[i].missing;
            if (m_states[i].missing == 0)
            {
                m_ready.push_back(i);
            }
        }
        Run();
    }

    bool Finished() const override
    {
        return m_finished;
    }

    std::vector<std::string> DescribeWaits() const override;

  private:
    struct State
    {
        uint32_t missing{0};
        bool runs{false};
    };

    /// A "cpu" of the schedule, which one calculation at a time uses.
    struct Stream
    {
        bool busy{false};
        std::deque<uint32_t> waiting;
    };

    /// A calculation that runs; the argument of its event.
    struct Timer
    {
        GoalRank* rank;
        uint32_t operation;
        TimePs start;
    };

    void Run();
    void Begin(uint32_t operation);
    void Calculate(uint32_t operation);
    static void Calculated(void* timer);
    void Communicate(uint32_t operation);
    void Release(uint32_t operation, bool onStart);
    void End(uint32_t operation);

    const GoalWorkload& m_workload;
    const GoalProgram& m_program;
    Sys& m_sys;
    RankWaits m_waits;
    std::vector<State> m_states;
    std::deque<uint32_t> m_ready;
    std::map<uint32_t, Stream> m_streams;
    uint32_t m_calculations{0}; ///< that run
    std::size_t m_left;
    bool m_isRunning{false}; ///< Run() is on the stack
    bool m_finished{false};
};

void
GoalRank::Run()
{
    if (m_isRunning)
    {
        return;
    }
    m_isRunning = true;
    while (!m_ready.empty())
    {
        const uint32_t operation = m_ready.front();
        m_ready.pop_front();
        Begin(operation);
    }
    m_isRunning = false;
    if (m_waits.IsCommunicating() && m_calculations == 0)
    {
        m_waits.Idle();
    }
    else
    {
        m_waits.GoOn({}, m_sys.Now());
    }
    if (m_left == 0 && !m_finished)
    {
        m_finished = true;
        m_sys.FinishPass(0, true);
    }
}

void
GoalRank::Begin(uint32_t operation)
{
    const GoalOperation& begun = m_program.Operations()[operation];
    if (begun.type != GoalOperation::Type::Calculate)
    {
        Communicate(operation);
    }
    else if (Stream& stream = m_streams[begun.stream]; stream.busy)
    {
        stream.waiting.push_back(operation);
    }
    else
    {
        Calculate(operation);
    }
}

void
GoalRank::Calculate(uint32_t operation)
{
    const GoalOperation& calculation = m_program.Operations()[operation];
    m_waits.GoOn(m_program.Before(operation), m_sys.Now());
    m_states[operation].runs = true;
    m_streams[calculation.stream].busy = true;
    ++m_calculations;
    Release(operation, true);
    const TimePs duration = m_sys.GpuTime(ns3::TimesPs(PS_PER_NS, calculation.size));
    m_sys.CheckDelay(duration, CALCULATE);
    m_sys.Schedule(duration, &GoalRank::Calculated, new Timer{this, operation, m_sys.Now()});
}

void
GoalRank::Calculated(void* argument)
{
    const std::unique_ptr<Timer> timer(static_cast<Timer*>(argument));
    GoalRank& rank = *timer->rank;
    rank.m_sys.get_observer().ComputeEnded(
        {rank.m_sys.get_rank(), CALCULATE, CALCULATIONS, timer->start, rank.m_sys.Now()});
    Stream& stream = rank.m_streams[rank.m_program.Operations()[timer->operation].stream];
    stream.busy = false;
    --rank.m_calculations;
    if (!stream.waiting.empty())
    {
        const uint32_t next = stream.waiting.front();
        stream.waiting.pop_front();
        rank.Calculate(next);
    }
    rank.End(timer->operation);
}

void
GoalRank::Communicate(uint32_t operation)
{
    const GoalOperation& message = m_program.Operations()[operation];
    const int peer = m_workload.NetworkRank(message.peer);
    const uint64_t bytes = std::max<uint64_t>(message.size, 1);
    m_waits.Begin(operation, MESSAGES, GroupKind::Pp, m_program.Before(operation));
    m_states[operation].runs = true;
    Release(operation, true);
    if (message.type == GoalOperation::Type::Send)
    {
        m_sys.SendMessage(peer,
                          bytes,
                          message.tag,
                          MESSAGES,
                          [this, operation, sent = m_sys.Now()] {
                              m_waits.EndMessage(operation, sent);
                              End(operation);
                          });
        return;
    }
    m_sys.ReceiveMessage(peer, bytes, message.tag, [this, operation](TimePs sent) {
        m_waits.EndMessage(operation, sent);
        End(operation);
    });
}

void
GoalRank::Release(uint32_t operation, bool onStart)
{
    for (const GoalDependency& dependency : m_program.After(operation))
    {
        if (dependency.onStart == onStart && --m_states[dependency.after].missing == 0)
        {
            m_ready.push_back(dependency.after);
        }
    }
}

void
GoalRank::End(uint32_t operation)
{
    m_states[operation].runs = false;
    --m_left;
    Release(operation, false);
    Run();
}

std::vector<std::string>
GoalRank::DescribeWaits() const
{
    std::vector<std::string> lines;
    for (uint32_t i = 0; i < m_states.size(); ++i)
    {
        if (!m_states[i].runs)
        {
            continue;
        }
        const std::size_t line = m_program.Operations()[i].line;
        lines.push_back(
            line ? fmt::format("line {} of {} has not ended", line, m_workload.GetFileName())
                 : fmt::format("operation {} of {} has not ended", i, m_workload.GetFileName()));
    }
    return lines;
}

} // namespace

void
GoalWorkload::Bind(const std::vector<int>& ranks)
{
    m_ranks = ranks;
}

std::unique_ptr<RankWorkload>
GoalWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    return std::make_unique<GoalRank>(*this, m_schedule.Programs()[rank], sys);
}

} // namespace AstraSim
