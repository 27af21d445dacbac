/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-test-workload.h"

#include "astra-frontend/model/system/sys.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

/// One rank's way through the points.
class CollectiveTestWorkload::Rank : public RankWorkload
{
  public:
    Rank(CollectiveTestWorkload& test, uint32_t rank, Sys& sys)
        : m_test(test),
          m_rank(rank),
          m_sys(sys)
    {
    }

    void Start() override
    {
        m_sys.Schedule(0, &Rank::Begin, this);
    }

    bool Finished() const override
    {
        return m_finished;
    }

    std::vector<std::string> DescribeWaits() const override
    {
        return {fmt::format("size {} of the test, iteration {}", m_test.m_point, m_iteration)};
    }

    /// Begin the current point, or end if there is none.
    static void Begin(void* argument)
    {
        auto& rank = *static_cast<Rank*>(argument);
        if (rank.m_test.m_point == rank.m_test.m_points.size())
        {
            rank.m_finished = true;
            rank.m_sys.FinishPass(0, true);
            return;
        }
        rank.m_iteration = 0;
        rank.m_previous = 0;
        rank.m_last = 0;
        rank.m_timedPs = 0;
        BeginIteration(argument);
    }

    static void BeginIteration(void* argument)
    {
        auto& rank = *static_cast<Rank*>(argument);
        rank.m_step = 0;
        rank.m_begin = rank.m_sys.Now();
        rank.NextStep();
    }

    Sys& GetSys()
    {
        return m_sys;
    }

    /// @return how many iterations of the current point have ended
    uint32_t GetIteration() const
    {
        return m_iteration;
    }

    /// @return the time of the last of them
    TimePs GetLast() const
    {
        return m_last;
    }

  private:
    void NextStep()
    {
        const auto& steps = m_test.m_points[m_test.m_point].steps;
        if (m_step == steps.size())
        {
            EndIteration();
            return;
        }
        const CollectiveRequest& request = steps[m_step++];
        m_sys.generate_collective(m_test.m_group,
                                  request,
                                  {0, m_iteration, TrainingPhase::Forward},
                                  0,
                                  [this](auto) { NextStep(); });
    }

    void EndIteration()
    {
        if (m_test.m_iterations.barrier)
        {
            m_test.ArriveAtBarrier();
            return;
        }
        GoOn();
    }

  public:
    /// An iteration has ended: begin another, or hand the point's time in.
    void GoOn()
    {
        m_previous = std::exchange(m_last, m_sys.Now() - m_begin);
        const bool isWarmUp = m_test.m_iterations.warmUp && m_iteration == 0;
        m_timedPs += isWarmUp ? 0 : m_last;
        ++m_iteration;
        if (m_test.Continues(m_iteration, m_previous, m_last))
        {
            // From the event loop, as a rank alone has collectives that take no time.
            m_sys.Schedule(0, &Rank::BeginIteration, this);
            return;
        }
        const uint32_t warmUps = m_test.m_iterations.warmUp ? 1 : 0;
        const uint32_t repeated = m_test.m_iterations.timed + warmUps - m_iteration;
        const double total = static_cast<double>(m_timedPs) +
                             static_cast<double>(m_last) * static_cast<double>(repeated);
        m_test.Finished(m_rank, total / 1e6 / m_test.m_iterations.timed);
    }

  private:
    CollectiveTestWorkload& m_test;
    uint32_t m_rank;
    Sys& m_sys;
    uint32_t m_iteration{0};
    std::size_t m_step{0};
    TimePs m_begin{0};
    TimePs m_previous{0}; ///< time of the iteration before the last
    TimePs m_last{0};     ///< time of the last iteration
    TimePs m_timedPs{0};  ///< of all timed iterations
    bool m_finished{false};
};

CollectiveTestWorkload::CollectiveTestWorkload(const std::string& name,
                                               std::vector<CollectiveTestPoint> points,
                                               const CollectiveTestIterations& iterations,
                                               PointDone done)
    : Workload({.file = name, .layers = {name}}),
      m_points(std::move(points)),
      m_iterations(iterations),
      m_done(std::move(done))
{
}

CollectiveTestWorkload::~CollectiveTestWorkload() = default;

void
CollectiveTestWorkload::Bind(const std::vector<int>& ranks)
{
    m_group.name = "WORLD";
    m_group.kind = GroupKind::Tp; // SimAI's rules (NCCL_SELECT) are about such groups
    m_group.ranks = ranks;
    m_ranks.resize(ranks.size());
    m_result.microseconds.resize(ranks.size());
}

std::unique_ptr<RankWorkload>
CollectiveTestWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    auto made = std::make_unique<Rank>(*this, rank, sys);
    m_ranks[rank] = made.get();
    return made;
}

bool
CollectiveTestWorkload::Continues(uint32_t iteration, TimePs previous, TimePs last)
{
    if (iteration > m_decided)
    {
        m_decided = iteration;
        const uint32_t all = m_iterations.timed + (m_iterations.warmUp ? 1 : 0);
        const auto difference = static_cast<double>(std::abs(last - previous));
        const bool steady = iteration >= 2 && !m_iterations.simulatesAll &&
                            difference <= m_iterations.steadiness * static_cast<double>(last) &&
                            AllTook(iteration - 1, last);
        m_planned = iteration >= all || steady ? iteration : all;
    }
    return iteration < m_planned;
}

bool
CollectiveTestWorkload::AllTook(uint32_t iterations, TimePs last) const
{
    const double most = m_iterations.steadiness * static_cast<double>(last);
    return std::ranges::all_of(m_ranks, [&](const Rank* rank) {
        return rank->GetIteration() >= iterations &&
               static_cast<double>(std::abs(rank->GetLast() - last)) <= most;
    });
}

void
CollectiveTestWorkload::ArriveAtBarrier()
{
    if (++m_arrived < m_ranks.size())
    {
        return;
    }
    m_arrived = 0;
    for (Rank* rank : m_ranks)
    {
        rank->GoOn();
    }
}

void
CollectiveTestWorkload::Finished(uint32_t rank, double microseconds)
{
    m_result.microseconds[rank] = microseconds;
    if (++m_ranksDone < m_ranks.size())
    {
        return;
    }
    m_result.simulated = m_planned - (m_iterations.warmUp ? 1 : 0);
    m_done(m_point, m_result);
    ++m_point;
    m_decided = 0;
    m_planned = 0;
    m_ranksDone = 0;
    for (Rank* each : m_ranks)
    {
        each->GetSys().Schedule(0, &Rank::Begin, each);
    }
}

} // namespace AstraSim
