/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fresh-simulation.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace AstraSim
{

// Ranks begin in the order of their starts. Each start is scheduled when those before it begin
// (BeginNext), as SideSimulation does: so the events of one picosecond come in the same order,
// whichever of the two simulates a pattern. The network runs until it is empty, since nobody knows
// which ranks of an unfinished group end.

/// A pattern on its network.
class FreshSimulation::Execution
{
  public:
    /// @param network,pattern outlive the object
    Execution(SharedNetwork& network, const PartPattern& pattern)
        : m_network(network)
    {
        m_outcome.ends.resize(pattern.size());
    }

    /// Add the ranks of the pattern's next operation. @param plan of a collective
    void Add(const TimedOperation& timed,
             uint32_t number,
             std::shared_ptr<const CollectivePlan> plan)
    {
        std::vector<TimePs>& ends = m_outcome.ends[m_plans.size()];
        ends.assign(timed.starts.size(), NO_TIME);
        for (uint32_t rank = 0; rank < timed.starts.size(); ++rank)
        {
            if (timed.starts[rank] != NO_TIME)
            {
                m_places.push_back({this,
                                    {*timed.operation, number, rank},
                                    timed.starts[rank],
                                    plan.get(),
                                    &ends[rank],
                                    nullptr});
                m_pending.push_back(&m_places.back());
            }
        }
        m_plans.push_back(std::move(plan));
    }

    /// Let the first ranks begin; the others follow as the network runs.
    void Start()
    {
        std::ranges::stable_sort(m_pending, {}, &Place::start);
        BeginNext();
    }

    /// @return the ends, after the network has run @param isWhole to its end
    PartOutcome TakeOutcome(bool isWhole)
    {
        m_outcome.traffic.flows = m_network.GetDelivered();
        m_outcome.isInterrupted = !isWhole;
        return std::move(m_outcome);
    }

  private:
    /// A rank of an operation, as an argument of handlers.
    struct Place
    {
        Execution* execution;
        OperationRank what;
        TimePs start;
        const CollectivePlan* plan; ///< null for a message
        TimePs* end;
        std::unique_ptr<RankCollective> collective;

        RankNetwork& GetNetwork() const
        {
            return execution->m_network.GetNetwork(what.operation.group.ranks[what.rank]);
        }

        static void Begin(void* arg)
        {
            auto& self = *static_cast<Place*>(arg);
            self.collective =
                BeginOperation(self.what, self.GetNetwork(), self.plan, &Place::End, arg);
        }

        static void End(void* arg)
        {
            const auto& self = *static_cast<const Place*>(arg);
            *self.end = self.GetNetwork().Now();
        }
    };

    void BeginNext()
    {
        if (m_begun == m_pending.size())
        {
            return;
        }
        const Place& first = *m_pending[m_begun];
        RankNetwork& network = first.GetNetwork();
        const TimePs delay = first.start - network.Now();
        while (m_begun < m_pending.size() && m_pending[m_begun]->start == first.start)
        {
            Place* place = m_pending[m_begun++];
            place->GetNetwork().Schedule(delay, &Place::Begin, place);
        }
        network.Schedule(
            delay,
            [](void* arg) { static_cast<Execution*>(arg)->BeginNext(); },
            this);
    }

    SharedNetwork& m_network;
    PartOutcome m_outcome;
    std::vector<std::shared_ptr<const CollectivePlan>> m_plans; ///< by operation
    std::deque<Place> m_places;
    std::vector<Place*> m_pending; ///< in the order of their starts
    std::size_t m_begun{0};        ///< of them
};

FreshSimulation::FreshSimulation(std::function<UnusedNetwork()> make,
                                 CollectiveImplementation& nccl,
                                 OperationNumbers& numbers,
                                 bool standsForPackets)
    : m_make(std::move(make)),
      m_nccl(nccl),
      m_numbers(numbers),
      m_standsForPackets(standsForPackets)
{
}

PartOutcome
FreshSimulation::Simulate(const PartPattern& pattern)
{
    const UnusedNetwork network = m_make();
    Execution execution(*network.ranks, pattern);
    for (const TimedOperation& timed : pattern)
    {
        const PartOperation& what = *timed.operation;
        execution.Add(timed,
                      m_numbers.Next(),
                      what.isMessage ? nullptr : m_nccl.Plan(what.group, what.request));
    }
    execution.Start();
    const bool isWhole = network.run();
    PartOutcome outcome = execution.TakeOutcome(isWhole);
    outcome.doubtPs = network.doubtPs();
    if (m_standsForPackets)
    {
        outcome.isByFlows = true;
        outcome.traffic.packetHops = network.packetHops();
    }
    return outcome;
}

} // namespace AstraSim
