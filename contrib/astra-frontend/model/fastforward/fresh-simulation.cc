/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fresh-simulation.h"

#include "operation-begin.h"

#include <deque>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A rank of an operation, as an argument of handlers.
struct FreshSimulation::Place
{
    Simulated* operation;
    uint32_t rank;
};

/// An operation of the pattern.
struct FreshSimulation::Simulated
{
    const PartOperation* what;
    const Network* network;
    uint32_t number;
    std::shared_ptr<const CollectivePlan> plan;
    std::vector<TimePs> ends;
    std::vector<std::unique_ptr<RankCollective>> ranks;
    std::vector<Place> places;

    RankNetwork& NetworkOf(uint32_t rank) const
    {
        return network->ofRank(what->group.ranks[rank]);
    }

    static void Begin(void* arg)
    {
        const auto& [operation, rank] = *static_cast<Place*>(arg);
        operation->ranks[rank] = BeginOperation({*operation->what, operation->number, rank},
                                                operation->NetworkOf(rank),
                                                operation->plan.get(),
                                                &Simulated::End,
                                                arg);
    }

    static void End(void* arg)
    {
        const auto& [operation, rank] = *static_cast<Place*>(arg);
        operation->ends[rank] = operation->NetworkOf(rank).Now();
    }
};

FreshSimulation::FreshSimulation(std::function<Network()> make, CollectiveImplementation& nccl)
    : m_make(std::move(make)),
      m_nccl(nccl)
{
}

PartOutcome
FreshSimulation::Simulate(const PartPattern& pattern)
{
    const Network network = m_make();
    std::deque<Simulated> operations;
    for (const auto& [what, starts] : pattern)
    {
        const std::size_t ranks = starts.size();
        Simulated& simulated = operations.emplace_back();
        simulated.what = what;
        simulated.network = &network;
        simulated.number = m_next++ % OPERATION_NUMBERS;
        simulated.plan = what->isMessage ? nullptr : m_nccl.Plan(what->group, what->request);
        simulated.ends.assign(ranks, NO_TIME);
        simulated.ranks.resize(ranks);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            simulated.places.push_back({&simulated, rank});
        }
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            if (starts[rank] != NO_TIME)
            {
                simulated.NetworkOf(rank).Schedule(starts[rank],
                                                   &Simulated::Begin,
                                                   &simulated.places[rank]);
            }
        }
    }
    network.run();
    PartOutcome outcome;
    for (Simulated& simulated : operations)
    {
        outcome.ends.push_back(std::move(simulated.ends));
    }
    outcome.traffic = network.carried();
    return outcome;
}

} // namespace AstraSim
