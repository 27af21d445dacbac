/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-collectives.h"

#include "collectives/model/collective/graph-plan.h"
#include "native-custom.h"

#include "ns3/native-graph.h"

#include <cctype>
#include <cstddef>
#include <map>
#include <tuple>

namespace AstraSim
{

namespace
{

/// Plans are forgotten beyond so many.
constexpr std::size_t MOST_PLANS = 1024;

/// One of ASTRA-sim's algorithms.
class NativeImplementation : public CollectiveImplementation
{
  public:
    NativeImplementation(const NativeAlgorithm& algorithm, MemoryBusLookup busOf)
        : m_algorithm(algorithm),
          m_busOf(std::move(busOf))
    {
    }

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override
    {
        if (m_plans.size() >= MOST_PLANS)
        {
            m_plans.clear(); // those in use live on
        }
        auto& plan = m_plans[{group.ranks, request.op, request.bytes}];
        if (!plan)
        {
            plan = Make(group, request);
        }
        return plan;
    }

  private:
    std::shared_ptr<const CollectivePlan> Make(const CommGroup& group,
                                               const CollectiveRequest& request) const
    {
        CollectiveTask task;
        task.request = request;
        task.servers.resize(group.ranks.size());
        task.window = m_algorithm.window;
        auto graph = m_algorithm.native->GetRules().graph(task);
        const StepOrder* order = graph->GetStepOrder();
        CollectiveChoice choice{m_algorithm.native->GetName().substr(NATIVE_PREFIX.size()),
                                "-",
                                order ? order->GetSequences() : 1};
        choice.algorithm.front() = static_cast<char>(std::toupper(choice.algorithm.front()));
        TimedGraph timed{std::move(graph), std::make_shared<NativeGpu>(group.ranks, m_busOf)};
        return std::make_shared<GraphPlan>(group, std::move(timed), choice);
    }

    NativeAlgorithm m_algorithm;
    MemoryBusLookup m_busOf;
    std::map<std::tuple<std::vector<int>, CollectiveOp, uint64_t>,
             std::shared_ptr<const CollectivePlan>>
        m_plans;
};

} // namespace

CollectiveImplementation&
NativeCollectives::Get(const NativeAlgorithm& algorithm)
{
    for (auto& [made, implementation] : m_made)
    {
        if (made == algorithm)
        {
            return *implementation;
        }
    }
    auto& made = m_made.emplace_back(algorithm, nullptr).second;
    if (algorithm.kind == NativeAlgorithm::Kind::Custom)
    {
        made = std::make_unique<NativeCustom>(algorithm.customPath);
    }
    else
    {
        made = std::make_unique<NativeImplementation>(algorithm, m_busOf);
    }
    return *m_made.back().second;
}

} // namespace AstraSim
