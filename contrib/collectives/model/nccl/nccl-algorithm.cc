/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-algorithm.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

namespace
{

std::vector<const NcclAlgorithm*>&
KnownToNccl()
{
    // Made by the first algorithm: objects of other files may be constructed before this one's.
    static std::vector<const NcclAlgorithm*> known;
    return known;
}

CollectiveAlgorithm::Rules
RulesOfNccl(CollectiveAlgorithm::Growth growth)
{
    CollectiveAlgorithm::Rules rules;
    rules.growth = growth;
    rules.choice = CollectiveAlgorithm::Choice::ByLibrary;
    rules.library = "NCCL";
    return rules;
}

uint32_t
OrderOf(const NcclAlgorithm* algorithm)
{
    return algorithm->GetMethod().order;
}

} // namespace

NcclAlgorithm::NcclAlgorithm(std::string name, Method method)
    : CollectiveAlgorithm(std::move(name), RulesOfNccl(method.growth)),
      m_method(std::move(method))
{
    auto& known = KnownToNccl();
    known.insert(std::ranges::upper_bound(known, m_method.order, {}, OrderOf), this);
}

NcclAlgorithm::~NcclAlgorithm()
{
    std::erase(KnownToNccl(), this);
}

const NcclTuning::Latencies&
NcclAlgorithm::LatenciesIn(NcclRelease release) const
{
    static const NcclTuning::Latencies NONE;
    const auto row = std::ranges::find_if(m_method.latencies, [release](const LatencyRow& each) {
        return each.since <= release && release <= each.until;
    });
    return row == m_method.latencies.end() ? NONE : row->latencies;
}

const std::vector<const NcclAlgorithm*>&
NcclAlgorithm::GetAll()
{
    return KnownToNccl();
}

} // namespace AstraSim
