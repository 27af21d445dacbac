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

CollectiveAlgorithm::Rules
RulesOfNccl(CollectiveAlgorithm::Growth growth)
{
    CollectiveAlgorithm::Rules rules;
    rules.growth = growth;
    rules.choice = CollectiveAlgorithm::Choice::ByLibrary;
    rules.library = "NCCL";
    return rules;
}

} // namespace

NcclAlgorithm::NcclAlgorithm(std::string name, Method method)
    : CollectiveAlgorithm(std::move(name), RulesOfNccl(method.growth)),
      Listed<NcclAlgorithm, uint32_t>(method.order),
      m_method(std::move(method))
{
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

} // namespace AstraSim
