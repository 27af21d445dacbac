/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-collectives.h"

#include "native-custom.h"
#include "native-plan.h"

#include <cctype>
#include <map>

namespace AstraSim
{

namespace
{

/// One native algorithm; schedules do not depend on which ranks form the group, so they are shared.
class NativeImplementation : public CollectiveImplementation
{
  public:
    NativeImplementation(const NativeAlgorithm& algorithm, const MemoryBusLookup& busOf)
        : m_algorithm(algorithm),
          m_busOf(busOf)
    {
    }

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override
    {
        const auto ranks = static_cast<uint32_t>(group.ranks.size());
        auto& [schedule, choice] = m_schedules[{ranks, request.op, request.bytes}];
        if (!schedule)
        {
            schedule = m_algorithm.schedule->MakeFor(ranks, request, m_algorithm.window);
            choice = {m_algorithm.schedule->GetName(),
                      "-",
                      schedule->LaneCount(),
                      schedule->MessageCount(),
                      0};
            choice.algorithm.front() = static_cast<char>(std::toupper(choice.algorithm.front()));
        }
        return MakeNativePlan(group, schedule, choice, m_busOf);
    }

  private:
    struct Key
    {
        uint32_t ranks;
        CollectiveOp op;
        uint64_t bytes;
        auto operator<=>(const Key&) const = default;
    };

    NativeAlgorithm m_algorithm;
    const MemoryBusLookup& m_busOf;
    std::map<Key, std::pair<std::shared_ptr<const NativeSchedule>, CollectiveChoice>> m_schedules;
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
