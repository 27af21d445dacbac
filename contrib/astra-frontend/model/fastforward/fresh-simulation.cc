/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fresh-simulation.h"

#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

/// The first event of a rank of an operation.
struct RankBegin
{
    PlainSimulation::Operation* operation;
    uint32_t rank;

    static void Run(void* arg)
    {
        const auto& [operation, rank] = *static_cast<RankBegin*>(arg);
        operation->Begin(rank);
    }
};

} // namespace

FreshSimulation::FreshSimulation(std::function<Network()> make, CollectiveImplementation& nccl)
    : m_make(std::move(make)),
      m_simulation([this](int rank) -> RankNetwork& { return m_network->ofRank(rank); },
                   &nccl,
                   [this] { return m_network->carried(); })
{
}

PartOutcome
FreshSimulation::Simulate(const PartPattern& pattern)
{
    const Network network = m_make();
    m_network = &network;
    PartOutcome outcome;
    outcome.ends.resize(pattern.size());
    std::vector<std::unique_ptr<PlainSimulation::Operation>> operations;
    std::deque<RankBegin> begins;
    for (std::size_t i = 0; i < pattern.size(); ++i)
    {
        const auto& [what, starts] = pattern[i];
        std::vector<TimePs>& ends = outcome.ends[i];
        ends.assign(starts.size(), NO_TIME);
        RankNetwork& clock = network.ofRank(what->group.ranks.front());
        operations.push_back(
            m_simulation.Open(*what, [&ends, &clock](uint32_t rank) { ends[rank] = clock.Now(); }));
        for (uint32_t rank = 0; rank < starts.size(); ++rank)
        {
            if (starts[rank] != NO_TIME)
            {
                network.ofRank(what->group.ranks[rank])
                    .Schedule(starts[rank],
                              &RankBegin::Run,
                              &begins.emplace_back(RankBegin{operations.back().get(), rank}));
            }
        }
    }
    network.run();
    outcome.traffic = m_simulation.GetCarried();
    return outcome;
}

} // namespace AstraSim
