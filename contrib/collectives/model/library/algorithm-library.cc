/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "algorithm-library.h"

#include "ns3/input-error.h"

#include <utility>

namespace AstraSim
{

namespace
{

using Rank = CollectiveOffer::Rank;

Rank
RankOf(CollectiveAlgorithm::Choice choice)
{
    switch (choice)
    {
    case CollectiveAlgorithm::Choice::Apart:
        return Rank::Apart;
    case CollectiveAlgorithm::Choice::Always:
        return Rank::Always;
    default:
        return Rank::ByCost;
    }
}

/// @return the offer of an algorithm that can carry out a task
CollectiveOffer
OfferOf(const CollectiveAlgorithm& algorithm, const CollectiveTask& task, TimePs cost)
{
    const CollectiveAlgorithm::Rules& rules = algorithm.GetRules();
    CollectiveOffer offer;
    offer.algorithm = &algorithm;
    offer.choice.algorithm = algorithm.GetName();
    offer.choice.protocol = "-";
    offer.choice.predicted = cost;
    offer.cost = cost;
    offer.rank = RankOf(rules.choice);
    // A latency the user gives stands for all others.
    offer.start = task.sendLatency ? 0 : rules.start ? rules.start(task) : rules.startLatency;
    offer.wireInflation = rules.wireInflation;
    offer.make = [&algorithm, task](const CollectiveRequest& request, const GroupShape& shape) {
        const CollectiveAlgorithm::Rules& own = algorithm.GetRules();
        const CollectiveTask asked = task.On(request, shape.GetServers(), shape.GetNics());
        auto graph = own.graph(asked);
        if (graph->GetRanks() != shape.GetRanks())
        {
            throw ns3::InputError(algorithm.GetName(),
                                  0,
                                  "made a graph of " + std::to_string(graph->GetRanks()) + " ranks",
                                  "the group's " + std::to_string(shape.GetRanks()));
        }
        return TimedGraph{std::move(graph),
                          own.gpu ? own.gpu(asked) : std::make_shared<UniformGpu>()};
    };
    return offer;
}

/// Algorithms of no library.
const CollectiveLibrary::Kind PLUG_INS("plug-ins", [](const CollectiveLibrary::Inputs& inputs) {
    return std::make_unique<AlgorithmLibrary>("", inputs.options);
});

} // namespace

AlgorithmLibrary::AlgorithmLibrary(std::string name, const LibraryOptions& options)
    : m_name(std::move(name)),
      m_options(options)
{
}

bool
AlgorithmLibrary::IsAllowed(const CollectiveAlgorithm& algorithm, CollectiveOp op) const
{
    switch (algorithm.GetRules().choice)
    {
    case CollectiveAlgorithm::Choice::Apart:
        return m_options.engine != nullptr;
    case CollectiveAlgorithm::Choice::ByCost:
        return !m_options.selectByRules && m_options.algorithms.Allow(op, &algorithm);
    default:
        return m_options.algorithms.Allow(op, &algorithm);
    }
}

std::optional<CollectiveOffer>
AlgorithmLibrary::Offer(const CollectiveQuestion& question) const
{
    if (question.shape.GetRanks() < 2)
    {
        return std::nullopt;
    }
    const CollectiveTask& task = question.task;
    const CollectiveAlgorithm* best = nullptr;
    TimePs least = 0;
    for (const CollectiveAlgorithm* each : CollectiveAlgorithm::GetAll())
    {
        const CollectiveAlgorithm::Rules& rules = each->GetRules();
        if (rules.library != m_name || !IsAllowed(*each, task.request.op) || !rules.can(task))
        {
            continue;
        }
        const TimePs cost = rules.cost(task);
        const bool isBetter = !best || rules.choice > best->GetRules().choice ||
                              (rules.choice == best->GetRules().choice && cost < least);
        if (isBetter)
        {
            best = each;
            least = cost;
        }
    }
    return best ? std::optional(OfferOf(*best, task, least)) : std::nullopt;
}

} // namespace AstraSim
